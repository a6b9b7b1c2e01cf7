-- Returns failed and dead jobs by type and kind of error, the largest group first: what went wrong, how often, since
-- when, and for which tenants, each with its label or null. The innermost cause of an error is its kind: see
-- jobforge.error_group. Filters are those of a list; limit counts groups. Reads at most the newest 100,000 jobs.
-- error_group is a filter of lists and bulk changes, so that a group can be listed, rescheduled or purged.
-- Who: the tenant itself; operators, with null for all tenants. Locks nothing.
create or replace function :"api_schema".jobforge_list_dead_groups(p_tenant_id uuid default null,
  p_filters jsonb default '{}')
returns table (
  error_group text, type text, message text, jobs integer, tenant_ids uuid[], first_at timestamptz, last_at timestamptz,
  newest_job_id uuid, tenant_labels text[]
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  v_filter job_filter;
  v_groups integer;
begin
  perform require_tenant_or_operator(p_tenant_id);
  if p_filters ?| array['offset', 'cursor'] then
    perform fail_argument('filters', 'offset and cursor are for lists of jobs', 'Raise the limit, or filter more.');
  end if;
  v_filter := narrowed(read_filters(p_filters), array['failed', 'dead']);
  v_groups := v_filter.row_limit;
  v_filter.row_limit := 100000;
  return query
  select d.error_group, d.type::text, (array_agg(d.message order by d.id desc))[1], count(*)::integer,
    array_agg(distinct d.tenant_id), min(d.finished_at), max(d.finished_at), (array_agg(d.id order by d.id desc))[1],
    array(select label_of(t.id) from unnest(array_agg(distinct d.tenant_id)) with ordinality t(id, place) order by place)
  from (
    select a.id, a.tenant_id, a.type, a.finished_at, error_group(a.error) as error_group,
      left(coalesce(a.error ->> 'fullMessage', a.error ->> 'message'), 500) as message
    from find_narrowed(p_tenant_id, v_filter) p
    cross join lateral (
      select * from archive f where f.id = p.id and f.finished_at = p.finished_at limit 1
    ) a
  ) d
  group by 1, 2
  order by 4 desc, 7 desc, 1, 2
  limit v_groups;
end $$;
