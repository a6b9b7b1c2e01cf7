-- Holds what all changes of a schedule share.

-- Takes the queued runs of a schedule out of the queue; without p_requested only those that a due time has created.
-- Returns the earliest due time that they were for. A requested run has no due time, unless its handler names the
-- times. The caller holds the schedule's row, so no other run is created in the meantime. A run that a worker claims
-- in the meantime continues.
create or replace function jobforge.withdraw_runs(p_schedule jobforge.schedules, p_requested boolean default true)
returns timestamptz
language plpgsql
set enable_seqscan = off as $$
declare
  v_run record;
  v_earliest timestamptz;
begin
  for v_run in
    -- A requested run gets the time of the request as its due time.
    select j.id, row(j.type, j.tenant_id, j.concurrency_key)::jobforge.slot as slot,
      case when p_schedule.kind = 'dynamic' or j.scheduled_for < j.created_at then j.scheduled_for end as due
    from jobforge.queue j
    where j.schedule_id = p_schedule.id and j.attempts = j.uncounted
      and (p_requested or j.scheduled_for < j.created_at)
    order by j.id
  loop
    continue when not jobforge.lock_queued(v_run.id, p_schedule.tenant_id);
    delete from jobforge.queue j where j.id = v_run.id and j.attempts = j.uncounted;
    if found then
      perform jobforge.delete_side_rows(array[v_run.id]);
      perform jobforge.note_pending(p_schedule.tenant_id, -1);
      perform jobforge.leave_slots(array[v_run.slot], jobforge.now());
      v_earliest := least(v_earliest, v_run.due);
    end if;
  end loop;
  return v_earliest;
end $$;

-- Takes runs that a worker has handed back unstarted out of the queue, if their schedule is disabled or deleted: such
-- a schedule starts no run. Their due time applies again. If an open transaction holds the schedule, it may be about
-- to disable it. So the run leaves the queue, too. When the transaction has ended, the due time makes a new run,
-- unless the schedule is disabled then. Runs that may overlap are the exception: they stay, because one due time
-- cannot say which of them are missing. A requested run stays, because a disabled schedule can be asked to run. The
-- caller has put the runs into the queue in this transaction, so no other one holds them. Locks the free schedules, in
-- id order, so that who disables one now waits and finds the run. Never waits.
create or replace function jobforge.withdraw_released(p_ids uuid[], p_now timestamptz) returns void
language plpgsql
set enable_seqscan = off as $$
declare
  v_ids uuid[];
  v_tenants uuid[];
  v_ends jobforge.schedule_end[];
  v_free uuid[] := array(
    select s.id
    from jobforge.schedules s
    where s.id = any (array(
      select j.schedule_id from jobforge.queue j where j.id = any (p_ids) and j.schedule_id is not null))
    order by s.id
    for update skip locked);
begin
  with gone as (
    delete from jobforge.queue j
    where j.id = any (p_ids)
      and j.schedule_id is not null
      and j.attempts = j.uncounted
      and j.scheduled_for < j.created_at
      and coalesce(
        (select not s.enabled or (s.id <> all (v_free) and s.overlap <> 'allow')
        from jobforge.schedules s
        where s.id = j.schedule_id), true)
    returning j.id, j.tenant_id, j.schedule_id, j.scheduled_for
  ), due as (
    select g.*, min(g.scheduled_for) over (partition by g.schedule_id) as at,
      -- A time that a caller has set for a dynamic schedule meanwhile stays. The rhythm of others begins again here.
      (select s.kind <> 'dynamic' from jobforge.schedules s where s.id = g.schedule_id) as exact
    from gone g
  )
  select array_agg(d.id), array_agg(d.tenant_id), array_agg(row(d.schedule_id, d.tenant_id, d.scheduled_for, p_now,
    'canceled', null, d.at, d.exact)::jobforge.schedule_end)
  into v_ids, v_tenants, v_ends
  from due d;
  if v_ids is not null then
    perform jobforge.delete_side_rows(v_ids);
    perform jobforge.note_all_pending(v_tenants, -1);
    perform jobforge.end_scheduled_runs(v_ends, p_now);
  end if;
end $$;

