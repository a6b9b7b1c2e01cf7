-- Brings schedules in line with what an application declares in its code.

-- Returns the schedules of a declaration, one row each: its position, its tenant, type and key, and the rest as its
-- options.
create or replace function jobforge.read_declarations(p_schedules jsonb, p_tenant_id uuid)
returns table (place text, tenant_id uuid, type text, key text, options jsonb)
language sql immutable as $$
  select format('schedules[%s].', s.ord - 1),
    case when s.item ? 'tenant_id' then jobforge.uuid_or_null(s.item ->> 'tenant_id') else p_tenant_id end,
    s.item ->> 'type', s.item ->> 'key', s.item - '{tenant_id,type,key}'::text[]
  from jsonb_array_elements(p_schedules) with ordinality s(item, ord)
$$;

-- Raises if a declaration is not an array of objects, is too long, names a tenant that it is not for, or names a
-- schedule twice; then if one of its schedules is invalid.
create or replace function jobforge.require_declarations(p_schedules jsonb, p_tenant_id uuid, p_now timestamptz)
returns void
language plpgsql stable as $$
declare
  v record;
begin
  if jsonb_typeof(p_schedules) is distinct from 'array' then
    perform jobforge.fail_schedule('schedules', 'schedules must be a JSON array',
      'Pass [] if nothing is declared any longer.');
  elsif jsonb_array_length(p_schedules) > 1000 then
    perform jobforge.fail_schedule('schedules', 'an application declares at most 1000 schedules',
      'Make those that come with your data with jobforge_ensure_schedule.');
  elsif exists (select from jsonb_array_elements(p_schedules) s where jsonb_typeof(s) <> 'object') then
    perform jobforge.fail_schedule('schedules', 'schedules must be objects', 'Each has type, key and options.');
  end if;
  select format('schedules[%s].%s', s.ord - 1, k.name) as field into v
  from jsonb_array_elements(p_schedules) with ordinality s(item, ord)
  cross join unnest('{tenant_id,type,key}'::text[]) k(name)
  where jsonb_typeof(s.item -> k.name) not in ('string', 'null')
  limit 1;
  if found then
    perform jobforge.fail_schedule(v.field, v.field || ' must be a text', 'Each has type, key and options.');
  end if;
  select d.place into v from jobforge.read_declarations(p_schedules, p_tenant_id) d where d.tenant_id <> p_tenant_id
    limit 1;
  if found then
    perform jobforge.fail_schedule(v.place || 'tenant_id', 'its tenant is not the one that is synchronized',
      'Leave p_tenant_id out, as an operator, to declare schedules of several tenants.');
  end if;
  select d.type, d.key into v
  from jobforge.read_declarations(p_schedules, p_tenant_id) d
  group by d.tenant_id, d.type, d.key
  having count(*) > 1
  limit 1;
  if found then
    perform jobforge.fail_schedule('schedules', format('"%s" of the type %s is declared twice', left(v.key, 200),
      left(v.type, 200)),
      'Give each its own key.');
  end if;
  perform jobforge.require_declaration(d.place, d.tenant_id, d.type, d.key, d.options, p_now)
  from jobforge.read_declarations(p_schedules, p_tenant_id) d;
end $$;

-- Raises if a schedule cannot be declared this way, with its position in the declaration before the name of the
-- option. Times that would move its next run whenever a process starts belong to jobforge_update_schedule.
create or replace function jobforge.require_declaration(
  p_place text, p_tenant_id uuid, p_type text, p_key text, p_options jsonb, p_now timestamptz
) returns void
language plpgsql stable as $$
declare
  v_stray text := (select o from unnest('{next_run_at,reset,reset_failures,if_missing}'::text[]) o where p_options ? o limit 1);
  v_detail text;
  v_hint text;
begin
  perform jobforge.require_tenant(p_tenant_id);
  if v_stray is not null then
    perform jobforge.fail_schedule(v_stray, v_stray || case
      when v_stray = 'if_missing' then ' cannot be declared: a declared schedule becomes as declared'
      when v_stray = 'reset_failures' then ' cannot be declared: it would reset them at every start'
      else ' cannot be declared: it would move the next run at every start' end,
      case when v_stray = 'if_missing' then 'Call jobforge_ensure_schedule.'
      else 'Call jobforge_update_schedule, once.' end);
  end if;
  perform jobforge.read_options(jobforge.new_schedule(p_tenant_id, p_type, p_key, p_now), p_options, p_now);
exception when sqlstate 'JF001' or sqlstate 'JF002' or sqlstate 'JF008' or sqlstate 'JF009' then
  get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
  perform jobforge.fail(sqlstate, sqlerrm, v_detail::jsonb ->> 'name', p_place || (v_detail::jsonb ->> 'field'),
    v_hint);
end $$;

