-- Ends runs: the only place where a run's end becomes a job's state.
-- Takes rows that pass the fence (running, this worker, this attempt; and this tenant, for a worker bound to one) out of
-- jobforge.jobs and puts each where its end leads: back into the queue, or into the archive; children of a success are
-- enqueued with it. Answers for each end: ok, already (this very run was ended before) or stale. Locks running rows in id
-- order, and waits for nothing that an application can hold.
create or replace function jobforge.end_runs(
  p_worker_id text, p_tenant_id uuid, p_ends jobforge.run_end[], p_now timestamptz
) returns jobforge.run_outcome[]
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_outcomes run_outcome[];
  v_unkept uuid[];
begin
  with ending as materialized (
    select * from unnest(p_ends) e order by e.id, e.ord
  ), taken as (
    delete from jobs j
    using ending e
    where j.id = e.id
      and j.state = 'running'
      and j.worker_id = p_worker_id
      and (e.attempt is null or j.attempts = e.attempt)
      and (p_tenant_id is null or j.tenant_id = p_tenant_id)
    returning
      j.*, e.ord, e.status as ended, e.error as new_error, e.result, e.artifact_ref, e.retry, e.run_at as next_at,
      e.counts, e.cost_cents as cost
  ), policy as materialized (
    select t.type, p as policy
    from (select distinct t.type from taken t) t
    cross join lateral policy_of(t.type) p
  ), judged as materialized (
    select t.*, (p.policy).keep_history, (p.policy).audit_action, shelf((p.policy).retention_days) as keep_days,
      v.*,
      coalesce(t.next_at, case t.ended
        when 'failed' then p_now + backoff(p.policy, t.failures + 1)
        else t.run_at
      end) as again_at
    from taken t
    join policy p on p.type = t.type
    left join cancel_requests c on c.job_id = t.id
    cross join lateral verdict(t.ended, c.job_id is not null, t.retry, t.counts,
      t.attempts - t.uncounted >= t.max_attempts, t.losses) v
  ), requeued as (
    insert into jobs (
      id, seq, tenant_id, type, state, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at,
      created_at, updated_at, expires_at, started_at, payload, idempotency_key, dedupe_key, concurrency_key, subject,
      tags, traceparent, progress, error, cost_cents)
    overriding system value
    select
      t.id, t.seq, t.tenant_id, t.type, case when t.again_at <= p_now then 'ready' else 'waiting' end, t.rank, t.attempts,
      t.uncounted + (not t.counted)::int, t.failures + (t.ended in ('failed', 'lost'))::int,
      case t.ended when 'lost' then t.losses + 1 when 'released' then t.losses else 0 end,
      t.max_attempts, t.budget, t.again_at, t.created_at, p_now, t.expires_at, t.started_at, t.payload,
      t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress,
      case when t.ended in ('failed', 'lost') then error_of(t.new_error, p_now) else t.error end,
      add_cost(t.cost_cents, t.cost)
    from judged t
    where t.verdict = 'queued'
  ), past as (
    insert into attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at, error)
    select t.id, t.attempts, t.tenant_id, t.ended, t.worker_id, t.started_at, p_now,
      case when t.ended in ('failed', 'lost') or t.new_error is not null then error_of(t.new_error, p_now) end
    from judged t
    where t.verdict = 'queued'
  ), archived as (
    insert into archive (
      id, seq, tenant_id, type, status, reason, last_run, rank, attempts, uncounted, failures, max_attempts, budget,
      run_at, created_at, started_at, finished_at, expires_at, worker_id, payload, idempotency_key, dedupe_key,
      concurrency_key, subject, tags, traceparent, progress, error, result_id, result, artifact_ref, cost_cents,
      keep_days)
    select
      t.id, t.seq, t.tenant_id, t.type, t.verdict, t.reason, t.ended, t.rank, t.attempts, t.uncounted,
      t.failures + (t.ended in ('failed', 'lost'))::int, t.max_attempts, t.budget, t.run_at, t.created_at, t.started_at,
      p_now, t.expires_at, t.worker_id, t.payload, t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags,
      t.traceparent, t.progress, case when t.ended <> 'succeeded' then error_of(t.new_error, p_now) end,
      case when t.result is not null or t.artifact_ref is not null then new_id() end, t.result, t.artifact_ref,
      add_cost(t.cost_cents, t.cost), t.keep_days
    from judged t
    where t.verdict <> 'queued' and (t.keep_history or t.verdict in ('failed', 'dead'))
  ), audited as (
    insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message, meta)
    select p_now, t.tenant_id, t.worker_id,
      case t.verdict when 'succeeded' then t.audit_action when 'dead' then 'JOB_EXHAUSTED_RETRIES' else 'JOB_FAILED' end,
      'job', t.id::text,
      case when t.verdict <> 'succeeded' then left(error_of(t.new_error, p_now) ->> 'message', 2000) end,
      jsonb_build_object('type', t.type, 'attempts', t.attempts, 'reason', t.reason)
    from judged t
    where t.verdict in ('failed', 'dead') or (t.verdict = 'succeeded' and t.audit_action is not null)
  ), uncanceled as (
    delete from cancel_requests c
    using judged t
    where c.job_id = t.id
  )
  select array_agg(o), (select array_agg(t.id) from judged t where not t.keep_history and t.verdict in ('succeeded', 'canceled'))
  into v_outcomes, v_unkept
  from (
    select
      t.ord, t.id, t.attempts, 'ok', t.verdict, case t.verdict when 'queued' then t.again_at else t.run_at end, t.tenant_id,
      t.type
    from judged t
    union all
    select e.ord, e.id, e.attempt,
      case
        when e.id in (select t.id from judged t) then 'already'
        when was_ended_by(e.id, p_worker_id, e.attempt, p_tenant_id) then 'already'
        else 'stale'
      end,
      null, null, null, null
    from unnest(p_ends) e
    where e.ord not in (select t.ord from judged t)
  ) o;

  if v_unkept is not null then
    perform keep_only_keys(v_unkept, p_now);
  end if;
  perform spawn_children(p_ends, v_outcomes, p_now);
  perform announce(v_outcomes, p_now);
  return v_outcomes;
