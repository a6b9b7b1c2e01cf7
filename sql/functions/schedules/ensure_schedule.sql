-- Returns a schedule with default values.
create or replace function jobforge.new_schedule(p_tenant_id uuid, p_type text, p_key text, p_now timestamptz)
returns jobforge.schedules
language plpgsql as $$
declare
  v jobforge.schedules;
begin
  perform jobforge.require_schedule_name(p_type, p_key);
  v.tenant_id := p_tenant_id;
  v.type := p_type;
  v.key := p_key;
  v.enabled := true;
  v.run_requested := false;
  v.consecutive_failures := 0;
  v.overlap := 'skip';
  v.missed := 'once';
  v.missed_limit := 100;
  v.retry_runs := false;
  v.priority := 0;
  v.payload := '{}';
  v.tags := '{}';
  v.created_at := p_now;
  v.updated_at := p_now;
  return v;
end $$;

-- Returns what an existing schedule becomes by a complete declaration. Options that the declaration omits get their
-- defaults, but enabled, the anchor and the next run stay. The history stays. An application that starts to declare a
-- schedule which no application declared enables it.
create or replace function jobforge.redeclared(
  p_old jobforge.schedules, p_declared jobforge.schedules, p_options jsonb, p_now timestamptz
) returns jobforge.schedules
language plpgsql volatile as $$
declare
  v jobforge.schedules := p_declared;
begin
  v.id := p_old.id;
  v.created_at := p_old.created_at;
  v.updated_at := p_old.updated_at;
  v.next_run_at := p_old.next_run_at;
  v.due_at := p_old.due_at;
  v.run_requested := p_old.run_requested;
  v.last_run_at := p_old.last_run_at;
  v.last_scheduled_for := p_old.last_scheduled_for;
  v.last_status := p_old.last_status;
  v.last_error := p_old.last_error;
  v.consecutive_failures := p_old.consecutive_failures;
  if p_options ->> 'reset_failures' = 'true' then
    v.consecutive_failures := 0;
    v.last_error := null;
  end if;
  v.declared_by := coalesce(p_declared.declared_by, p_old.declared_by);
  if p_options ->> 'enabled' is null and (p_old.declared_by is not null or p_declared.declared_by is null) then
    v.enabled := p_old.enabled;
  end if;
  if v.kind = 'every' and p_options ->> 'anchor' is null then
    v.anchor := p_old.anchor;
  end if;
  return jobforge.with_times(p_old, v, p_options, p_now);
end $$;

-- Returns the options of a new schedule: first_run_at is its next run.
create or replace function jobforge.with_first_run(p_options jsonb) returns jsonb
language sql immutable as $$
  select case when p_options ? 'first_run_at' then p_options || jsonb_build_object('next_run_at',
    p_options -> 'first_run_at') else p_options end
$$;

-- Ensures that a schedule exists as declared, in the caller's transaction. With if_missing an existing one stays as it
-- is. o_outcome is created, existing (nothing
-- was written or locked) or updated. p_declared_by names the application that declares it; null leaves that
-- unchanged.
create or replace function jobforge.declare_schedule(
  p_tenant_id uuid, p_type text, p_key text, p_options jsonb, p_declared_by text, out o_id uuid, out o_outcome text
)
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_declared schedules := read_options(new_schedule(p_tenant_id, p_type, p_key, v_now), p_options, v_now);
  v_old schedules;
  v_new schedules;
begin
  perform require_option_place(p_options, '{merge_payload}', 'It belongs to jobforge_update_schedule.');
  v_declared.declared_by := p_declared_by;
  loop
    select s.* into v_old from schedules s where s.tenant_id = p_tenant_id and s.type = p_type and s.key = p_key;
    if not found then
      perform require_schedule_room(p_tenant_id);
      v_new := with_times(null, v_declared, with_first_run(p_options), v_now);
      v_new.id := new_id();
      v_new.due_at := due_of(v_new, v_now);
      insert into schedules select v_new.* on conflict (tenant_id, type, key) do nothing;
      if found then
        o_outcome := 'created';
        perform add_types(p_tenant_id, array[p_type], v_now, 'type');
        perform audit_schedule(v_new, 'SCHEDULE_CREATED', v_now);
        if v_new.due_at is not null then
          perform wake(p_type, v_new.due_at, v_now);
        end if;
      end if;
    elsif p_options ->> 'if_missing' = 'true' then
      v_new := v_old;
      o_outcome := 'existing';
    else
      v_new := redeclared(v_old, v_declared, p_options, v_now);
      if v_new is distinct from v_old then
        -- Read again under the lock. If the schedule is gone by then, start over.
        v_old := lock_schedule(p_tenant_id, p_type, p_key);
        continue when v_old.id is null;
        v_new := redeclared(v_old, v_declared, p_options, v_now);
      end if;
      o_outcome := case when v_new is distinct from v_old then 'updated' else 'existing' end;
    end if;
    exit when o_outcome is not null;
  end loop;
  if o_outcome = 'updated' then
    perform write_schedule(v_old, v_new, v_now, p_options);
  end if;
  o_id := v_new.id;
end $$;

-- Ensures that a schedule exists as declared, in the caller's transaction. There is one row per tenant, type and key,
-- however many callers run at once. Keeps an existing next_run_at, unless the options name one, request a reset, or
-- change the rhythm; first_run_at counts for a new schedule only. With if_missing an existing schedule stays as it is.
-- Returns the schedule's columns and outcome: created, existing (nothing was written or locked) or
-- updated.
-- Who: the tenant itself, workers, operators. JF009 names the wrong option; JF002 for type and key, JF008; JF007 if the
-- tenant uses as many types, or has as many schedules, as it may. Waits only for another application that holds the
-- same schedule.
create or replace function :"api_schema".jobforge_ensure_schedule(
  p_tenant_id uuid,
  p_type text,
  p_key text,
  p_options jsonb
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v record;
begin
  perform require_tenant(p_tenant_id);
  v := declare_schedule(p_tenant_id, p_type, p_key, p_options, null);
  return schedule_document(v.o_id) || jsonb_build_object('outcome', v.o_outcome);
end $$;