-- Gives the queued runs of a schedule that have not begun its current payload, priority, tags and so on: a caller that
-- changes the schedule and requests a run must not get a run with the old values. The caller holds the schedule's row.
create or replace function jobforge.change_queued_runs(p_schedule jobforge.schedules, p_now timestamptz) returns void
language plpgsql
set enable_seqscan = off as $$
declare
  v_run record;
  v_rank integer := jobforge.rank_for(p_schedule.type, p_schedule.priority);
  v_attempts integer := (
    select jobforge.attempts_for(p_schedule.max_attempts, p_schedule.default_attempts, p.max_attempts,
      jobforge.is_by_hand(p, 'max_attempts'))
    from jobforge.policy_of(p_schedule.type) p);
begin
  for v_run in
    select j.id, row(j.type, j.tenant_id, j.concurrency_key)::jobforge.slot as slot
    from jobforge.queue j
    where j.schedule_id = p_schedule.id and j.attempts = j.uncounted
    order by j.id
  loop
    continue when not jobforge.lock_queued(v_run.id, p_schedule.tenant_id);
    update jobforge.queue j
    set rank = v_rank,
      max_attempts = v_attempts,
      budget = v_attempts,
      tags = p_schedule.tags,
      subject = p_schedule.subject,
      concurrency_key = p_schedule.concurrency_key,
      state = jobforge.queued_state(j.run_at, p_now),
      updated_at = p_now
    where j.id = v_run.id and j.attempts = j.uncounted;
    if found then
      perform jobforge.replace_payload(v_run.id, p_schedule.payload);
      perform jobforge.leave_slots(array[v_run.slot], p_now);
    end if;
  end loop;
end $$;

-- Writes a schedule that the caller has locked: computes when it is due, takes queued runs back if it is disabled or
-- if the caller moves the next run, changes queued runs, wakes idle workers, and records the change in the audit log.
-- A change of next_run_at alone is not recorded: an application may set it every minute for each of its schedules.
create or replace function jobforge.write_schedule(
  p_old jobforge.schedules, p_new jobforge.schedules, p_now timestamptz, p_options jsonb default '{}'
) returns void
language plpgsql
set enable_seqscan = off as $$
declare
  v jobforge.schedules := p_new;
  v_settings jobforge.schedules := p_new;
  v_withdrawn timestamptz;
begin
  if p_old.enabled and not v.enabled then
    v.run_requested := false;
    v_withdrawn := jobforge.withdraw_runs(p_old);
    -- The due time of a withdrawn run applies again, unless the same call names another time.
    if v.next_run_at is not distinct from p_old.next_run_at and not p_options ? 'next_run_at' then
      v.next_run_at := least(v.next_run_at, v_withdrawn);
    end if;
  elsif p_options ? 'next_run_at' and p_old.kind = 'dynamic' then
    -- The queued run of a dynamic schedule is its next run, so it moves.
    perform jobforge.withdraw_runs(p_old, false);
  end if;
  if (v.payload, v.priority, v.max_attempts, v.default_attempts, v.tags, v.subject, v.concurrency_key)
    is distinct from (p_old.payload, p_old.priority, p_old.max_attempts, p_old.default_attempts, p_old.tags,
      p_old.subject, p_old.concurrency_key)
  then
    perform jobforge.change_queued_runs(v, p_now);
  end if;
  if v.next_run_at > v.ends_at then
    v.next_run_at := null;
  end if;
  if (v.enabled, v.next_run_at, v.missed, v.run_requested)
    is distinct from (p_old.enabled, p_old.next_run_at, p_old.missed, p_old.run_requested)
  then
    v.due_at := jobforge.due_of(v, p_now);
  end if;
  if v.enabled and not p_old.enabled and not v.run_requested then
    -- Times that passed while the schedule was disabled were not missed: it runs once for all of them.
    v.due_at := case
      when v.next_run_at is null or v.kind = 'dynamic' or v.missed = 'once' then v.next_run_at
      else greatest(v.next_run_at, p_now)
    end;
  end if;
  v.updated_at := p_now;
  update jobforge.schedules s
  set (kind, cron, timezone, every, anchor, jitter, enabled, next_run_at, due_at, run_requested, overlap, missed,
    missed_limit,
      starts_at, ends_at, retry_runs, priority, max_attempts, payload, tags, subject, concurrency_key, declared_by,
        consecutive_failures, last_error, updated_at, default_attempts)
    = (v.kind, v.cron, v.timezone, v.every, v.anchor, v.jitter, v.enabled, v.next_run_at, v.due_at, v.run_requested,
      v.overlap,
      v.missed, v.missed_limit, v.starts_at, v.ends_at, v.retry_runs, v.priority, v.max_attempts, v.payload, v.tags,
        v.subject,
      v.concurrency_key, v.declared_by, v.consecutive_failures, v.last_error, v.updated_at, v.default_attempts)
  where s.id = p_old.id;
  if v.due_at is not null then
    perform jobforge.wake(v.type, v.due_at, p_now, array[v.tenant_id]);
  end if;
  if v.enabled <> p_old.enabled then
    perform jobforge.audit_schedule(v, case when v.enabled then 'SCHEDULE_ENABLED' else 'SCHEDULE_DISABLED' end, p_now);
  end if;
  v_settings.next_run_at := p_old.next_run_at;
  v_settings.enabled := p_old.enabled;
  if p_options <> '{}' and v_settings is distinct from p_old then
    perform jobforge.audit_schedule(v, 'SCHEDULE_UPDATED', p_now,
      jsonb_build_object('keys', array(select jsonb_object_keys(p_options))));
  end if;
