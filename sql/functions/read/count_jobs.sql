-- Counts the jobs that a filter selects, by tenant, type and status: the total of a list, or the jobs that a bulk
-- change would affect if p_change names one (cancel, reschedule, purge). Counts at most the newest 100,000; exact
-- is false in every row if it stopped there. oldest_at and newest_at are when the first and the last of them were
-- created. counted_at is the time of the count: a change with it as created_before affects no job that came later.
-- Who: the tenant itself; operators, with null for all tenants. Locks nothing.
create or replace function :"api_schema".jobforge_count_jobs(
  p_tenant_id uuid default null,
  p_filters jsonb default '{}',
  p_change text default null
) returns table (tenant_id uuid, type text, status text, jobs integer, exact boolean,
  oldest_at timestamptz, newest_at timestamptz, counted_at timestamptz)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  -- Read before the jobs, so that a job that comes meanwhile is not older.
  v_now timestamptz := jobforge.now();
  v_filter job_filter;
begin
  perform require_tenant_or_operator(p_tenant_id);
  v_filter := read_filters(p_filters, search_filters());
  if p_change is not null then
    v_filter := narrowed(v_filter, changeable(p_change));
  end if;
  v_filter.row_limit := 100000;
  return query
  with page as materialized (
    select p.id, p.finished_at from find_narrowed(p_tenant_id, v_filter) p
  )
  select j.tenant_id, j.type::text, j.status, count(*)::integer,
    (select count(*) from page) < v_filter.row_limit, min(j.created_at), max(j.created_at), v_now
  from (
    select l.tenant_id, l.type, l.created_at, case l.state when 'running' then 'running' else 'queued' end as status
    from page p
    cross join lateral (select l.tenant_id, l.type, l.created_at, l.state from live_rows l where l.id = p.id limit 1) l
    where p.finished_at is null
    union all
    select f.tenant_id, f.type, f.created_at, f.status
    from page p
    cross join lateral (
      select a.tenant_id, a.type, a.created_at, a.status from archive a
      where a.id = p.id and a.finished_at = p.finished_at
      limit 1
    ) f
    where p.finished_at is not null
  ) j
  group by 1, 2, 3
  order by 4 desc, 1, 2, 3;
end $$;
