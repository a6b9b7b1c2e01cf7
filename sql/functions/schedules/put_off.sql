-- What a quota does to schedules.

-- Returns how many more jobs a tenant may have pending, for a call that makes several runs: as noted in p_rooms, or
-- else as counted. Null without a quota, and if p_rooms is null because no tenant has settings.
create or replace function jobforge.room_left(p_rooms jsonb, p_tenant_id uuid) returns bigint
language plpgsql as $$
begin
  return case
    when p_rooms is null then null
    when p_rooms ? p_tenant_id::text then (p_rooms ->> p_tenant_id::text)::bigint
    else jobforge.room_of(p_tenant_id)
  end;
end $$;

-- Puts a due schedule off, because its tenant's quota has no room for a run. It is due again after quota_delay(), and
-- then runs once, however many due times have passed. A schedule that skips missed runs keeps its rhythm instead, and
-- the due time is missed. last_error says why, until the next run ends. The caller has locked the schedule.
create or replace function jobforge.put_off(p_schedule jobforge.schedules, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_skips constant boolean := p_schedule.missed = 'skip' and p_schedule.kind <> 'dynamic'
    and not p_schedule.run_requested;
  v_next timestamptz := case when v_skips then jobforge.due_after(p_schedule, p_now) else p_schedule.next_run_at end;
begin
  update jobforge.schedules s
  set next_run_at = v_next,
    due_at = case when v_skips then v_next else p_now + jobforge.quota_delay() end,
    last_error = 'Job limit exceeded for tenant: max_pending leaves no room for a run',
    updated_at = p_now
  where s.id = p_schedule.id;
end $$;

-- Raises JF007 if a tenant may not have one more schedule. max_schedules of the tenant counts for every caller, and the
-- default for callers that act for this tenant only: operators and shared workers may create more.
create or replace function jobforge.require_schedule_room(p_tenant_id uuid) returns void
language plpgsql
set enable_seqscan = off as $$
declare
  v_trusted constant boolean := jobforge.bound_tenant() is null
    and (jobforge.caller_is('jobforge_operator') or jobforge.caller_is('jobforge_worker'));
  v_most integer := coalesce(
    (select t.max_schedules from jobforge.tenants t where t.tenant_id = p_tenant_id),
    case when not v_trusted then jobforge.default_max_schedules() end);
begin
  if v_most <= (
    select count(*)
    from (select from jobforge.schedules s where s.tenant_id = p_tenant_id limit v_most) s)
  then
    perform jobforge.fail('JF007', 'Schedule limit exceeded for tenant', 'schedule_limit_exceeded', null,
      format('The tenant may have %s schedules. Delete some, or raise max_schedules with jobforge_set_tenant.', v_most));
  end if;
end $$;
