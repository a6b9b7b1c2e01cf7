-- The short path of a claim, for the everyday case: a worker that was here before and handles one type, in an
-- installation where nothing restrains its claims. It takes what claim would take, in the same order, with few
-- statements: the first p_limit turns from the lane of the hint on, in equal shares. A column that is added to the
-- insert of start_runs must be added here, too.
--   places the places (ctid) of the runs it has started; null: the short path does not serve this call, and nothing is
--          claimed
--   jobs   their documents as a JSON array
--   hint   the hint for the next call
--   due    when the next waiting job of the type becomes due
--   more   fewer jobs than p_limit were claimed, and others may be ready: claim must look for them
-- Locks the jobs it claims. Skips what another transaction has locked; never waits.
create or replace function jobforge.claim_plain(
  p_worker_id text, p_limit integer, p_type text, p_hint jobforge.hint, p_now timestamptz,
  out places tid[], out jobs text, out hint jobforge.hint, out due timestamptz, out more boolean
)
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_sort = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_pages bigint := all_pages_read();
  v_rank integer;
  v_streams stream[];
  v_turns integer;
begin
  -- 1. Does the short path serve this call? ---------------------------------------------------------------------------
  due := plain_due(p_type);
  if due <= p_now then
    return;
  end if;
  due := nullif(due, 'infinity');

  -- 2. Find the turns -------------------------------------------------------------------------------------------------
  places := '{}';
  jobs := '[]';
  hint := p_hint;
  select j.rank into v_rank
  from queue j
  where j.state = 'ready' and j.type = p_type
  order by j.rank
  limit 1;
  if found then
    v_streams := (find_lanes(p_type, v_rank, '{}', p_hint.lane, null, p_limit)).streams;
    v_turns := cardinality(v_streams);

    -- 3. Start the oldest jobs of each, in equal shares ---------------------------------------------------------------
    -- Jobs that may be large are left to claim, which measures them.
    with locked as materialized (
      select x.place, x.large
      from unnest(v_streams) with ordinality s(type, rank, lane, from_at, from_seq, turn)
      cross join lateral (
        select j.ctid as place, may_be_large(j.payload, j.progress, j.tags, j.error) as large
        from queue j
        where j.state = 'ready' and j.type = p_type and j.rank = v_rank and j.lane = s.lane
          and (j.run_at, j.seq) >= (s.from_at, s.from_seq)
          and may_start(j, null, p_now)
        order by j.run_at, j.seq
        limit p_limit / v_turns + (s.turn <= p_limit % v_turns)::integer
        for update skip locked
      ) x
    ), taken as (
      delete from queue q
      where q.ctid = any (array(select l.place from locked l))
        and (select bool_or(l.large) from locked l) is not true
      returning q.*
    ), started as (
      insert into runs (
        id, seq, tenant_id, type, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at, created_at,
        updated_at, expires_at, started_at, worker_id, payload, idempotency_key, dedupe_key, concurrency_key, subject,
        tags, traceparent, progress, error, cost_cents, schedule_id, scheduled_for, step_id, keep_days,
        counted, bound)
      select
        t.id, t.seq, t.tenant_id, t.type, t.rank, t.attempts + 1, t.uncounted, t.failures, t.losses, t.max_attempts,
        t.budget, t.run_at, t.created_at, p_now, t.expires_at, p_now, p_worker_id, t.payload, t.idempotency_key,
        t.dedupe_key, t.concurrency_key, t.subject, t.tags, t.traceparent, t.progress, t.error, t.cost_cents,
        t.schedule_id, t.scheduled_for, t.step_id, t.keep_days, false, false
      from taken t
      returning runs.ctid as place, runs.*
    )
    select coalesce(array_agg(d.place), '{}'), coalesce('[' || string_agg(d.document, ',' order by d.run_at, d.seq) || ']', '[]')
    into places, jobs
    from (
      select s.place, s.run_at, s.seq,
        run_document(s.id, s.tenant_id, s.type, s.payload, s.rank, s.attempts, s.max_attempts, s.run_at, s.created_at,
          s.schedule_id, s.scheduled_for, s.subject, s.traceparent, s.tags, s.progress, s.step_id) as document
      from started s
      offset 0
    ) d;
    hint.lane := lane_after((v_streams[v_turns]).lane);
  end if;

  -- 4. Remember -------------------------------------------------------------------------------------------------------
  hint.at := p_now;
  hint.due := least(due, p_now);
  -- A search of a lane reads a path through the index, and each job is read, locked and deleted.
  hint.costly := case
    when all_pages_read() - v_pages > 100 + 6 * (1 + coalesce(v_turns, 0)) + 4 * cardinality(places) then true end;
  -- With nothing left, maintenance may return jobs to the queue.
  more := cardinality(places) < p_limit
    and (exists (select from queue j where j.state = 'ready' and j.type = p_type) or maintain_jobs(p_now, 1000, false));
end $$;

-- Returns when the next waiting job or schedule of a type, or a wakeup of a workflow, becomes due, infinity if
-- nothing waits, and -infinity if the short path does not serve a claim: a gate, a limit, a hold of the type, a
-- weight, a cancel request or the end of a scheduled run concerns claims.
create or replace function jobforge.plain_due(p_type text) returns timestamptz
language plpgsql stable as $$
begin
  return (
    select case
      when exists (select from jobforge.gates)
        or exists (select from jobforge.limits)
        or exists (select from jobforge.unpark_requests)
        or exists (select from jobforge.key_holds h where h.type = p_type)
        or exists (select from jobforge.tenants t where t.weight > 1)
        or exists (select from jobforge.cancel_requests)
        or exists (select from jobforge.schedule_ends)
        then '-infinity'
      else least(
        coalesce((
          select j.run_at::timestamptz
          from jobforge.queue j
          where j.state = 'waiting' and j.type = p_type
          order by j.run_at
          limit 1), 'infinity'),
        coalesce((
          select s.due_at::timestamptz
          from jobforge.schedules s
          where s.type = p_type and s.due_at is not null
          order by s.due_at
          limit 1), 'infinity'),
        coalesce((select w.due_at from jobforge.wakeups w order by w.due_at, w.id limit 1), 'infinity'))
    end);
end $$;
