-- Changes a schedule: only the options given, null being an option's default. A new rhythm finds its next run anew, and
-- next_run_at overrides it. Answers the schedule's columns.
-- Who: the tenant itself, workers, operators. JF009 naming the option that is wrong, JF010 when there is no such schedule. Locks
-- the schedule's row: firing passes it over meanwhile, and a run's end is folded in afterwards.
create or replace function :"api_schema".jobforge_update_schedule(
  p_tenant_id uuid, p_type text, p_key text, p_changes jsonb
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
  v_old := require_schedule_row(p_tenant_id, p_type, p_key);
  v_new := with_times(v_old, read_options(v_old, p_changes, v_now), p_changes, v_now);
  if v_new is distinct from v_old then
    perform write_schedule(v_old, v_new, v_now, p_changes);
  end if;
  return schedule_document(v_old.id);
end $$;

-- Enables or disables a schedule; nothing is written when it is so already. Answers the schedule's columns. A disabled one
-- keeps next_run_at: its run that has begun ends as usual, one that waits is taken out of the queue. Enabled again it runs at
-- that time, or at once when that has passed.
-- Who: the tenant itself, workers, operators. JF010 when there is no such schedule. Locks the schedule's row.
create or replace function :"api_schema".jobforge_set_schedule_enabled(
  p_tenant_id uuid, p_type text, p_key text, p_enabled boolean
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return set_enabled(p_tenant_id, p_type, p_key, p_enabled);
end $$;

-- Enables a schedule: jobforge_set_schedule_enabled with true.
-- Who, errors, locks: as there.
create or replace function :"api_schema".jobforge_enable_schedule(p_tenant_id uuid, p_type text, p_key text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return set_enabled(p_tenant_id, p_type, p_key, true);
end $$;

-- Disables a schedule: jobforge_set_schedule_enabled with false.
-- Who, errors, locks: as there.
create or replace function :"api_schema".jobforge_disable_schedule(p_tenant_id uuid, p_type text, p_key text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return set_enabled(p_tenant_id, p_type, p_key, false);
end $$;

-- What the three of them do.
create or replace function jobforge.set_enabled(p_tenant_id uuid, p_type text, p_key text, p_enabled boolean) returns jsonb
language plpgsql as $$
declare
  v_old jobforge.schedules;
  v_new jobforge.schedules;
begin
  if p_enabled is null then
    perform jobforge.fail_argument('enabled', 'enabled must be true or false');
  end if;
  v_old := jobforge.require_schedule_row(p_tenant_id, p_type, p_key);
  if v_old.enabled <> p_enabled then
    v_new := v_old;
    v_new.enabled := p_enabled;
    perform jobforge.write_schedule(v_old, v_new, jobforge.now());
  end if;
  return jobforge.schedule_document(v_old.id);
end $$;

-- Locks a schedule until the caller's transaction ends, so that what the next statement reads is still true when it changes the
-- schedule: jobforge_set_schedule_enabled(…, exists (select …)). Answers the schedule's columns.
-- Who: the tenant itself, workers, operators. JF010 when there is no such schedule. Waits for others who hold it; no worker waits
-- for this lock.
create or replace function :"api_schema".jobforge_lock_schedule(p_tenant_id uuid, p_type text, p_key text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return schedule_document((require_schedule_row(p_tenant_id, p_type, p_key)).id);
end $$;

-- Asks for a run now, beside the next one, also of a disabled schedule. During a run it is remembered, and follows right after
-- it; a run that waits to begin is as good. Answers the schedule's columns.
-- Who: the tenant itself, workers, operators. JF010 when there is no such schedule. Locks the schedule's row.
create or replace function :"api_schema".jobforge_run_schedule(p_tenant_id uuid, p_type text, p_key text) returns jsonb
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
  v_old := require_schedule_row(p_tenant_id, p_type, p_key);
  v_new := v_old;
  v_new.run_requested := v_old.overlap = 'allow' or not exists (
    select from jobs j where j.schedule_id = v_old.id and j.state in ('ready', 'parked') and j.attempts = 0);
  if v_new.run_requested and not v_old.run_requested then
    perform write_schedule(v_old, v_new, v_now);
    perform audit_schedule(v_new, 'SCHEDULE_RUN_REQUESTED', v_now);
  end if;
  return schedule_document(v_old.id);
end $$;

-- Deletes a schedule. A run that has begun ends as usual, and is accepted; one that waits is taken out of the queue. What has
-- run stays in the history of jobs. Answers {id, type, key, deleted}.
-- Who: the tenant itself, workers, operators. JF010 when there is no such schedule. Locks the schedule's row.
create or replace function :"api_schema".jobforge_delete_schedule(p_tenant_id uuid, p_type text, p_key text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_old schedules;
begin
  perform require_tenant(p_tenant_id);
  v_old := require_schedule_row(p_tenant_id, p_type, p_key);
  perform withdraw_runs(v_old);
  delete from schedules s where s.id = v_old.id;
  perform audit_schedule(v_old, 'SCHEDULE_DELETED', jobforge.now());
  return jsonb_build_object('id', v_old.id, 'type', v_old.type, 'key', v_old.key, 'deleted', true);
end $$;
