-- Locks the row of a schedule for the caller's transaction, which may wait for another application, and folds in the
-- runs that ended in the meantime. Returns nothing if there is no such schedule.
create or replace function jobforge.lock_schedule(p_tenant_id uuid, p_type text, p_key text) returns jobforge.schedules
language plpgsql
set enable_seqscan = off as $$
declare
  v jobforge.schedules;
begin
  select s.* into v
  from jobforge.schedules s
  where s.tenant_id = p_tenant_id and s.type = p_type and s.key = p_key
  for update;
  if exists (select from jobforge.schedule_ends e where e.schedule_id = v.id) then
    perform jobforge.fold(array[v.id], '{}', jobforge.now());
    select s.* into v from jobforge.schedules s where s.id = v.id;
  end if;
  return v;
end $$;

-- Does the same for a call that requires the schedule: raises JF010 if there is none.
create or replace function jobforge.require_schedule_row(p_tenant_id uuid, p_type text, p_key text)
returns jobforge.schedules
language plpgsql as $$
declare
  v jobforge.schedules := jobforge.lock_schedule(p_tenant_id, p_type, p_key);
begin
  if v.id is null then
    perform jobforge.fail_no_schedule(p_type, p_key);
  end if;
  return v;
end $$;

-- Raises JF010: there is no such schedule.
create or replace function jobforge.fail_no_schedule(p_type text, p_key text) returns void
language sql as $$
  select jobforge.fail('JF010', format('Schedule not found: the tenant has no schedule %s of the type %s',
      coalesce('"' || left(p_key, 200) || '"', 'null'), coalesce('"' || left(p_type, 200) || '"', 'null')),
    'schedule_not_found', 'key', 'Create it with jobforge_ensure_schedule.')
$$;

-- Returns a schedule as every call returns it: the columns of jobforge_schedules.
create or replace function jobforge.schedule_document(p_id uuid) returns jsonb
language plpgsql stable
set enable_seqscan = off as $$
begin
  return (select to_jsonb(s) from jobforge.all_schedules s where s.id = p_id);
end $$;

-- Locks a schedule until the caller's transaction ends, so that what the next statement reads is still true when it
-- changes the schedule: jobforge_set_schedule_enabled(…, exists (select …)). Returns the schedule's columns.
-- Who: the tenant itself, workers, operators. JF010 if there is no such schedule. Waits for other transactions that
-- hold it; no worker waits for this lock.
create or replace function :"api_schema".jobforge_lock_schedule(p_tenant_id uuid, p_type text, p_key text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return schedule_document((require_schedule_row(p_tenant_id, p_type, p_key)).id);
end $$;
