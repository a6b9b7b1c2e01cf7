-- How runs end.
--
--   jobforge_complete_job, jobforge_defer_job     jobforge_settle_jobs, _text       reclaim, jobforge_heartbeat_worker
--                   | end_one_run                   | settle, read_ends                          | lose_runs
--                   +-------------------------------+--------------------------------------------+
--                                                   v
--                                               end_runs
--                                                   |
--      runs ---------------- fence, then deleted ---+
--      policies, cancel_requests, schedules --------+--- verdict
--                                                   |
--              queued    +--------------------------+--------------------------+    finished
--                        v                          v                          v
--      queue (ready, waiting), attempts        usage_deltas           archive, audit_log
--
--   Plain successes go from the runs to the archive and the usage by shorter paths: many by end_plain_runs, and one
--   alone, before it comes here, by settle_plain_success.
--
--   Afterwards, in the same transaction:
--      free_dedupe_keys --> dedupe_keys               free_slots -------> queue (parked -> ready)
--      keep_only_keys ----> job_keys                  enqueue_children -> queue (new), outbox
--      emit_events -------> queue (new deliveries)
--      end_scheduled_runs > schedules                 announce ---------> NOTIFY
--      note_all_pending --> pending_deltas            keep_logs --------> job_logs
--      end_steps ---------> workflows: see workflows/advance.sql
--      suspend_runs ------> checkpoints: see workflows/suspend.sql

-- Ends runs. Plain successes take the short path of end_plain_runs. This is the only place where the end of a run
-- becomes a state of its job. Removes from jobforge.runs the rows that pass the fence (under this worker, in this
-- attempt; and for a worker bound to a tenant, claimed by a role that is bound to it), and puts each where its end
-- leads: back into the queue or into the archive. Enqueues the children of a success. Returns for each end: ok,
-- already (this worker has ended this run before) or stale. Locks runs in id order; waits for nothing that an
-- application can hold.
create or replace function jobforge.end_runs(
  p_worker_id text, p_tenant_id uuid, p_ends jobforge.run_end[], p_now timestamptz
) returns jobforge.run_outcome[]
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
-- Rows are found by id and joined by hash, whatever the tables looked like when the plan was made.
set enable_nestloop = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_special record := special_types();
  v_plain run_outcome[] := '{}';
  v_ids uuid[];
  -- Whether any end has logs, is a release, suspends its job, or has children; and whether any is stale.
  v_logged boolean;
  v_released boolean;
  v_suspended boolean;
  v_with_children boolean;
  v_stale boolean;
  v_outcomes run_outcome[];
  v_canceled uuid[];
  v_without_history uuid[];
  v_deduped live_key[];
  v_scheduled schedule_end[];
  v_steps step_end[];
  v_parents uuid[];
  v_slots slot[];
  v_limited boolean := exists (select from limits) or exists (select from key_holds);
  v_webhooks boolean := has_webhooks();
  v_ended ended_job[];