end $$;

-- Enqueues the children of runs that succeeded, for their parents' tenants. Children with keys may meet an application's
-- open transaction that holds the same key: they wait in the outbox then, not in the settle.
create or replace function jobforge.spawn_children(
  p_ends jobforge.run_end[], p_outcomes jobforge.run_outcome[], p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_family record;
begin
  if not exists (select from unnest(p_ends) e where e.children is not null) then
    return;
  end if;
  for v_family in
    select o.tenant_id, array_agg(c order by e.ord, c.ord) as jobs
    from unnest(p_ends) e
    join unnest(p_outcomes) o on o.ord = e.ord
    cross join lateral unnest(e.children) c
    where o.outcome = 'ok' and o.status = 'succeeded'
    group by o.tenant_id
    order by o.tenant_id
  loop
    if not jobforge.enqueue_without_waiting(v_family.tenant_id, v_family.jobs, p_now) then
      insert into jobforge.outbox (tenant_id, jobs) values (v_family.tenant_id, v_family.jobs);
    end if;
  end loop;
end $$;

-- Enqueues and wakes; false, and nothing done, when another transaction holds one of the keys.
create or replace function jobforge.enqueue_without_waiting(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz
) returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '10ms', true);
  perform jobforge.enqueue(p_tenant_id,
    array(select row(row_number() over (), j.id, j.type, j.payload, j.idempotency_key, j.run_at, j.max_attempts, j.priority,
      j.dedupe_key, j.dedupe_mode, j.tags, j.subject, j.concurrency_key, j.expires_at, j.traceparent)::jobforge.new_job
      from unnest(p_jobs) j), p_now, true);
  perform set_config('lock_timeout', v_before, true);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Tells those who wait: workers that sleep, of what went back into the queue; watchers, of what has ended.
