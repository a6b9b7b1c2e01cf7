-- Calls that change a schedule. Each names the schedule by type and key, or by p_schedule_id, which the runs of a
-- schedule carry.

-- Changes a schedule: only the given options; null sets an option to its default. A new rhythm computes the next run
-- again, and next_run_at overrides it. merge_payload changes some keys of the payload, reset_failures sets
-- consecutive_failures to 0. A queued run that has not begun gets the changes. Returns the schedule's columns.
-- Who: the tenant itself, workers, operators. JF009 names the wrong option, JF010 if there is no such schedule. Locks
-- the schedule's row: firing skips it in the meantime, and the end of a run is folded in afterwards.
create or replace function :"api_schema".jobforge_update_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_changes jsonb default null,
  p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_old schedules;
  v_new schedules;
begin
  perform require_tenant(p_tenant_id);
  perform require_option_place(p_changes, '{first_run_at,if_missing}', 'It belongs to jobforge_ensure_schedule.');
  v_old := require_schedule_row(p_tenant_id, p_type, p_key, p_schedule_id);
  v_new := with_times(v_old, read_options(v_old, p_changes, v_now), p_changes, v_now);
  if v_new is distinct from v_old or p_changes ? 'next_run_at' then
    perform write_schedule(v_old, v_new, v_now, p_changes);
  end if;
  return schedule_document(v_old.id);
end $$;

-- Enables or disables a schedule; writes nothing if it already has that state. Returns the schedule's columns. A
-- disabled schedule keeps next_run_at. Its running run ends as usual, a queued run is taken out of the queue. When
-- enabled again it runs at next_run_at, or at once if that time has passed.
-- Who: the tenant itself, workers, operators. JF010 if there is no such schedule. Locks the schedule's row.
create or replace function :"api_schema".jobforge_set_schedule_enabled(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_enabled boolean default null,
  p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return set_enabled(p_tenant_id, p_type, p_key, p_enabled, p_schedule_id);
end $$;

-- Enables a schedule: jobforge_set_schedule_enabled with true.
-- Who, errors, locks: as for jobforge_set_schedule_enabled.
create or replace function :"api_schema".jobforge_enable_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return set_enabled(p_tenant_id, p_type, p_key, true, p_schedule_id);
end $$;

-- Disables a schedule: jobforge_set_schedule_enabled with false.
-- Who, errors, locks: as for jobforge_set_schedule_enabled.
create or replace function :"api_schema".jobforge_disable_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return set_enabled(p_tenant_id, p_type, p_key, false, p_schedule_id);
end $$;

-- Implements the three functions above.
create or replace function jobforge.set_enabled(
  p_tenant_id uuid, p_type text, p_key text, p_enabled boolean, p_id uuid
) returns jsonb
language plpgsql as $$
declare
  v_old jobforge.schedules;
  v_new jobforge.schedules;
begin
  if p_enabled is null then
    perform jobforge.fail_argument('enabled', 'enabled must be true or false');
  end if;
  v_old := jobforge.require_schedule_row(p_tenant_id, p_type, p_key, p_id);
  if v_old.enabled <> p_enabled then
    v_new := v_old;
    v_new.enabled := p_enabled;
    perform jobforge.write_schedule(v_old, v_new, jobforge.now());
  end if;
  return jobforge.schedule_document(v_old.id);
end $$;

-- Requests a run now, in addition to the next one, also for a disabled schedule. During a run the request is
-- remembered, and the new run follows right after it. If a run is queued, the request changes nothing. Returns the
-- schedule's columns.
-- Who: the tenant itself, workers, operators. JF010 if there is no such schedule. Locks the schedule's row.
create or replace function :"api_schema".jobforge_run_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_old schedules;
  v_new schedules;
begin
  perform require_tenant(p_tenant_id);
  v_old := require_schedule_row(p_tenant_id, p_type, p_key, p_schedule_id);
  v_new := v_old;
  v_new.run_requested := v_old.overlap = 'allow' or not exists (
    select from queue j where j.schedule_id = v_old.id and j.state in ('ready', 'parked') and j.attempts = 0);
  if v_new.run_requested and not v_old.run_requested then
    perform write_schedule(v_old, v_new, v_now);
    perform audit_schedule(v_new, 'SCHEDULE_RUN_REQUESTED', v_now);
  end if;
  return schedule_document(v_old.id);
end $$;

-- Deletes a schedule. A running run ends as usual and its end is accepted; a queued run is taken out of the queue.
-- Finished runs stay in the history of jobs. Returns {id, type, key, deleted}.
-- Who: the tenant itself, workers, operators. JF010 if there is no such schedule. Locks the schedule's row.
create or replace function :"api_schema".jobforge_delete_schedule(
  p_tenant_id uuid, p_type text default null, p_key text default null, p_schedule_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_old schedules;
begin
  perform require_tenant(p_tenant_id);
  v_old := require_schedule_row(p_tenant_id, p_type, p_key, p_schedule_id);
  perform withdraw_runs(v_old);
  delete from schedules s where s.id = v_old.id;
  perform audit_schedule(v_old, 'SCHEDULE_DELETED', jobforge.now());
  return jsonb_build_object('id', v_old.id, 'type', v_old.type, 'key', v_old.key, 'deleted', true);
end $$;
