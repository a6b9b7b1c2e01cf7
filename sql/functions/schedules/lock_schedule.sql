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

-- Does the same for a call that requires the schedule, by type and key or by its id: raises JF010 if it does not exist.
create or replace function jobforge.require_schedule_row(p_tenant_id uuid, p_type text, p_key text, p_id uuid)
returns jobforge.schedules
language plpgsql as $$
declare
  v_name record := jobforge.schedule_name(p_tenant_id, p_type, p_key, p_id);
  v jobforge.schedules := jobforge.lock_schedule(p_tenant_id, v_name.p_type, v_name.p_key);
begin
  if v.id is null then
    perform jobforge.fail_no_schedule(v_name.p_type, v_name.p_key);
  end if;
  return v;
end $$;

-- Returns the type and key of the schedule that a call names. With an id they are read; a type or key that the call
-- names as well must be the schedule's. JF010 if the tenant has no schedule with this id.
create or replace function jobforge.schedule_name(p_tenant_id uuid, inout p_type text, inout p_key text, p_id uuid)
language plpgsql stable
set enable_seqscan = off as $$
begin
  if p_id is null then
    return;
  end if;
  select s.type, s.key into p_type, p_key
  from jobforge.schedules s
  where s.id = p_id and s.tenant_id is not distinct from p_tenant_id
    and (p_type is null or s.type = p_type) and (p_key is null or s.key = p_key);
  if not found then
    perform jobforge.fail('JF010', format('Schedule not found: the tenant has no schedule with the id %s', p_id),
      'schedule_not_found', 'schedule_id', 'The id is the column schedule_id of its runs.');
  end if;
end $$;

-- Raises JF010: there is no such schedule.
create or replace function jobforge.fail_no_schedule(p_type text, p_key text) returns void
language sql as $$
  select jobforge.fail('JF010', format('Schedule not found: the tenant has no schedule %s of the type %s',
      coalesce('"' || left(p_key, 200) || '"', 'null'), coalesce('"' || left(p_type, 200) || '"', 'null')),
    'schedule_not_found', 'key', 'Check the tenant, the type and the key, or ensure the schedule first.')
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
create or replace function :"api_schema".jobforge_lock_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return schedule_document((require_schedule_row(p_tenant_id, p_type, p_key, p_schedule_id)).id);
end $$;
