-- Runs a job at another time (null: now). A queued job is moved. A failed or dead job returns to the queue with a
-- fresh budget: p_max_attempts more executions, by default as many as it had at first. An expires_at that would have
-- passed by then is removed, because the job would be canceled instead. With p_reset its handler begins anew, without
-- the checkpoints of durable steps. With p_payload it runs with another payload, in the same commit.
-- Returns {id, status, run_at, max_attempts}.
-- Who: the tenant itself, operators. JF006 if there is no such job, if it is running, succeeded or canceled, or if
-- another live job has taken its dedupe key or is a run of the same schedule. JF002 and JF008 for a payload as for an
-- enqueue.
create or replace function :"api_schema".jobforge_reschedule_job(
  p_job_id uuid,
  p_tenant_id uuid,
  p_run_at timestamptz default null,
  p_max_attempts integer default null,
  p_reset boolean default false,
  p_payload jsonb default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_run_at timestamptz := coalesce(p_run_at, v_now);
  v_max_attempts integer;
begin
  perform require_tenant(p_tenant_id);
  if not is_time(p_run_at) then
    perform fail_argument('run_at', 'run_at must be a time from the year 1 to 9999');
  elsif p_max_attempts not between 1 and 100000 then
    perform fail_argument('max_attempts', 'max_attempts must be between 1 and 100000');
  end if;
  perform lock_roots(array[p_job_id], p_tenant_id);
  -- A run that ends between the two reads puts its job back into the queue. In that case, read again.
  loop
    if lock_queued(p_job_id, p_tenant_id) then
      v_max_attempts := postpone(p_job_id, v_run_at, p_max_attempts, v_now);
    else
      v_max_attempts := (select r.max_attempts
        from revive(array[p_job_id], p_tenant_id, v_run_at, p_max_attempts, v_now) r);
    end if;
    exit when v_max_attempts is not null;
    if not exists (select from queue j where j.id = p_job_id and j.tenant_id = p_tenant_id) then
      perform fail('JF006', 'Job not found or cannot be rescheduled', 'not_reschedulable', 'job_id',
        'Only queued, failed and dead jobs of the tenant can be rescheduled, and only while no other live job has the same dedupe key or is a run of the same schedule.');
    end if;
  end loop;
  perform reopen_for_jobs(array[p_job_id], v_now);
  if p_reset then
    perform reset_jobs(array[p_job_id]);
  end if;
  if p_payload is not null then
    perform change_payload(p_job_id, p_payload, v_now);
  end if;
  perform audit(p_tenant_id, 'JOB_RESCHEDULED', p_job_id, jsonb_strip_nulls(jsonb_build_object('run_at', v_run_at,
    'reset', case when p_reset then true end, 'payload_changed', case when p_payload is not null then true end)));
  perform wake(j.type, v_run_at, v_now, array[j.tenant_id]) from queue j where j.id = p_job_id;
  return jsonb_build_object('id', p_job_id, 'status', 'queued', 'run_at', v_run_at, 'max_attempts', v_max_attempts);
end $$;

-- Moves a queued job that the caller has locked to another time. Returns its max_attempts.
create or replace function jobforge.postpone(
  p_job_id uuid, p_run_at timestamptz, p_max_attempts integer, p_now timestamptz
) returns integer
language plpgsql as $$
declare
  v_job jobforge.queue;
begin
  update jobforge.queue j
  set run_at = p_run_at,
    state = jobforge.queued_state(p_run_at, p_now),
    expires_at = case when j.expires_at > greatest(p_run_at, p_now) then j.expires_at end,
    max_attempts = coalesce(p_max_attempts, j.max_attempts),
    budget = coalesce(p_max_attempts, j.budget),
    updated_at = p_now
  where j.id = p_job_id
  returning * into v_job;
  if v_job.attempts - v_job.uncounted >= v_job.max_attempts then
    perform jobforge.fail_argument('max_attempts', format('max_attempts must be over the %s executions so far',
      v_job.attempts - v_job.uncounted));
  end if;
  perform jobforge.leave_slots(array[row(v_job.type, v_job.tenant_id, v_job.concurrency_key)::jobforge.slot], p_now);
  return v_job.max_attempts;
end $$;

-- Returns failed and dead jobs from the archive to the queue with a fresh budget. Their last attempt, which was part
-- of the archived row, becomes a row of its own. Returns the jobs that were moved. A job stays in the archive if a
-- live job has taken its dedupe key, or if it is a run of a schedule that may not overlap and has a live run.
create or replace function jobforge.revive(
  p_job_ids uuid[], p_tenant_id uuid, p_run_at timestamptz, p_max_attempts integer, p_now timestamptz
) returns table (id uuid, type text, max_attempts integer)
language plpgsql as $$
declare
  v_back bigint;
begin
  return query
  with dead as materialized (
    select f.*
    from unnest(jobforge.without_rivals(p_job_ids, p_tenant_id)) i(id)
    cross join lateral (
      select * from jobforge.archive f
      where f.id = i.id
        and f.tenant_id = p_tenant_id
        and f.status in ('failed', 'dead')
        and f.finished_at >= jobforge.earliest_finish(i.id)
        -- A job that retention is deleting must not return without its payload and attempts.
        and f.finished_at + make_interval(days => f.keep_days) > p_now
      for update skip locked
    ) f
  ), keyed as (
    -- Those whose dedupe key is free take it again.
    insert into jobforge.dedupe_keys (tenant_id, type, dedupe_key, job_id)
    select d.tenant_id, d.type, d.dedupe_key, d.id
    from dead d
    where d.dedupe_key is not null
    order by d.type, d.dedupe_key
    on conflict do nothing
    returning job_id
  ), back as (
    insert into jobforge.queue (
      id, seq, tenant_id, lane, type, state, rank, attempts, uncounted, max_attempts, budget, run_at, created_at,
      updated_at, expires_at, started_at, payload, idempotency_key, dedupe_key, concurrency_key, subject, tags,
      traceparent, progress, error, cost_cents, schedule_id, scheduled_for, step_id, keep_days)
    overriding system value
    select
      d.id, d.seq, d.tenant_id, jobforge.lane_of(d.tenant_id), d.type,
      jobforge.queued_state(p_run_at, p_now), d.rank, d.attempts,
      d.uncounted, d.attempts - d.uncounted + coalesce(p_max_attempts, d.budget), coalesce(p_max_attempts, d.budget),
      p_run_at, d.created_at, p_now, case when d.expires_at > greatest(p_run_at, p_now) then d.expires_at end,
      d.started_at, d.payload,
      d.idempotency_key, d.dedupe_key, d.concurrency_key, d.subject, d.tags, d.traceparent, d.progress, d.error,
        d.cost_cents,
      d.schedule_id, d.scheduled_for, d.step_id, case when d.step_id is not null then d.keep_days end
    from dead d
    where d.dedupe_key is null or d.id in (select k.job_id from keyed k)
    returning queue.id, queue.type, queue.max_attempts
  ), past as (
    insert into jobforge.attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at, error, handed)
    select d.id, d.attempts, d.tenant_id, d.last_run, d.worker_id, d.started_at, d.finished_at, d.error, d.handed
    from dead d
    join back b on b.id = d.id
    where d.last_run is not null
  ), noticed as (
    -- The receiver that the enqueue named is notified of the next end as well.
    update jobforge.job_notices n
    set live = true
    where n.job_id = any (array(select b.id from back b))
  ), gone as (
    -- Select by ids, not by a join: a join that was planned on empty tables would read the whole archive.
    delete from jobforge.archive f
    where f.id = any (array(select b.id from back b))
      and f.status in ('failed', 'dead')
      and f.finished_at >= (select min(d.finished_at) from dead d)
  )
  select b.id, b.type::text, b.max_attempts::integer from back b;
  get diagnostics v_back = row_count;
  perform jobforge.note_pending(p_tenant_id, v_back);
end $$;
