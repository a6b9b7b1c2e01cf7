-- Finds schedules by filters, for lists and bulk calls.

-- Reads and checks the filters of schedules. p_more: further keys that the caller reads itself. JF002 for an unknown or
-- malformed filter.
create or replace function jobforge.read_schedule_filters(p_filters jsonb, p_more text[])
returns jobforge.schedule_filter
language plpgsql stable as $$
declare
  v jobforge.schedule_filter;
begin
  perform jobforge.require_filters(p_filters, array['type', 'enabled', 'failing', 'due', 'overdue', 'running', 'tags',
    'subject', 'key_prefix', 'updated_before'] || p_more);
  v.types := jobforge.filter_texts(p_filters, 'type');
  v.enabled := jobforge.filter_flag(p_filters, 'enabled');
  v.failing := jobforge.filter_flag(p_filters, 'failing');
  v.due := jobforge.filter_flag(p_filters, 'due');
  v.overdue := jobforge.filter_flag(p_filters, 'overdue');
  v.running := jobforge.filter_flag(p_filters, 'running');
  v.tags := jobforge.filter_texts(p_filters, 'tags');
  v.subject := jobforge.filter_string(p_filters, 'subject');
  v.key_prefix := jobforge.filter_string(p_filters, 'key_prefix');
  v.updated_before := jobforge.filter_text(p_filters, 'updated_before', 'time')::timestamptz;
  return v;
end $$;

-- Returns whether a schedule passes a filter, except for its tenant and types, which the caller's index finds.
create or replace function jobforge.passes(
  p_schedule jobforge.schedules, p_filter jobforge.schedule_filter, p_now timestamptz
) returns boolean
language plpgsql stable as $$
begin
  return (p_filter.enabled is null or p_schedule.enabled = p_filter.enabled)
    and (p_filter.due is null or coalesce(p_schedule.due_at <= p_now, false) = p_filter.due)
    and (p_filter.overdue is null
      or coalesce(p_schedule.due_at <= p_now - jobforge.missed_after(), false) = p_filter.overdue)
    and (p_filter.tags is null or p_schedule.tags::text[] @> p_filter.tags)
    and (p_filter.subject is null or p_schedule.subject = p_filter.subject)
    and (p_filter.key_prefix is null or starts_with(p_schedule.key, p_filter.key_prefix))
    and (p_filter.updated_before is null or p_schedule.updated_at < p_filter.updated_before)
    and (p_filter.running is null or p_filter.running = exists (
      select from jobforge.runs j where j.schedule_id = p_schedule.id))
    -- The view counts failures that are not folded in yet.
    and (p_filter.failing is null or p_filter.failing = (
      select s.consecutive_failures > 0 from jobforge.all_schedules s where s.id = p_schedule.id));
end $$;

-- Returns the ids of up to p_limit schedules of a tenant, or with null of all tenants, that pass a filter and come
-- after p_last: by tenant, type and key; or by their next run, those without one last. Reads the schedules of the
-- tenant up to the last one of the page; ordered by their next run, all of them.
create or replace function jobforge.find_schedules(
  p_tenant_id uuid, p_filter jobforge.schedule_filter, p_by_next_run boolean, p_last jobforge.schedules,
  p_limit integer, p_now timestamptz
) returns uuid[]
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off as $$
begin
  if p_by_next_run then
    return array(
      select s.id
      from jobforge.schedules s
      where (p_tenant_id is null or s.tenant_id = p_tenant_id)
        and (p_filter.types is null or s.type = any (p_filter.types))
        and (p_last.id is null or (coalesce(s.next_run_at, 'infinity'), s.id)
          > (coalesce(p_last.next_run_at, 'infinity'), p_last.id))
        and jobforge.passes(s, p_filter, p_now)
      order by coalesce(s.next_run_at, 'infinity'), s.id
      limit p_limit);
  end if;
  return array(
    select s.id
    from jobforge.schedules s
    where (p_tenant_id is null or s.tenant_id = p_tenant_id)
      and (p_filter.types is null or s.type = any (p_filter.types))
      and (p_last.id is null or (s.tenant_id, s.type, s.key) > (p_last.tenant_id, p_last.type, p_last.key))
      and jobforge.passes(s, p_filter, p_now)
    order by s.tenant_id, s.type, s.key
    limit p_limit);