end $$;

-- Records who did what to a schedule, in the same transaction.
create or replace function jobforge.audit_schedule(
  p_schedule jobforge.schedules, p_action text, p_now timestamptz, p_meta jsonb default '{}'
) returns void
language sql as $$
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (p_now, p_schedule.tenant_id, jobforge.actor(), p_action, 'schedule', p_schedule.id::text,
    jsonb_build_object('type', p_schedule.type, 'key', p_schedule.key) || p_meta)
$$;

-- Sets the times of a schedule whose options have been applied to an existing one. Its next run stays, unless the
-- options name one, request a reset, or change its rhythm. JF009 if the time is after its end.
create or replace function jobforge.with_times(
  p_old jobforge.schedules, p_new jobforge.schedules, p_options jsonb, p_now timestamptz
) returns jobforge.schedules
language plpgsql volatile as $$
declare
  v jobforge.schedules := p_new;
begin
  if p_options ? 'next_run_at' then
    v.next_run_at := jobforge.option_time(p_options, 'next_run_at');
    if v.next_run_at > v.ends_at then
      perform jobforge.fail_schedule('next_run_at', 'next_run_at lies after ends_at', 'It would never run.');
    end if;
  end if;
  if v.kind = 'every' and v.anchor is null then
    v.anchor := coalesce(v.next_run_at, greatest(p_now, v.starts_at));
  end if;
  if p_options ? 'next_run_at' then
    return v;
  elsif p_old.id is null or p_options ->> 'reset' = 'true'
    or (v.kind = 'dynamic' and p_old.kind <> 'dynamic' and v.next_run_at is null)
    or (v.kind <> 'dynamic'
      and (v.kind, v.cron, v.timezone, v.every, v.anchor, v.jitter, v.starts_at, v.ends_at) is distinct from
      (p_old.kind, p_old.cron, p_old.timezone, p_old.every, p_old.anchor, p_old.jitter, p_old.starts_at, p_old.ends_at))
  then
    v.next_run_at := jobforge.first_due(v, p_now);
  end if;
  return v;
end $$;

-- Returns those of the finished jobs that may return to the queue with regard to schedules. For a schedule whose runs
-- may not overlap this is the newest run, and only if no other run is live. Locks those schedules, so that no run is
-- created in the meantime. Reads and locks only what belongs to the tenant: a caller may name any job.
create or replace function jobforge.without_rivals(p_job_ids uuid[], p_tenant_id uuid) returns uuid[]
language plpgsql
set enable_seqscan = off as $$
declare
  v_runs uuid[];
  v_schedules uuid[];
begin
  select array_agg(f.id), array_agg(f.schedule_id)
  into v_runs, v_schedules
  from jobforge.archive f
  -- "is not distinct from" keeps indexes that begin with other columns out of the plan: rows must be found by id.
  where f.id = any (p_job_ids) and f.tenant_id is not distinct from p_tenant_id and f.schedule_id is not null;
  if v_runs is null then
    return p_job_ids;
  end if;
  perform from jobforge.schedules s where s.id = any (v_schedules) order by s.id for update;
  return array(
    select i.id
    from unnest(p_job_ids) i(id)
    left join unnest(v_runs, v_schedules) r(id, schedule_id) on r.id = i.id
    left join jobforge.schedules s on s.id = r.schedule_id and s.overlap <> 'allow'
    where s.id is null
      or (r.id = (select max(o.id::text)::uuid from unnest(v_runs, v_schedules) o(id, schedule_id)
        where o.schedule_id = s.id)
        and (select j.id from jobforge.live_rows j where j.schedule_id = s.id limit 1) is null));
end $$;