begin
  -- Usually all of them are plain successes.
  if v_special.special is not null then
    v_plain := end_plain_runs(p_worker_id, p_tenant_id, p_ends, v_special.special, v_special.unkept, v_webhooks,
      v_limited, p_now);
    if cardinality(v_plain) = cardinality(p_ends) then
      return v_plain;
    elsif cardinality(v_plain) > 0 then
      p_ends := array(select e from unnest(p_ends) e where e.ord <> all (array(select o.ord from unnest(v_plain) o)));
    end if;
  end if;

  -- One statement for all that the steps below ask of the ends.
  select coalesce(array_agg(e.id order by e.id) filter (where e.id is not null), '{}'), bool_or(e.logs is not null),
    bool_or(e.status = 'released'), bool_or(e.wait is not null), bool_or(e.children is not null)
  into v_ids, v_logged, v_released, v_suspended, v_with_children
  from unnest(p_ends) e;
  with taken as (
    -- The runs that pass the fence. "is not distinct from" keeps the index on worker_id out of the plan: rows must be
    -- found by id.
    delete from runs j
    where j.id = any (v_ids)
      and j.worker_id is not distinct from p_worker_id
      and (p_tenant_id is null or (j.tenant_id = p_tenant_id and j.bound))
      and ((j.id, j.attempts) in (select e.id, e.attempt from unnest(p_ends) e)
        or j.id in (select e.id from unnest(p_ends) e where e.attempt is null))
    returning j.*
  ), ending as (
    -- The reported end of each row; the first one when a call reports several.
    select distinct on (e.id)
      e.ord, e.id as job_id, e.status as ended, e.error as new_error, e.result, e.artifact_ref, e.retry,
      e.run_at as next_at, e.not_before, e.counts, e.cost_cents as cost, e.next_run_at
    from unnest(p_ends) e
    where (e.id, e.attempt) in (select t.id, t.attempts from taken t) or e.attempt is null
    order by e.id, e.ord
  ), policy as materialized (
    -- The policy of each type.
    select t.type, p as policy
    from (select distinct t.type from taken t) t
    cross join lateral policy_of(t.type) p
  ), masked as materialized (
    -- Each reported error once, as it is stored. The runs of a call often fail for the same reason, and to mask an
    -- error takes longer than to end the run.
    select d.error, d.redact, error_of(d.error, p_now, d.redact) as stored
    from (
      select distinct coalesce(e.new_error, 'null') as error, (p.policy).redact as redact
      from taken t
      join ending e on e.job_id = t.id
      join policy p on p.type = t.type
      where e.ended in ('failed', 'lost')
    ) d
  ), judged as materialized (
    -- Each run with the status its end leads to (verdict), and all that the next steps write. Columns that every step
    -- reads come first, because Postgres unpacks a row only as far as it is read.
    select
      verdict(e.ended, x.cancel, e.retry and not x.schedule_goes_on, e.counts, x.exhausted, t.losses) as verdict,
      e.ord, t.id, t.attempts, x.cancel, t.schedule_id, x.schedule_goes_on,
      (p.policy).keep_history or t.keep_days is not null as keep_history, (p.policy).audit_action, e.ended in ('failed', 'lost') as failed_or_lost,
      coalesce(e.next_at, case e.ended
        when 'failed' then greatest(p_now + backoff(p.policy, t.failures + 1), e.not_before)
        else t.run_at
      end) as again_at,
      e.ended, e.new_error, e.counts, t.tenant_id, t.type, t.run_at, e.cost, t.seq, t.rank, t.uncounted,
      t.failures, t.losses, t.max_attempts, t.budget, t.created_at, t.started_at, t.expires_at, t.worker_id, t.payload,
      t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, e.result,
      e.artifact_ref, e.retry, t.scheduled_for,
      coalesce(e.next_run_at, case when x.schedule_goes_on and e.ended = 'failed' then e.next_at end) as next_run_at,
      add_cost(t.cost_cents, e.cost) as cost_cents,
      shelf_for(coalesce(t.keep_days, (p.policy).retention_days)) as keep_days, t.step_id, t.keep_days as asked_days,
      t.handed,
      -- A success clears the error. A run that was released or deferred keeps the job's earlier error.
      case
        when e.ended = 'succeeded' then null
        when e.ended in ('failed', 'lost') then m.stored
        when e.ended = 'deferred' and e.counts and x.exhausted and not x.cancel then coalesce(
          case when e.new_error is not null then error_of(e.new_error, p_now, (p.policy).redact) end, t.error,
          error_of('{"name": "Deferred", "message": "Put off until the attempts were used up"}', p_now, '{}'))
        else t.error
      end as last_error
    from taken t
    join ending e on e.job_id = t.id
    join policy p on p.type = t.type
    left join masked m on m.error = coalesce(e.new_error, 'null') and m.redact = (p.policy).redact
    cross join lateral (
      select
        -- The first EXISTS runs once for all rows, and usually there are no requests.
        (select exists (select from cancel_requests))
          and exists (select from cancel_requests c where c.job_id = t.id) as cancel,
        t.attempts - t.uncounted >= t.max_attempts as exhausted,
        -- A failure ends a scheduled run, and its schedule goes on; unless the schedule wants its runs to be retried.
        t.schedule_id is not null
          and coalesce((select not s.retry_runs from schedules s where s.id = t.schedule_id), true) as schedule_goes_on
    ) x
  ), requeued as (
    -- Jobs that will run again, back in the queue.
    insert into queue (
      id, seq, tenant_id, lane, type, state, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at,
      created_at, updated_at, expires_at, started_at, payload, idempotency_key, dedupe_key, concurrency_key, subject,
      tags, traceparent, progress, error, cost_cents, schedule_id, scheduled_for, step_id, keep_days)
    overriding system value
    select
      t.id, t.seq, t.tenant_id, lane_of(t.tenant_id), t.type, queued_state(t.again_at, p_now), t.rank, t.attempts,
      t.uncounted + (t.ended = 'released' or (t.ended = 'deferred' and not t.counts))::int,
      t.failures + t.failed_or_lost::int,
      case t.ended when 'lost' then t.losses + 1 when 'released' then t.losses else 0 end,
      t.max_attempts, t.budget, t.again_at, t.created_at, p_now, t.expires_at, t.started_at, t.payload,
      t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress,
      t.last_error, t.cost_cents, t.schedule_id, t.scheduled_for, t.step_id, t.asked_days
    from judged t
    where t.verdict = 'queued'
  ), attempted as (
    -- The attempts of these jobs. The last attempt of a finished job is part of its row in the archive.
    insert into attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at, error, handed)
    select t.id, t.attempts, t.tenant_id, t.ended, t.worker_id, t.started_at, p_now,
      case
        when t.failed_or_lost then t.last_error
        when t.new_error is not null
          then error_of(t.new_error, p_now, (select (p.policy).redact from policy p where p.type = t.type))
      end,
      t.handed
    from judged t
    where t.verdict = 'queued'
  ), archived as (
    -- Finished jobs, except those whose type keeps no history. Jobs that failed or are dead are kept all the same, but
    -- not a failed run whose schedule goes on.
    insert into archive (
      id, seq, tenant_id, type, status, reason, last_run, rank, attempts, uncounted, failures, max_attempts, budget,
      run_at, created_at, started_at, finished_at, expires_at, worker_id, payload, idempotency_key, dedupe_key,
      concurrency_key, subject, tags, traceparent, progress, error, result_id, result, artifact_ref, cost_cents,
      keep_days, schedule_id, scheduled_for, step_id, handed)
    select
      t.id, t.seq, t.tenant_id, t.type, t.verdict, reason(t.verdict, t.ended, t.retry, t.losses), t.ended, t.rank,
      t.attempts, t.uncounted, t.failures + t.failed_or_lost::int, t.max_attempts, t.budget, t.run_at, t.created_at,
      t.started_at, p_now, t.expires_at, t.worker_id, t.payload, t.idempotency_key, t.dedupe_key, t.concurrency_key,
      t.subject, t.tags, t.traceparent, t.progress, t.last_error,
      case when t.result is not null or t.artifact_ref is not null then new_id() end, t.result, t.artifact_ref,
      t.cost_cents, t.keep_days, t.schedule_id, t.scheduled_for, t.step_id, t.handed
    from judged t
    where t.verdict <> 'queued'
      and (t.keep_history or t.verdict = 'dead' or (t.verdict = 'failed' and not t.schedule_goes_on))
  ), audited as (
    -- Audit rows of jobs that failed or are dead, and of successes of types with an audit_action.
    insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message, meta)
    select p_now, t.tenant_id, t.worker_id,
      case t.verdict
        when 'succeeded' then t.audit_action
        when 'dead' then 'JOB_EXHAUSTED_RETRIES'
        else 'JOB_FAILED'
      end,
      'job', t.id::text,
      left(coalesce(t.last_error ->> 'fullMessage', t.last_error ->> 'message'), 2000),
      jsonb_build_object('type', t.type, 'attempts', t.attempts,
        'reason', reason(t.verdict, t.ended, t.retry, t.losses))
    from judged t
    where t.verdict = 'dead' or (t.verdict = 'failed' and not t.schedule_goes_on)
      or (t.verdict = 'succeeded' and t.audit_action is not null)
  ), metered as (
    -- The usage of each tenant and type. A released run does not count as a run, but its cost was spent.
    insert into usage_deltas (
      tenant_id, type, hour, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, waits, lengths)
    select t.tenant_id, t.type, date_trunc('hour', p_now, 'UTC'), count(*) filter (where t.ended <> 'released'),
      count(*) filter (where t.ended = 'succeeded'), count(*) filter (where t.ended = 'failed'),
      count(*) filter (where t.ended = 'lost'), count(*) filter (where t.ended = 'deferred'),
      count(*) filter (where t.failed_or_lost and t.verdict = 'queued'),
      count(*) filter (where t.verdict in ('failed', 'dead')),
      coalesce(sum(t.cost), 0),
      coalesce(array_agg(ms_between(t.run_at, t.started_at)) filter (where t.ended <> 'released'), '{}'),
      coalesce(array_agg(ms_between(t.started_at, p_now)) filter (where t.ended not in ('lost', 'released')), '{}')
    from judged t
    where t.ended <> 'released' or t.cost is not null
    group by t.tenant_id, t.type
  )
  -- Outcomes are cast row by row: Postgres would cast a whole array of records by way of its text.
  select array_agg(row(o.*)::run_outcome), bool_or(o.outcome = 'stale'),
    (select array_agg(t.id) from judged t where t.cancel),
    (select array_agg(t.id) from judged t
      where not t.keep_history
        and (t.verdict in ('succeeded', 'canceled') or (t.verdict = 'failed' and t.schedule_goes_on))),
    (select array_agg(row(t.tenant_id, t.type, t.dedupe_key)::live_key) from judged t
      where t.dedupe_key is not null and t.verdict <> 'queued'),
    (select array_agg(row(t.schedule_id, t.tenant_id, t.scheduled_for, p_now, replace(t.verdict, 'dead', 'failed'),
        coalesce(t.last_error ->> 'fullMessage', t.last_error ->> 'message'), t.next_run_at, t.next_run_at is not null)::schedule_end)
      from judged t
      where t.schedule_id is not null and t.verdict <> 'queued'),
    (select array_agg(row(t.step_id, t.verdict, reason(t.verdict, t.ended, t.retry, t.losses), t.result, t.last_error,
        t.cost_cents)::step_end)
      from judged t
      where t.step_id is not null and t.verdict <> 'queued'),
    -- Jobs that may have been suspended, and have children.
    (select array_agg(coalesce(t.step_id, t.id)) from judged t
      where t.uncounted > 0 and t.verdict in ('failed', 'dead', 'canceled')),
    case when v_limited then
      (select array_agg(row(t.type, t.tenant_id, t.concurrency_key)::slot) from judged t)
    end,
    case when v_webhooks then
      (select array_agg(row(t.id, t.tenant_id, t.type, t.verdict, t.ended,
          reason(t.verdict, t.ended, t.retry, t.losses), t.attempts, t.subject, t.tags, t.created_at, t.started_at,
          t.last_error, t.payload, t.result, t.artifact_ref, t.schedule_id, t.traceparent)::ended_job)
        from judged t)
    end
  into v_outcomes, v_stale, v_canceled, v_without_history, v_deduped, v_scheduled, v_steps, v_parents, v_slots, v_ended
  from (
    select
      t.ord, t.id, t.attempts, 'ok' as outcome, t.verdict, case t.verdict when 'queued' then t.again_at else t.run_at end,
      t.tenant_id, t.type
    from judged t
    union all
    select e.ord, e.id, e.attempt,
      case
        when (e.id, e.attempt) in (select t.id, t.attempts from judged t) then 'already'
        when was_ended_by(e.id, p_worker_id, e.attempt, p_tenant_id) then 'already'
        else 'stale'
      end,
      null, null, null, null
    from unnest(p_ends) e
    where e.ord not in (select t.ord from judged t)
  ) o;

  -- A call that is repeated while the first one is still under way waits for its locks. The snapshot of the statement
  -- above does not show what the first call has committed meanwhile, so a second statement looks again.
  if v_stale then
    v_outcomes := array(
      select row(o.ord, o.id, o.attempt,
        case
          when o.outcome = 'stale' and was_ended_by(o.id, p_worker_id, o.attempt, p_tenant_id) then 'already'
          else o.outcome
        end,
        o.status, o.run_at, o.tenant_id, o.type)::run_outcome
      from unnest(v_outcomes) o);
  end if;
  if v_canceled is not null then
    delete from cancel_requests c where c.job_id = any (v_canceled);
  end if;
  if v_deduped is not null then
    perform free_dedupe_keys(v_deduped);
  end if;
  if v_logged then
    perform keep_logs(p_ends, v_outcomes, p_now);
  end if;
  if v_ended is not null then
    perform emit_events(v_ended, p_now);
  end if;
  if v_without_history is not null then
    perform keep_only_keys(v_without_history, p_now);
  end if;
  if v_scheduled is not null then
    perform end_scheduled_runs(v_scheduled, p_now);
  end if;
  if v_released then
    perform withdraw_released(array(
      select o.id
      from unnest(v_outcomes) o
      where o.outcome = 'ok' and o.status = 'queued'
        and o.ord in (select e.ord from unnest(p_ends) e where e.status = 'released')), p_now);
  end if;
  -- Read after the jobs were written: see note_pending.
  if exists (select from tenants t where t.max_pending is not null) then
    perform note_all_pending(array(select o.tenant_id from unnest(v_outcomes) o where o.status <> 'queued'), -1);
  end if;
  if v_slots is not null then
    perform free_slots(v_slots, p_now);
  end if;
  if v_with_children then
    perform enqueue_children(p_ends, v_outcomes, p_now);
  end if;
  if v_suspended then
    perform suspend_runs(p_ends, v_outcomes, p_now);
  end if;
  if v_parents is not null then
    perform cancel_children(v_parents, p_now);
  end if;
  if v_steps is not null then
    perform end_steps(v_steps, p_now);
  end if;
  perform announce(v_outcomes, p_now);
  return v_plain || v_outcomes;
end $$;

-- Returns whether this worker has ended this very run before: the call is a repetition after a lost response.
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
    where f.id = p_job_id and f.finished_at >= jobforge.earliest_finish(p_job_id)
      and f.attempts = p_attempt and f.worker_id = p_worker_id and f.last_run <> 'lost'
      and (p_tenant_id is null or f.tenant_id = p_tenant_id)
  )
$$;

-- Returns the cost of a job's earlier runs and of one more, without overflow.
create or replace function jobforge.add_cost(p_before integer, p_run integer) returns integer
language sql immutable as $$
  select case
    when p_before is null then p_run
    else least(p_before::bigint + coalesce(p_run, 0), 2147483647)::integer
  end
$$;
