-- Returns one schedule of a tenant, by type and key or by its id; no row if it does not exist.
-- Who: the tenant itself, workers, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_schedule_id uuid default null
) returns setof :"api_schema".jobforge_schedules
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  if p_schedule_id is null then
    return query
    select s.* from all_schedules s where s.tenant_id = p_tenant_id and s.type = p_type and s.key = p_key;
  else
    return query
    select s.*
    from all_schedules s
    where s.id = p_schedule_id
      and s.tenant_id is not distinct from p_tenant_id
      and (p_type is null or s.type = p_type)
      and (p_key is null or s.key = p_key);
  end if;
end $$;

-- Returns the schedules of a tenant, or with null of all tenants, ordered by tenant, type and key. Filters: type (a
-- text or an array), enabled, failing (whether the last run failed), due (whether its time has come and no run was
-- made of it yet), overdue (for more than a minute), running, tags (all of them), subject, key_prefix, updated_before;
-- order (name, or next_run_at with those without a next run last), limit (50, at most 1000), cursor (the id of the last
-- schedule of the previous page). A page is bounded by bytes like one of jobforge_list_jobs. JF002 for an unknown or
-- malformed filter.
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
  v_filter schedule_filter;
  v_order text;
  v_last schedules;
  v_schedule all_schedules;
  v_bytes bigint := 0;
begin
  perform require_tenant_or_operator(p_tenant_id);
  v_filter := read_schedule_filters(v_filters, array['order', 'limit', 'cursor']);
  v_order := coalesce(v_filters ->> 'order', 'name');
  if v_order not in ('name', 'next_run_at') then
    perform fail_argument('order', 'order must be name or next_run_at');
  end if;
  select s.* into v_last
  from schedules s
  where s.id = filter_text(v_filters, 'cursor', 'id')::uuid and (p_tenant_id is null or s.tenant_id = p_tenant_id);
  if not found and v_filters ->> 'cursor' is not null then
    perform fail_argument('cursor', 'the schedule at the end of the last page is gone', 'List them from the start.');
  end if;
  for v_schedule in
    select s.*
    from unnest(find_schedules(p_tenant_id, v_filter, v_order = 'next_run_at', v_last, filter_limit(v_filters),
      jobforge.now())) with ordinality i(id, ord)
    cross join lateral (select * from all_schedules a where a.id = i.id limit 1) s
    order by i.ord
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
  p_tenant_id uuid, p_type text default null, p_key text default null, p_filters jsonb default '{}',
  p_schedule_id uuid default null
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
  v_name record;
  v_id uuid;
  v_job all_jobs;
  v_bytes bigint := 0;
begin
  perform require_tenant(p_tenant_id);
  perform require_filters(v_filters, array['status', 'limit', 'cursor']);
  v_statuses := filter_texts(v_filters, 'status');
  v_before := filter_text(v_filters, 'cursor', 'id')::uuid;
  v_name := schedule_name(p_tenant_id, p_type, p_key, p_schedule_id);
  select s.id into v_id
  from schedules s
  where s.tenant_id = p_tenant_id and s.type = v_name.p_type and s.key = v_name.p_key;
  if not found then
    perform fail_no_schedule(v_name.p_type, v_name.p_key);
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
