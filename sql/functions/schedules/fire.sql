-- Firing: a due time becomes a job, exactly once, by the next claim of any worker of the type. A claim for one tenant
-- fires that tenant's schedules only: its transaction may stay open, and must not hold the schedules of others.

-- Fires the schedules of the types that are due, of one tenant or of all with null: about a hundred per call, so that
-- ten thousand due at once do not stall a claim. Returns true if there may be more. If nothing is due it costs one
-- probe per type. A schedule that another transaction holds is left for later. Never waits.
create or replace function jobforge.fire(
  p_types text[], p_tenant_id uuid, p_now timestamptz, p_floor timestamptz
) returns boolean
language plpgsql as $$
declare
  v_limit integer := greatest(10, 100 / greatest(1, cardinality(p_types)));
  v_due uuid[] := jobforge.lock_due_schedules(p_types, p_tenant_id, p_now, p_floor, v_limit);
  -- The end of a run may make its schedule due. The next read sees it.
  v_ended boolean := jobforge.fold_ends(p_tenant_id, p_now, 100) > 0;
begin
  if cardinality(v_due) > 0 then
    perform jobforge.fire_schedules(v_due, p_now);
  end if;
  return v_ended or cardinality(v_due) >= v_limit;
end $$;

-- Locks up to p_limit schedules of each type that are due, and returns their ids. Never waits.
create or replace function jobforge.lock_due_schedules(
  p_types text[], p_tenant_id uuid, p_now timestamptz, p_floor timestamptz, p_limit integer
) returns uuid[]
language plpgsql as $$
begin
  -- Two statements, because each has its own index.
  if p_tenant_id is null then
    return array(
      select x.id
      from unnest(p_types) t(type)
      cross join lateral (
        select s.id
        from jobforge.schedules s
        where s.type = t.type and s.due_at <= p_now and s.due_at >= p_floor
        order by s.due_at
        limit p_limit
        for update skip locked
      ) x);
  end if;
  return array(
    select x.id
    from unnest(p_types) t(type)
    cross join lateral (
      select s.id
      from jobforge.schedules s
      where s.tenant_id = p_tenant_id and s.type = t.type and s.due_at <= p_now and s.due_at >= p_floor
      order by s.due_at
      limit p_limit
      for update skip locked
    ) x);
end $$;

