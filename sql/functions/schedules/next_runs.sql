-- Returns the next due times of a schedule, the first one first, as they are now: its next run, and those after it
-- according to its rhythm. Fewer than p_count (1 to 100) if the schedule ends before; none if it is disabled, and only
-- the next one of a dynamic schedule. With a jitter, the times after the first are examples.
-- Who: the tenant itself, workers, operators. JF002 for a wrong count, JF010 if there is no such schedule. Locks
-- nothing.
create or replace function :"api_schema".jobforge_next_runs(
  p_tenant_id uuid, p_type text, p_key text, p_count integer default 10
) returns setof timestamptz
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_schedule schedules;
  v_at timestamptz;
begin
  perform require_tenant(p_tenant_id);
  if p_count is null or p_count not between 1 and 100 then
    perform fail_argument('count', 'count must be between 1 and 100');
  end if;
  select s.* into v_schedule
  from schedules s
  where s.tenant_id = p_tenant_id and s.type = p_type and s.key = p_key;
  if not found then
    perform fail_no_schedule(p_type, p_key);
  end if;
  -- Ends of runs that are not written to the row yet count as well.
  select s.next_run_at into v_at from all_schedules s where s.id = v_schedule.id and s.enabled;
  for v_run in 1..p_count loop
    exit when v_at is null;
    return next v_at;
    v_at := due_after(v_schedule, v_at);
  end loop;
end $$;
