-- Short paths for jobs without keys, with which nothing can conflict. They repeat the insert of jobforge.enqueue,
-- because a shared statement would cost the time that they save: general enqueue takes three times as long for one job,
-- and twice as long for many; and the statement for many takes a third longer for one job than the statement for one. A
-- column that is added to one of the three inserts must be added to all.

-- Enqueues one job that has no keys. Returns its document. p_label: what the tenant is called.
create or replace function jobforge.enqueue_new_job(
  p_tenant_id uuid, p_job jobforge.new_job, p_now timestamptz, p_notify boolean, p_label text
) returns text
language plpgsql as $$
declare
  v_payload jsonb := jobforge.inline_payload(p_job.payload, p_job.bytes);
  v_document text;
  v_quota boolean;
  v_idle boolean;
begin
  insert into jobforge.queue (
    id, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at, payload,
    concurrency_key, subject, tags, traceparent)
  select
    p_job.id, p_tenant_id, jobforge.lane_of(p_tenant_id), p_job.type, jobforge.queued_state(p_job.run_at, p_now),
    jobforge.rank_of(p_job.priority, p.max_priority), a.attempts, a.attempts,
    coalesce(p_job.run_at, p_now), p_now, p_now, p_job.expires_at, v_payload,
    p_job.concurrency_key, p_job.subject, p_job.tags, p_job.traceparent
  from jobforge.policy_of(p_job.type) p
  cross join lateral (
    select jobforge.attempts_for(p_job.max_attempts, p_job.default_attempts, p.max_attempts,
      jobforge.is_by_hand(p, 'max_attempts')) as attempts
  ) a
  returning jobforge.created_document(p_job, p_tenant_id, p_label, rank, max_attempts, p_now, null) into v_document;
  if v_payload is null then
    insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
    values (p_job.id, p_tenant_id, p_job.bytes, p_job.payload::text);
  end if;
  -- Read after the job was written: see jobforge.note_pending.
  select
    exists (select from jobforge.tenants t where t.tenant_id = p_tenant_id and t.max_pending is not null),
    exists (select from jobforge.idle_workers i where i.type in (p_job.type, '*'))
  into v_quota, v_idle;
  if v_quota then
    perform jobforge.note_pending(p_tenant_id, 1);
  end if;
  if v_idle and p_notify then
    perform jobforge.wake(p_job.type, coalesce(p_job.run_at, p_now), p_now, array[p_tenant_id]);
  end if;
  return v_document;
end $$;

-- Returns what an enqueue returns for a job that it has created, as text: its columns, as jobforge.live_jobs has them,
-- and the outcome. To read the job again would take longer than to insert it, and to add the outcome to a jsonb as long
-- as to make it. p_worker_id: to whom the job was handed; null for a queued job. The row type of the view refuses a
-- list of columns that is not its own. One expression, so that Postgres inlines it.
create or replace function jobforge.created_document(
  p_job jobforge.new_job, p_tenant_id uuid, p_label text, p_rank integer, p_max_attempts integer, p_now timestamptz,
  p_worker_id text
) returns text
language sql stable as $$
  select left(to_json(row(
    p_job.id, p_tenant_id, p_job.type, p_job.payload,
    case when p_worker_id is null then 'queued' else 'running' end,                        -- status
    -p_rank,
    case when p_worker_id is null then 0 else 1 end,                                       -- attempts
    p_max_attempts, coalesce(p_job.run_at, p_now), p_worker_id,
    case when p_worker_id is not null then p_now end,                                      -- locked_at
    case when p_worker_id is not null then p_now end,                                      -- heartbeat_at
    case when p_worker_id is not null then p_now end,                                      -- started_at
    null,                                                                                  -- finished_at
    p_job.idempotency_key, p_job.dedupe_key, p_job.subject, p_job.tags,
    null, false, null, null, null, null, -- progress, cancel_requested, error, last_error, result_id, cost_cents
    p_now, p_now, 0,                                                -- created_at, updated_at, uncounted
    p_job.expires_at, p_job.concurrency_key, p_job.traceparent,
    case when p_worker_id is not null then jobforge.trace_id(p_job.id, 1) end,
    null, null, null, null,                                         -- reason, schedule_id, scheduled_for, schedule_key
    p_label, null, null)::jobforge.live_jobs)::text, -1)            -- tenant_label, step_id, workflow_id
    || ',"outcome":"created"}'
$$;

-- Enqueues jobs that have no keys: nothing needs to be sorted or looked up, and the insert needs no ON CONFLICT.
-- p_tenant_ids: the tenant of each job, where p_tenant_id is null.
create or replace function jobforge.enqueue_new_jobs(
  p_tenant_id uuid, p_tenant_ids uuid[], p_jobs jobforge.new_job[], p_now timestamptz, p_notify boolean
) returns void
language plpgsql as $$
declare
  v_quota boolean;
  v_idle boolean;
begin
  with policy as materialized (
    -- The policy of each type.
    select t.type, p.max_attempts, p.max_priority, jobforge.is_by_hand(p, 'max_attempts') as by_hand
    from (select distinct j.type from unnest(p_jobs) j) t
    cross join lateral jobforge.policy_of(t.type) p
  ), numbered as (
    -- The jobs, numbered in the order of the call before anything is joined to them.
    select j.*, coalesce(p_tenant_id, p_tenant_ids[j.ord]) as tenant_id, nextval('jobforge.queue_seq_seq') as seq
    from unnest(p_jobs) j
    offset 0
  )
  insert into jobforge.queue (
    id, seq, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at,
    payload, concurrency_key, subject, tags, traceparent)
  overriding system value
  select
    j.id, j.seq, j.tenant_id, jobforge.lane_of(j.tenant_id), j.type, jobforge.queued_state(j.run_at, p_now),
    jobforge.rank_of(j.priority, p.max_priority),
    jobforge.attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand),
    jobforge.attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand),
    coalesce(j.run_at, p_now), p_now, p_now, j.expires_at, jobforge.inline_payload(j.payload, j.bytes),
    j.concurrency_key, j.subject, j.tags, j.traceparent
  from numbered j
  join policy p on p.type = j.type;
  insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
  select j.id, coalesce(p_tenant_id, p_tenant_ids[j.ord]), j.bytes, j.payload::text
  from unnest(p_jobs) j
  where jobforge.inline_payload(j.payload, j.bytes) is null;
  -- Read after the jobs were written: see jobforge.note_pending.
  select
    exists (
      select from jobforge.tenants t
      where t.tenant_id = any (coalesce(p_tenant_ids, array[p_tenant_id])) and t.max_pending is not null),
    exists (select from jobforge.idle_workers)
  into v_quota, v_idle;
  if v_quota then
    perform jobforge.note_all_pending(
      array(select coalesce(p_tenant_id, p_tenant_ids[j.ord]) from unnest(p_jobs) j), 1);
  end if;
  if v_idle and p_notify then
    perform jobforge.wake_for(p_tenant_id, p_tenant_ids, p_jobs, p_now);
  end if;
end $$;
