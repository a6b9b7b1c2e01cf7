-- The short path of a claim, for the everyday case: a worker that was here before, in an installation where nothing
-- restrains its claims. It finds out with few statements that no job is ready; and for a worker of one type whose hint
-- has a lane, it takes what claim would take, in the same order: the first p_limit turns from that lane on, in equal
-- shares. A column that is added to the insert of start_runs must be added here, too.
--   places the places (ctid) of the runs it has started; null: the short path does not serve this call, and nothing is
--          claimed
--   jobs   their documents as a JSON array
--   hint   the hint for the next call
--   due    when the next waiting job of the types becomes due
--   more   fewer jobs than p_limit were claimed, and others may be ready: claim must look for them
-- Locks the jobs it claims. Skips what another transaction has locked; never waits.
create or replace function jobforge.claim_plain(
  p_worker_id text, p_limit integer, p_types text[], p_hint jobforge.hint, p_now timestamptz,
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
  v_type text := p_types[1];
  v_turns_known constant boolean := cardinality(p_types) = 1 and p_hint.lane is not null;
  v_rank integer;
  v_streams stream[];
  v_turns integer;
begin
  -- 1. Does the short path serve this call? ---------------------------------------------------------------------------
  -- The best rank is read here, too: to start a statement for it takes longer than to read it.
  select d.due, case when v_turns_known then (
      select j.rank from queue j where j.state = 'ready' and j.type = v_type order by j.rank limit 1) end
  into due, v_rank
  from due_unless_restrained(v_type) d(due);
  if cardinality(p_types) > 1 then
    due := case when exists (select from key_holds h where h.type = any (p_types)) then '-infinity'
      else least(due, next_due(p_types[2:], null)) end;
  end if;
  if due <= p_now then
    return;
  end if;
  due := nullif(due, 'infinity');

  -- 2. Find the turns -------------------------------------------------------------------------------------------------
  if not v_turns_known and has_ready(p_types) then
    return;
  end if;
  places := '{}';
  jobs := '[]';
  hint := p_hint;
  if v_rank is not null then
    v_streams := (find_lanes(v_type, v_rank, '{}', p_hint.lane, null, p_limit)).streams;
    v_turns := cardinality(v_streams);

    -- 3. Start the oldest jobs of each, in equal shares ---------------------------------------------------------------
    -- Jobs that may be large are left to claim, which measures them.
    with locked as materialized (
      select x.place, x.large
      from unnest(v_streams) with ordinality s(type, rank, lane, from_at, from_seq, turn)
      cross join lateral (
        select j.ctid as place, may_be_large(j.payload, j.progress, j.tags, j.error) as large
        from queue j
        where j.state = 'ready' and j.type = v_type and j.rank = v_rank and j.lane = s.lane
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
    when all_pages_read() - v_pages
      > 100 + 6 * (cardinality(p_types) + coalesce(v_turns, 0)) + 4 * cardinality(places) then true end;
  -- With nothing left, maintenance may return jobs to the queue.
  more := cardinality(places) < p_limit
    and ((v_rank is not null and has_ready(p_types)) or maintain_jobs(p_now, 1000, false));
end $$;

-- Returns whether a job of one of the types is ready.
create or replace function jobforge.has_ready(p_types text[]) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from unnest(p_types) t(type)
    cross join lateral (select from jobforge.queue j where j.state = 'ready' and j.type = t.type limit 1) j);
end $$;

-- Returns whether claims of a type, and hand-offs, need the general path: a gate, a limit, a hold of the type, a
-- weight, a cancel request or the end of a scheduled run concerns them. A function in "from", which Postgres puts into
-- the statement of the caller.
create or replace function jobforge.is_restrained(p_type text) returns setof boolean
language sql stable as $$
  select exists (select from jobforge.gates)
    or exists (select from jobforge.limits)
    or exists (select from jobforge.unpark_requests)
    or exists (select from jobforge.key_holds h where h.type = p_type)
    or exists (select from jobforge.tenants t where t.weight > 1)
    or exists (select from jobforge.cancel_requests)
    or exists (select from jobforge.schedule_ends)
$$;

-- Returns when the next waiting job or schedule of a type, or a wakeup of a workflow, becomes due; infinity if nothing
-- waits, and -infinity for a type that is restrained. Also a function in "from".
create or replace function jobforge.due_unless_restrained(p_type text) returns setof timestamptz
language sql stable as $$
  select case
    when r.restrained then '-infinity'
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
  end
  from jobforge.is_restrained(p_type) r(restrained)
$$;