-- Fires schedules that the caller has locked, and moves each forward. Stops after about a hundred runs; the rest
-- stays due. A tenant's quota counts: what it has no room for is put off.
create or replace function jobforge.fire_schedules(p_ids uuid[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_schedule jobforge.schedules;
  v_plan record;
  v_ids uuid[] := '{}';
  v_times timestamptz[] := '{}';
  v_live_since timestamptz;
  -- The room in the quotas of the tenants of this call; null if no tenant has settings.
  v_rooms jsonb := case when exists (select from jobforge.tenants) then '{}' end;
  v_room bigint;
begin
  -- This is a later statement than the one that locked the schedules, so it sees everything that was committed
  -- before.
  for v_schedule in
    -- Schedules that may make a hundred runs each come last, otherwise others would wait behind one of them in every
    -- claim.
    select s.* from jobforge.schedules s where s.id = any (p_ids) order by s.missed = 'all'
      and s.overlap = 'allow', s.due_at
  loop
    v_live_since := (select max(j.created_at) from jobforge.live_rows j where j.schedule_id = v_schedule.id);
    v_room := jobforge.room_left(v_rooms, v_schedule.tenant_id);
    begin
      if v_room <= 0 and (v_live_since is null or v_schedule.overlap = 'allow') then
        perform jobforge.put_off(v_schedule, p_now);
        v_rooms := v_rooms || jsonb_build_object(v_schedule.tenant_id::text, v_room);
        continue;
      end if;
      if v_room > 0 and v_schedule.overlap = 'allow' then
        v_schedule.missed_limit := least(v_schedule.missed_limit, v_room);
      end if;
      v_plan := jobforge.plan_runs(v_schedule, v_live_since, p_now);
    exception when others then
      -- A schedule that can no longer be evaluated, because the server dropped its time zone, must not stop every
      -- claim.
      perform jobforge.give_up(v_schedule, sqlerrm, p_now);
      continue;
    end;
    update jobforge.schedules s
    set next_run_at = v_plan.next_run_at, due_at = v_plan.due_at, run_requested = v_plan.run_requested
    where s.id = v_schedule.id;
    v_ids := v_ids || array_fill(v_schedule.id, array[cardinality(v_plan.times)]);
    v_times := v_times || v_plan.times;
    v_rooms := v_rooms || jsonb_build_object(v_schedule.tenant_id::text, v_room - cardinality(v_plan.times));
    exit when cardinality(v_ids) >= 100;
  end loop;
  perform jobforge.insert_runs(v_ids, v_times, p_now);
end $$;

-- Disables a schedule that cannot be evaluated, records the reason where its owner will look, and tells endpoints.
create or replace function jobforge.give_up(p_schedule jobforge.schedules, p_error text, p_now timestamptz) returns void
language plpgsql as $$
begin
  update jobforge.schedules s
  set enabled = false,
    run_requested = false,
    due_at = null,
    last_error = 'This schedule cannot run: ' || left(p_error, 2000),
    consecutive_failures = s.consecutive_failures + 1,
    updated_at = p_now
  where s.id = p_schedule.id;
  -- The actor is not the claiming role, which may be another tenant's worker.
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (p_now, p_schedule.tenant_id, 'jobforge', 'SCHEDULE_DISABLED', 'schedule', p_schedule.id::text,
    jsonb_build_object('type', p_schedule.type, 'key', p_schedule.key, 'error', left(p_error, 2000)));
  perform jobforge.tell_failing(array[p_schedule.id], p_now);
end $$;

-- Returns what a due schedule does now: the due times for which runs start, and its next state. p_live_since is when
-- its youngest live run was created; null if it has none.
create or replace function jobforge.plan_runs(
  p_schedule jobforge.schedules, p_live_since timestamptz, p_now timestamptz,
  out times timestamptz[], out next_run_at timestamptz, out due_at timestamptz, out run_requested boolean
)
language plpgsql as $$
declare
  v_due boolean := p_schedule.enabled and coalesce(p_schedule.next_run_at <= p_now, false);
begin
  times := '{}';
  next_run_at := p_schedule.next_run_at;
  run_requested := p_schedule.run_requested;
  if not v_due and not run_requested then
    due_at := jobforge.due_of(p_schedule, p_now);
    return;
  end if;
  if p_live_since is not null and p_schedule.overlap <> 'allow' then
    if v_due and p_schedule.kind = 'dynamic' then
      -- A caller named a time, and it came during the run. So it runs right after the current run.
      run_requested := true;
      next_run_at := null;
    elsif v_due and p_schedule.overlap = 'skip' and not run_requested
      and not (p_schedule.missed = 'all' and p_schedule.next_run_at <= p_live_since)
    then
      next_run_at := jobforge.due_after(p_schedule, p_now);
      due_at := next_run_at;
    end if;
    -- Everything else waits for the end of the run, which makes the schedule due again.
    return;
  end if;

  if v_due then
    select d.times, d.next_run_at into times, next_run_at from jobforge.due_runs(p_schedule, p_now) d;
  end if;
  if run_requested and cardinality(times) = 0 then
    times := array[p_now];
  end if;
  run_requested := false;
  due_at := case when p_schedule.enabled then next_run_at end;
end $$;

-- Returns the due times that a schedule runs for now, by its rule for missed runs, and the next due time. A time is
-- missed if it is more than a minute old or if another one has passed since. If the row became due later than its
-- time, because a run ended or a caller enabled it, it runs once.
create or replace function jobforge.due_runs(
  p_schedule jobforge.schedules, p_now timestamptz, out times timestamptz[], out next_run_at timestamptz
)
language plpgsql as $$
declare
  v_once boolean := p_schedule.missed = 'once' or p_schedule.due_at > p_schedule.next_run_at;
  v_last timestamptz;
begin
  if p_schedule.kind = 'dynamic' then
    times := array[p_schedule.next_run_at];
  elsif p_schedule.missed = 'all' and not v_once then
    times := jobforge.missed_times(p_schedule, p_now);
    if p_schedule.overlap = 'allow' or cardinality(times) = 1 then
      next_run_at := jobforge.due_after(p_schedule, times[cardinality(times)]);
    else
      next_run_at := times[2];
      times := times[1:1];
    end if;
  else
    v_last := jobforge.last_due(p_schedule, p_now);
    times := case when v_once or v_last >= p_now - jobforge.missed_after() then array[v_last] else '{}' end;
    next_run_at := jobforge.due_after(p_schedule, v_last);
  end if;
end $$;

-- Inserts a job for each due time of a schedule, ready to be claimed.
create or replace function jobforge.insert_runs(p_schedule_ids uuid[], p_times timestamptz[], p_now timestamptz)
returns void
language plpgsql as $$
begin
  with runs as materialized (
    select jobforge.new_id() as id, r.at, s.*, jobforge.inline_payload(s.payload, s.bytes) as inline_payload,
      jobforge.rank_of(s.priority, p.max_priority) as rank,
      jobforge.attempts_for(s.max_attempts, s.default_attempts, p.max_attempts,
        jobforge.is_by_hand(p, 'max_attempts')) as attempts
    from unnest(p_schedule_ids, p_times) with ordinality r(schedule_id, at, ord)
    cross join lateral (
      select s.id as schedule_id, s.tenant_id, s.type, s.payload, octet_length(s.payload::text) as bytes, s.priority,
        s.max_attempts, s.default_attempts, s.subject, s.tags, s.concurrency_key
      from jobforge.schedules s
      where s.id = r.schedule_id
    ) s
    cross join lateral jobforge.policy_of(s.type) p
    order by r.ord
  ), inserted as (
    insert into jobforge.queue (
      id, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, payload, subject,
      tags, concurrency_key, schedule_id, scheduled_for)
    select
      r.id, r.tenant_id, jobforge.lane_of(r.tenant_id), r.type, 'ready', r.rank, r.attempts, r.attempts, r.at, p_now,
        p_now,
      r.inline_payload, r.subject, r.tags, r.concurrency_key, r.schedule_id, r.at
    from runs r
  )
  insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
  select r.id, r.tenant_id, r.bytes, r.payload::text
  from runs r
  where r.inline_payload is null;
  -- A schedule's runs count towards a quota like other jobs.
  perform jobforge.note_all_pending(array(
    select s.tenant_id
    from unnest(p_schedule_ids) i(id)
    join jobforge.schedules s on s.id = i.id), 1);
end $$;