-- Returns the differences of a schedule as [{key, from, to}].
create or replace function jobforge.schedule_differences(p_before jsonb, p_after jsonb) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_agg(jsonb_build_object('key', k.name, 'from', p_before -> k.name, 'to', p_after -> k.name)
    order by k.ord), '[]')
  from unnest(array['kind', 'cron', 'timezone', 'every', 'anchor', 'jitter', 'enabled', 'next_run_at', 'overlap',
    'missed', 'missed_limit',
    'starts_at', 'ends_at', 'retry_runs', 'priority', 'max_attempts', 'default_attempts', 'payload', 'tags',
    'subject', 'concurrency_key', 'declared_by'])
    with ordinality k(name, ord)
  where p_before -> k.name is distinct from p_after -> k.name
$$;

-- Disables a schedule that its application no longer declares, and removes its owner: if an operator enables it
-- afterwards, it stays enabled. Returns whether there was anything to do.
create or replace function jobforge.retire_schedule(p_app text, p_tenant_id uuid, p_type text, p_key text)
returns boolean
language plpgsql as $$
declare
  v_old jobforge.schedules := jobforge.lock_schedule(p_tenant_id, p_type, p_key);
  v_new jobforge.schedules := v_old;
begin
  if v_old.declared_by is distinct from p_app or not v_old.enabled then
    return false;
  end if;
  v_new.enabled := false;
  v_new.declared_by := null;
  perform jobforge.write_schedule(v_old, v_new, jobforge.now());
  return true;
end $$;

-- Implements jobforge_sync_schedules. It takes all rows in one order, so that processes of an old and a new version
-- of an application wait for each other and never deadlock.
create or replace function jobforge.sync_schedules(p_app text, p_schedules jsonb, p_tenant_id uuid) returns jsonb
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_results jsonb := '[]';
  v_action text;
  v_before jsonb;
  v_after jsonb;
  v_done record;
  v record;
begin
  for v in
    with declared as materialized (
      select d.* from read_declarations(p_schedules, p_tenant_id) d
    )
    select d.tenant_id, d.type, d.key, d.options from declared d
    union all
    select s.tenant_id, s.type, s.key, null
    from schedules s
    where s.declared_by = p_app
      and s.enabled
      and (p_tenant_id is null or s.tenant_id = p_tenant_id)
      and (s.tenant_id, s.type, s.key) not in (select d.tenant_id, d.type, d.key from declared d)
    order by 1, 2, 3
  loop
    v_before := (
      select to_jsonb(s) from all_schedules s where s.tenant_id = v.tenant_id and s.type = v.type and s.key = v.key);
    if v.options is null then
      continue when not retire_schedule(p_app, v.tenant_id, v.type, v.key);
      v_action := 'disabled';
      v_after := schedule_document((v_before ->> 'id')::uuid);
    else
      v_done := declare_schedule(v.tenant_id, v.type, v.key, v.options, p_app);
      v_action := case v_done.o_outcome when 'updated' then 'changed' when 'existing' then 'unchanged' else v_done.o_outcome end;
      v_after := schedule_document(v_done.o_id);
    end if;
    v_results := v_results
      || jsonb_build_object('tenant_id', v.tenant_id, 'type', v.type, 'key', v.key, 'action', v_action,
      'changes', case when v_action in ('changed', 'disabled') then schedule_differences(v_before, v_after)
        else '[]' end,
      'next_run_at', v_after -> 'next_run_at');
  end loop;
  return v_results;
end $$;

-- Brings schedules in line with what an application declares in its code, all or nothing: creates those that are
-- missing, changes those that differ, and disables those that it declared before and no longer does. Whether a
-- schedule is enabled stays as operators have set it, unless the declaration says otherwise. Schedules that other
-- applications declare, or that were created at run time, are not touched, unless this application declares them too:
-- then it owns them.
--  p_schedules [{type, key, tenant_id, ...options}]; tenant_id may be left out if p_tenant_id is given
-- Returns [{tenant_id, type, key, action, changes: [{key, from, to}], next_run_at}] ordered by tenant, type and key;
-- action is created, changed, unchanged or disabled. With p_dry_run it does the same and undoes it. Call it from any
-- number of processes: if everything is as declared, nothing is written or locked.
-- Who: operators, with null for every tenant; otherwise the tenant itself, workers. JF009 names the position of the
-- mistake; JF001, JF002, JF008. Locks the rows that differ, in order.
create or replace function :"api_schema".jobforge_sync_schedules(
  p_app text,
  p_schedules jsonb,
  p_tenant_id uuid default null,
  p_dry_run boolean default false
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_result jsonb;
begin
  if p_tenant_id is null then
    perform require_operator();
  else
    perform require_tenant(p_tenant_id);
  end if;
  if not coalesce(p_app <> '' and octet_length(p_app) <= 200, false) then
    perform fail_argument('app', 'app must have 1 to 200 bytes',
      'Name the application whose code declares the schedules.');
  end if;
  perform require_declarations(p_schedules, p_tenant_id, jobforge.now());
  if p_dry_run then
    begin
      v_result := sync_schedules(p_app, p_schedules, p_tenant_id);
      raise sqlstate 'JF000';
    exception when sqlstate 'JF000' then
      return v_result;
    end;
  end if;
  return sync_schedules(p_app, p_schedules, p_tenant_id);
end $$;
