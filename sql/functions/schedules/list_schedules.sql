-- Returns one schedule of a tenant; no row if there is none.
-- Who: the tenant itself, workers, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_schedule(p_tenant_id uuid, p_type text, p_key text)
returns setof :"api_schema".jobforge_schedules
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return query
  select s.* from all_schedules s where s.tenant_id = p_tenant_id and s.type = p_type and s.key = p_key;
end $$;

-- Returns the schedules of a tenant, or with null of all tenants, ordered by tenant, type and key. Filters: type (a
-- text or an array), enabled, failing (whether the last run failed), limit (50, at most 1000), cursor (the id of the
-- last schedule of the previous page). A page is bounded by bytes like one of jobforge_list_jobs. JF002 for an unknown
-- or malformed filter.
-- Who: the tenant itself, workers; operators, with null. Locks nothing.
create or replace function :"api_schema".jobforge_list_schedules(p_tenant_id uuid default null,
  p_filters jsonb default '{}')
returns setof :"api_schema".jobforge_schedules
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_types text[];
  v_enabled boolean;
  v_failing boolean;
  v_last record;
  v_schedule all_schedules;
  v_bytes bigint := 0;
begin
  perform require_tenant_or_operator(p_tenant_id);
  perform require_filters(v_filters, array['type', 'enabled', 'failing', 'limit', 'cursor']);
  v_types := filter_texts(v_filters, 'type');
  v_enabled := filter_flag(v_filters, 'enabled');
  v_failing := filter_flag(v_filters, 'failing');
  select s.tenant_id, s.type, s.key into v_last
  from schedules s
  where s.id = filter_text(v_filters, 'cursor', 'id')::uuid and (p_tenant_id is null or s.tenant_id = p_tenant_id);
  if not found and v_filters ->> 'cursor' is not null then
    perform fail_argument('cursor', 'the schedule at the end of the last page is gone', 'List them from the start.');
  end if;
  for v_schedule in
    select s.*
    from all_schedules s
    where (p_tenant_id is null or s.tenant_id = p_tenant_id)
      and (v_types is null or s.type = any (v_types))
      and (v_enabled is null or s.enabled = v_enabled)
      and (v_failing is null or (s.consecutive_failures > 0) = v_failing)
      and (v_last.key is null or (s.tenant_id, s.type, s.key) > (v_last.tenant_id, v_last.type, v_last.key))
    order by s.tenant_id, s.type, s.key
    limit filter_limit(v_filters)
  loop
    v_bytes := v_bytes + octet_length(to_json(v_schedule)::text);
    exit when v_bytes > page_bytes();
    return next v_schedule;
  end loop;
end $$;

-- Returns the runs of a schedule, newest first, live and finished, as far as its type keeps history. Filters: status
-- (a text or an array), limit (50, at most 1000), cursor (the id of the last run of the previous page). A page is
-- bounded by bytes like one of jobforge_list_jobs. JF002 for an unknown or malformed filter.
-- Who: the tenant itself, workers, operators. JF010 if there is no such schedule. Locks nothing.
create or replace function :"api_schema".jobforge_list_schedule_runs(
  p_tenant_id uuid, p_type text, p_key text, p_filters jsonb default '{}'
) returns setof :"api_schema".jobforge_jobs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_statuses text[];
  v_before uuid;
  v_id uuid;
  v_job all_jobs;
  v_bytes bigint := 0;
begin
  perform require_tenant(p_tenant_id);
  perform require_filters(v_filters, array['status', 'limit', 'cursor']);
  v_statuses := filter_texts(v_filters, 'status');
  v_before := filter_text(v_filters, 'cursor', 'id')::uuid;
  select s.id into v_id from schedules s where s.tenant_id = p_tenant_id and s.type = p_type and s.key = p_key;
  if not found then
    perform fail_no_schedule(p_type, p_key);
  end if;
  for v_job in
    select r.*
    from (
      (select j.* from live_jobs j
      where j.schedule_id = v_id
        and (v_statuses is null or j.status = any (v_statuses))
        and (v_before is null or j.id < v_before))
      union all
      (select j.* from ended_jobs j
      where j.schedule_id = v_id
        and (v_statuses is null or j.status = any (v_statuses))
        and (v_before is null or j.id < v_before)
      order by j.id desc
      limit filter_limit(v_filters))
    ) r
    order by r.id desc
    limit filter_limit(v_filters)
  loop
    v_bytes := v_bytes + job_bytes(v_job);
    exit when v_bytes > page_bytes();
    return next v_job;
  end loop;
end $$;
