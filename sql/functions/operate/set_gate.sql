-- Pauses or resumes everything ('all'), a type or a tenant. Every claim reads gates. Running jobs continue, with their
-- heartbeats and their ends. p_until ends the pause automatically. Returns the gate, was_paused (whether it was closed
-- before), known (false if no job, schedule, policy, worker or setting has this type or tenant), so that a typing
-- error shows, and audit_id. Only a change is written to the audit log; without one, audit_id is null.
-- Who: operators. JF002 for an unknown scope or a key that does not fit it.
create or replace function :"api_schema".jobforge_set_gate(
  p_scope text,
  p_key text,
  p_paused boolean,
  p_reason text default null,
  p_until timestamptz default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_key text := case p_scope when 'all' then '' when 'tenant' then lower(p_key) else p_key end;
  v_tenant_id uuid := case p_scope when 'tenant' then uuid_or_null(p_key) end;
  v_was_paused boolean;
  v_changed boolean := true;
  v_audit_id bigint;
begin
  perform require_operator();
  if p_scope is null or p_scope not in ('all', 'type', 'tenant') then
    perform fail_argument('scope', 'scope must be all, type or tenant');
  elsif p_scope = 'all' and coalesce(p_key, '') <> '' then
    perform fail_argument('key', 'the gate of everything has no key');
  elsif p_scope = 'type' and not coalesce(is_type(p_key), false) then
    perform fail_argument('key', 'key must be a type', type_hint());
  elsif p_scope = 'tenant' and v_tenant_id is null then
    perform fail_argument('key', 'key must be a tenant''s uuid');
  elsif p_paused is null then
    perform fail_argument('paused', 'paused must be true or false');
  elsif p_paused and (p_until <= v_now or not is_time(p_until)) then
    perform fail_argument('until', 'until must be in the future');
  end if;
  v_was_paused := is_paused(p_scope, v_key, v_now);
  if p_paused then
    insert into gates (scope, key, reason, until, set_at, set_by)
    values (p_scope, v_key, p_reason, p_until, v_now, actor())
    on conflict (scope, key) do update
    set reason = excluded.reason, until = excluded.until, set_at = excluded.set_at, set_by = excluded.set_by;
  else
    delete from gates g where g.scope = p_scope and g.key = v_key;
    -- The row of a pause that has ended by itself may still be there.
    v_changed := v_was_paused;
    if v_changed then
      perform wake_all(v_now);
    end if;
  end if;
  if v_changed then
    insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message, meta)
    values (v_now, coalesce(v_tenant_id, all_tenants()), actor(),
      case when p_paused then 'GATE_PAUSED' else 'GATE_RESUMED' end, 'gate',
      concat_ws(':', p_scope, nullif(v_key, '')), p_reason, jsonb_strip_nulls(jsonb_build_object('until', p_until)))
    returning id into v_audit_id;
  end if;
  return jsonb_build_object('scope', p_scope, 'key', v_key, 'paused', p_paused, 'reason', p_reason, 'until', p_until,
    'was_paused', v_was_paused, 'known', case p_scope
      when 'type' then knows_type(p_key)
      when 'tenant' then knows_tenant(v_tenant_id)
      else true
    end, 'audit_id', v_audit_id);
end $$;

-- Returns whether a type is in use: a job or a schedule has it, or it has a policy or a worker. Indexes find a type
-- that is in use, but for one with nothing but schedules or parked jobs, and for one that is not in use, it reads an
-- index of the registry of types. So it is for the calls of operators.
create or replace function jobforge.knows_type(p_type text) returns boolean
language plpgsql stable
set enable_seqscan = off as $$
begin
  return exists (select from jobforge.policies p where p.type = p_type)
    or exists (select from jobforge.workers w where p_type = any (jobforge.worker_types(w.info)))
    or exists (select from jobforge.queue j where j.state = 'ready' and j.type = p_type)
    or exists (select from jobforge.queue j where j.state = 'waiting' and j.type = p_type)
    or exists (select from jobforge.archive a where a.type = p_type)
    or exists (select from jobforge.tenant_types t where t.type = p_type);
end $$;

-- Returns whether a tenant is in use: it has jobs or schedules, settings, or a role that is bound to it.
create or replace function jobforge.knows_tenant(p_tenant_id uuid) returns boolean
language plpgsql stable
set enable_seqscan = off as $$
begin
  return exists (select from jobforge.tenant_types t where t.tenant_id = p_tenant_id)
    or exists (select from jobforge.tenants t where t.tenant_id = p_tenant_id)
    or exists (select from jobforge.role_bindings b where b.tenant_id = p_tenant_id);
end $$;