end $$;

-- Deletes up to p_limit schedules of a tenant that a filter selects, such as those that are disabled and were not
-- changed for a month: {"enabled": false, "updated_before": …}. Their runs end as for jobforge_delete_schedule. Filters
-- are those of jobforge_list_schedules without order, limit and cursor. At least one that selects is required: null, no
-- tags and an empty prefix select nothing, and would delete every schedule of the tenant. Returns {matched, changed}.
-- Who: the tenant itself, workers, operators. JF002 for an unknown or malformed filter. Locks the rows that it deletes,
-- in order; skips those that another transaction holds, and never waits for them.
create or replace function :"api_schema".jobforge_delete_schedules(
  p_tenant_id uuid, p_filters jsonb, p_limit integer default 1000
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_filter schedule_filter;
  v_found uuid[];
  v_schedule schedules;
  v_changed integer := 0;
begin
  perform require_tenant(p_tenant_id);
  if p_limit is null or p_limit not between 1 and 1000 then
    perform fail_argument('limit', 'limit must be between 1 and 1000');
  end if;
  v_filter := read_schedule_filters(coalesce(p_filters, '{}'), '{}');
  v_filter.tags := nullif(v_filter.tags, '{}');
  v_filter.key_prefix := nullif(v_filter.key_prefix, '');
  if v_filter is null then
    perform fail_argument('filters', 'filters must select schedules',
      'Name at least one filter that selects, such as {"enabled": false}.');
  end if;
  v_found := find_schedules(p_tenant_id, v_filter, false, null, p_limit, v_now);
  for v_schedule in
    select s.* from schedules s where s.id = any (v_found) order by s.id for update skip locked
  loop
    -- It may have changed since it was found.
    continue when not passes(v_schedule, v_filter, v_now);
    perform withdraw_runs(v_schedule);
    delete from schedules s where s.id = v_schedule.id;
    perform audit_schedule(v_schedule, 'SCHEDULE_DELETED', v_now);
    v_changed := v_changed + 1;
  end loop;
  return jsonb_build_object('matched', cardinality(v_found), 'changed', v_changed);
end $$;

-- Counts schedules by type: all, enabled, due (their time has come, and no claim has made a run of them), overdue (for
-- more than a minute), running and failing, with the time of the one that is due longest. exact is false if there are
-- more than p_cap schedules (100,000): then the first of them are counted.
-- Who: the tenant itself; operators and readers, with null for all tenants. Locks nothing; reads at most p_cap rows.
create or replace function :"api_schema".jobforge_count_schedules(
  p_tenant_id uuid default null, p_cap integer default 100000
) returns table (
  type text, schedules bigint, enabled bigint, due bigint, overdue bigint, running bigint, failing bigint,
  oldest_due_at timestamptz, exact boolean
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := countable_tenant(p_tenant_id);
begin
  if p_cap is null or p_cap not between 1 and 1000000 then
    perform fail_argument('cap', 'cap must be between 1 and 1000000');
  end if;
  return query
  with counted as materialized (
    select s.id, s.type, s.enabled, s.due_at, s.consecutive_failures
    from schedules s
    where v_tenant_id is null or s.tenant_id = v_tenant_id
    order by s.tenant_id, s.type, s.key
    limit p_cap + 1
  )
  select s.type::text, count(*), count(*) filter (where s.enabled), count(*) filter (where s.due_at <= v_now),
    count(*) filter (where s.due_at <= v_now - missed_after()),
    count(*) filter (where exists (select from runs j where j.schedule_id = s.id)),
    count(*) filter (where s.consecutive_failures > 0),
    min(s.due_at::timestamptz) filter (where s.due_at <= v_now),
    (select count(*) from counted) <= p_cap
  from counted s
  group by s.type
  order by s.type;
end $$;