create or replace function jobforge.announce(p_outcomes jobforge.run_outcome[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_told integer;
begin
  perform jobforge.wake(o.type, min(o.run_at), p_now)
  from unnest(p_outcomes) o
  where o.status = 'queued'
  group by o.type;
  if exists (select from jobforge.watches) then
    with seen as (
      delete from jobforge.watches w
      using unnest(p_outcomes) o
      where w.job_id = o.id and o.status <> 'queued'
      returning w.job_id
    )
    select count(pg_notify('jobforge_done', s.job_id::text)) into v_told from seen s;
  end if;
end $$;

-- Where a run's end leads a job: to what status, for what reason, and whether the execution counts against max_attempts.
create or replace function jobforge.verdict(
  p_ended text, p_cancel boolean, p_retry boolean, p_counts boolean, p_exhausted boolean, p_losses integer,
  out verdict text, out reason text, out counted boolean
)
language sql immutable as $$
  select
    v[1], v[2], p_ended not in ('released', 'deferred') or (p_ended = 'deferred' and coalesce(p_counts, true))
  from (
    select case
      when p_cancel then array['canceled', 'canceled']
      when p_ended = 'succeeded' then array['succeeded', 'done']
      when p_ended = 'released' then array['queued']
      when p_ended = 'deferred' and not coalesce(p_counts, true) then array['queued']
      when p_ended = 'failed' and not coalesce(p_retry, true) then array['failed', 'refused']
      when p_ended = 'lost' and p_losses >= 2 then array['dead', 'crashed']
      when p_exhausted then array['dead', 'exhausted']
      else array['queued']
    end as v
  ) x
$$;

-- Adds up the cost of a job's runs, without overflowing.
create or replace function jobforge.add_cost(p_before integer, p_run integer) returns integer
language sql immutable as $$
  select case
    when p_before is null then p_run
    else least(p_before::bigint + coalesce(p_run, 0), 2147483647)::integer
  end
$$;

-- Whether this very run, of this worker, has been ended by it before: a retried call after a lost answer.
create or replace function jobforge.was_ended_by(
  p_job_id uuid, p_worker_id text, p_attempt integer, p_tenant_id uuid
) returns boolean
language sql stable as $$
  select exists (
    select from jobforge.attempts a
    where a.job_id = p_job_id and a.attempt_no = p_attempt and a.worker_id = p_worker_id and a.status <> 'lost'
      and (p_tenant_id is null or a.tenant_id = p_tenant_id)
  ) or exists (
    select from jobforge.archive f
    where f.id = p_job_id and f.finished_at >= jobforge.time_of(p_job_id) - interval '1 day'
      and f.attempts = p_attempt and f.worker_id = p_worker_id and f.last_run <> 'lost'
      and (p_tenant_id is null or f.tenant_id = p_tenant_id)
  )
$$;

-- Ends queued jobs that no run ended: canceled by somebody, or expired. Answers how many. The caller holds their locks.
create or replace function jobforge.end_queued(p_job_ids uuid[], p_reason text, p_now timestamptz) returns integer
language plpgsql as $$
declare
  v_ended jobforge.run_outcome[];
  v_unkept uuid[];
begin
  if cardinality(p_job_ids) = 0 then
    return 0;
  end if;
  with taken as (
    delete from jobforge.jobs j
    where j.id = any (p_job_ids) and j.state <> 'running'
    returning j.*
  ), answered as (
    delete from jobforge.cancel_requests c
    using taken t
    where c.job_id = t.id
  ), judged as materialized (
    select t.*, p.keep_history, jobforge.shelf(p.retention_days) as keep_days
    from taken t
    cross join lateral jobforge.policy_of(t.type) p
  ), archived as (
    insert into jobforge.archive (
      id, seq, tenant_id, type, status, reason, rank, attempts, uncounted, failures, max_attempts, budget, run_at,
      created_at, started_at, finished_at, expires_at, payload, idempotency_key, dedupe_key, concurrency_key, subject,
      tags, traceparent, progress, error, cost_cents, keep_days)
    select
      t.id, t.seq, t.tenant_id, t.type, 'canceled', p_reason, t.rank, t.attempts, t.uncounted, t.failures, t.max_attempts,
      t.budget, t.run_at, t.created_at, t.started_at, p_now, t.expires_at, t.payload, t.idempotency_key, t.dedupe_key,
      t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, t.error, t.cost_cents, t.keep_days
    from judged t
    where t.keep_history
  )
  select
    array_agg(row(null, t.id, t.attempts, 'ok', 'canceled', t.run_at, t.tenant_id, t.type)::jobforge.run_outcome),
    array_agg(t.id) filter (where not t.keep_history)
  into v_ended, v_unkept
  from judged t;
  if v_unkept is not null then
    perform jobforge.keep_only_keys(v_unkept, p_now);
  end if;
  perform jobforge.announce(v_ended, p_now);
  return coalesce(cardinality(v_ended), 0);
end $$;
