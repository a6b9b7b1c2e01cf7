-- The short path of end_runs, for the everyday case: runs that succeeded, of jobs that nothing but the archive and the
-- usage concerns. It repeats the statement of end_runs without all that such a run does not need, because a shared
-- statement would cost the time that it saves. A column that is added to one of the two inserts into the archive must
-- be added to both.

-- Returns what the short path has to know of policies. Both are null if no run may take it: there are cancel requests
-- or watches, very many such types, or the policy of all other types is one of them.
--   special the types whose runs it does not end, because their policy has an audit_action or a retention of its own
--   unkept  the other types that keep no history
create or replace function jobforge.special_types(out special text[], out unkept text[])
language plpgsql stable as $$
declare
  v_most constant integer := 100;
begin
  select t.special, t.unkept
  into special, unkept
  from (
    select
      coalesce(array_agg(p.type::text) filter (where p.audit_action is not null or p.retention_days is not null), '{}'),
      coalesce(array_agg(p.type::text) filter (where p.audit_action is null and p.retention_days is null), '{}')
    from (
      select p.type, p.audit_action, p.retention_days
      from jobforge.policies p
      where p.audit_action is not null or not p.keep_history or p.retention_days is not null
      limit v_most
    ) p
  ) t(special, unkept)
  where cardinality(t.special) + cardinality(t.unkept) < v_most
    and '*' <> all (t.special || t.unkept)
    and not exists (select from jobforge.cancel_requests)
    and not exists (select from jobforge.watches);
end $$;

-- Ends the runs that a call reports as succeeded and that are plain: no schedule, no dedupe key, no children, no
-- logs, no step of a workflow, no type of p_special, and no receiver of events that wants to know (p_webhooks: there
-- may be one). Of types without history (p_unkept) it ends those that have nothing outside their row, which are the
-- first attempts without an idempotency key, with a small payload and no notices: their end is the delete. Frees
-- their slots if p_limited. The fence is that of end_runs. Returns the outcomes of the runs that it has ended, all ok.
-- The caller leaves the others to the general path. Locks runs in id order; waits for nothing that an application can
-- hold.
create or replace function jobforge.end_plain_runs(
  p_worker_id text, p_tenant_id uuid, p_ends jobforge.run_end[], p_special text[], p_unkept text[],
  p_webhooks boolean, p_limited boolean, p_now timestamptz
) returns jobforge.run_outcome[]
language plpgsql as $$
declare
  v_ids uuid[] := array(
    select e.id
    from unnest(p_ends) e
    where e.status = 'succeeded' and e.attempt is not null and e.children is null and e.logs is null
    order by e.id);
  v_keep_days constant integer := jobforge.shelf_for(null);
  v_outcomes jobforge.run_outcome[];
  v_slots jobforge.slot[];
begin
  -- If a call reports two ends of one run, the first counts, which may be no success.
  if v_ids = '{}'
    or (cardinality(p_ends) > 1 and (select count(distinct e.id) from unnest(p_ends) e) < cardinality(p_ends))
  then
    return '{}';
  end if;
  with taken as (
    delete from jobforge.runs j
    where j.id = any (v_ids)
      and j.worker_id is not distinct from p_worker_id
      and (p_tenant_id is null or (j.tenant_id = p_tenant_id and j.bound))
      and j.schedule_id is null
      and j.dedupe_key is null
      and j.step_id is null
      and j.type <> all (p_special)
      and (j.type <> all (p_unkept)
        or (j.attempts = 1 and j.idempotency_key is null and j.payload is not null and not p_webhooks))
      and not (p_webhooks and jobforge.is_told(j.id, j.tenant_id, j.type, j.tags))
      and (j.id, j.attempts) in (select e.id, e.attempt from unnest(p_ends) e)
    returning j.*
  ), ended as materialized (
    -- Each run with its reported end.
    select t.*, e.ord, e.result, e.artifact_ref, e.cost_cents as cost
    from taken t
    join unnest(p_ends) e on e.id = t.id
  ), archived as (
    insert into jobforge.archive (
      id, seq, tenant_id, type, status, reason, last_run, rank, attempts, uncounted, failures, max_attempts, budget,
      run_at, created_at, started_at, finished_at, expires_at, worker_id, payload, idempotency_key, dedupe_key,
      concurrency_key, subject, tags, traceparent, progress, error, result_id, result, artifact_ref, cost_cents,
      keep_days, schedule_id, scheduled_for, step_id, handed)
    select
      t.id, t.seq, t.tenant_id, t.type, 'succeeded', 'done', 'succeeded', t.rank, t.attempts, t.uncounted, t.failures,
      t.max_attempts, t.budget, t.run_at, t.created_at, t.started_at, p_now, t.expires_at, t.worker_id, t.payload,
      t.idempotency_key, t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, null,
      case when t.result is not null or t.artifact_ref is not null then jobforge.new_id() end, t.result,
      t.artifact_ref, jobforge.add_cost(t.cost_cents, t.cost), v_keep_days, t.schedule_id, t.scheduled_for,
      t.step_id, t.handed
    from ended t
    where t.type <> all (p_unkept)
  ), metered as (
    insert into jobforge.usage_deltas (
      tenant_id, type, hour, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, waits, lengths)
    select t.tenant_id, t.type, date_trunc('hour', p_now, 'UTC'), count(*), count(*), 0, 0, 0, 0, 0,
      coalesce(sum(t.cost), 0), array_agg(jobforge.ms_between(t.run_at, t.started_at)),
      array_agg(jobforge.ms_between(t.started_at, p_now))
    from ended t
    group by t.tenant_id, t.type
  )
  select array_agg(
    row(t.ord, t.id, t.attempts, 'ok', 'succeeded', t.run_at, t.tenant_id, t.type)::jobforge.run_outcome),
    array_agg(row(t.type, t.tenant_id, t.concurrency_key)::jobforge.slot) filter (where p_limited)
  into v_outcomes, v_slots
  from ended t;
  -- Read after the jobs were written: see jobforge.note_pending.
  if exists (select from jobforge.tenants t where t.max_pending is not null) then
    perform jobforge.note_all_pending(array(select o.tenant_id from unnest(v_outcomes) o), -1);
  end if;
  if v_slots is not null then
    perform jobforge.free_slots(v_slots, p_now);
  end if;
  return coalesce(v_outcomes, '{}');
end $$;
