-- Short paths for jobs without keys, with which nothing can conflict. They repeat the insert of jobforge.enqueue,
-- because a shared statement would cost the time that they save: general enqueue takes three times as long for one job,
-- and twice as long for many; and the statement for many takes a third longer for one job than the statement for one. A
-- column that is added to one of the three inserts must be added to all.

-- Enqueues one job that has no keys.
create or replace function jobforge.enqueue_new_job(
  p_tenant_id uuid, p_job jobforge.new_job, p_now timestamptz, p_notify boolean, out id uuid, out outcome text
)
language plpgsql as $$
declare
  v_payload jsonb := jobforge.inline_payload(p_job.payload, p_job.bytes);
  v_max_attempts integer;
  v_max_priority integer;
begin
  select jobforge.attempts_for(p_job.max_attempts, p_job.default_attempts, p.max_attempts,
      jobforge.is_by_hand(p, 'max_attempts')),
    p.max_priority
  into v_max_attempts, v_max_priority
  from jobforge.policy_of(p_job.type) p;
  insert into jobforge.queue (
    id, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at, payload,
    concurrency_key, subject, tags, traceparent)
  values (
    p_job.id, p_tenant_id, jobforge.lane_of(p_tenant_id), p_job.type, jobforge.queued_state(p_job.run_at, p_now),
    jobforge.rank_of(p_job.priority, v_max_priority), v_max_attempts, v_max_attempts,
    coalesce(p_job.run_at, p_now), p_now, p_now, p_job.expires_at, v_payload,
    p_job.concurrency_key, p_job.subject, p_job.tags, p_job.traceparent);
  if v_payload is null then
    insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
    values (p_job.id, p_tenant_id, p_job.bytes, p_job.payload);
  end if;
  perform jobforge.note_pending(p_tenant_id, 1);
  if p_notify then
    perform jobforge.wake(p_job.type, coalesce(p_job.run_at, p_now), p_now, array[p_tenant_id]);
  end if;
  id := p_job.id;
  outcome := 'created';
end $$;

-- Enqueues jobs that have no keys: nothing needs to be sorted or looked up, and the insert needs no ON CONFLICT.
create or replace function jobforge.enqueue_new_jobs(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz, p_notify boolean
) returns void
language plpgsql as $$
begin
  with policy as materialized (
    -- The policy of each type.
    select t.type, p.max_attempts, p.max_priority, jobforge.is_by_hand(p, 'max_attempts') as by_hand
    from (select distinct j.type from unnest(p_jobs) j) t
    cross join lateral jobforge.policy_of(t.type) p
  ), numbered as (
    -- The jobs, numbered in the order of the call before anything is joined to them.
    select j.*, nextval('jobforge.queue_seq_seq') as seq from unnest(p_jobs) j offset 0
  )
  insert into jobforge.queue (
    id, seq, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at,
    payload, concurrency_key, subject, tags, traceparent)
  overriding system value
  select
    j.id, j.seq, p_tenant_id, jobforge.lane_of(p_tenant_id), j.type, jobforge.queued_state(j.run_at, p_now),
    jobforge.rank_of(j.priority, p.max_priority),
    jobforge.attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand),
    jobforge.attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand),
    coalesce(j.run_at, p_now), p_now, p_now, j.expires_at, jobforge.inline_payload(j.payload, j.bytes),
    j.concurrency_key, j.subject, j.tags, j.traceparent
  from numbered j
  join policy p on p.type = j.type;
  insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
  select j.id, p_tenant_id, j.bytes, j.payload
  from unnest(p_jobs) j
  where jobforge.inline_payload(j.payload, j.bytes) is null;
  perform jobforge.note_pending(p_tenant_id, cardinality(p_jobs));
  if p_notify then
    perform jobforge.wake_for(p_tenant_id, p_jobs, p_now);
  end if;
end $$;
