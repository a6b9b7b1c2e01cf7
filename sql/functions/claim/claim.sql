-- How a claim works. Numbers are the sections of jobforge.claim; every step is a function in this folder, in limits/,
-- in schedules/ or in workflows/.
--
--     jobforge_claim_jobs                  jobforge_settle_jobs, jobforge_settle_jobs_text
--              |                                              | settle_and_claim
--              |                                       claim_documents             rows -> JSON
--              |                                              | claim_plain, the short path
--              +----------------------> claim <---------------+
--                                         |
--      hint of the last call ---> 1  read_hint
--      workflows, gates, limits > 2  do_wakeups                  queue: new step
--                                    open_types, unpark_due      queue: parked  -> ready
--      schedules ---------------> 3  make_ready: promote         queue: waiting -> ready
--                                                fire            queue: new run of a schedule, ready
--                                 4  take, from the streams of the hint
--      index queue_ready -------> 5  find_streams, then take:
--                                      lock_jobs                 queue: ready, locked
--                                      fit_bytes                 queue: ready; those that are too large stay
--                                      admit                     queue: ready -> parked, where a limit is full
--                                      start_runs                queue -> runs
--      hint for the next call <-- 6  write_hint
--                                         |
--                                         v
--                       places of the runs, next due time
--
-- THE CLAIM ORDER. Of two ready jobs that a claim may start, this one starts first:
--   1. the one of higher priority (rank = -priority), whatever its type;
--   2. within a rank, the one of the tenant whose turn comes first. Turns go from lane to lane, starting after the lane
--      that was served last. Turns give equal shares of what the claim wants; a tenant of weight three has three turns;
--   3. within a turn, the older one: run_at, then seq (the order of insertion), whatever its type.
-- These places implement it, and change together:
--   the index queue_ready (type, rank, lane, run_at, seq)       the order within a type
--   find_streams.sql, open_ranks.sql                            1 and 2; more_urgent.sql: 1 for claims with a hint
--   take.sql, lock_jobs.sql                                     2, 3; turns.sql: 2 for claims without a hint
--   claim_plain.sql                                             1 to 3, for claims that nothing restrains
--   limits/admit.sql, buckets.sql (room_in), unpark.sql         jobs that compete for one bucket, with the indexes
--                                                               queue_parked and queue_key_order
--   read/explain_job.sql (why_behind)                           the jobs that come first
--   claim_jobs.sql, claim_documents.sql                         the jobs of one claim, by rank, run_at and seq
--   turns.ts of worker-ts                                       the jobs that a worker holds
--   sql/test/proof/model/claim.ts                               the model, which checks it
--   docs/concepts/turns-and-fairness.md                         what users read
--
-- Queries for jobs follow an index in its own order. Functions that contain such queries switch sorting off: a table
-- that was analyzed while it was empty has no rows as far as the planner knows, and then any index, read from end to
-- end and sorted, looks as cheap as the right one.

-- Claims up to p_limit jobs for a worker in the claim order. First it promotes what has become due. With a hint it
-- continues where the last call stopped; if that gives less than p_limit, or more urgent work has come, it searches in
-- full before it returns. A claim that would return less than p_limit also reclaims lost leases and ends expired jobs,
-- and then searches again, so any worker keeps the system going. Jobs for which a limit has no room are passed over.
-- Returns the places (ctid) of the runs it has started, which are valid until the transaction ends; when the next
-- waiting job of the types becomes due, or a full limit has room again; and the hint, if wanted. A claim is bounded by
-- bytes as well (claim_bytes): then it returns fewer jobs, and more is true. Locks the jobs it claims, promotes and
-- parks. Skips what another transaction has locked; never waits.
create or replace function jobforge.claim(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_want_hint boolean,
  inout p_hint jsonb, out claimed tid[], out due timestamptz, out more boolean
)
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_hint hint := read_hint(
    p_hint, coalesce(p_tenant_id::text, '') || ':' || coalesce(array_to_string(p_types, ','), '*'), p_now);
  -- When the last full search was; the lane where the next one starts; the first live entry of the waiting index.
  v_searched_at timestamptz := coalesce(v_hint.at, p_now);
  v_from bigint := v_hint.lane;
  v_floor timestamptz := coalesce(v_hint.due, '-infinity');
  -- A worker that has just been here visits more lanes, so that its hint holds the lanes of a few hundred tenants.
  v_most_lanes integer :=
    case when p_want_hint and v_hint.lane is not null and v_hint.many is null then 256 else 64 end;
  v_batch integer := greatest(p_limit, 200);
  v_rules claim_rules := claim_rules();
  v_paused bigint[] := paused_lanes(p_now);
  v_open text[];
  v_full text[] := '{}';
  v_again_at timestamptz;
  v_wakeup_at timestamptz;
  v_promoted record;
  v_search boolean := true;
  v_found record;
  v_taken record;
  v_streams stream[];
  -- Ranks up to this one have been searched; the lowest integer is before every rank.
  v_above integer := -2147483648;
  v_searches integer := 0;
  v_rounds integer := 0;
  -- How many pages the searches of this call have read, and for how many types and lanes.
  v_pages bigint := index_pages_read();
  v_pages_read bigint;
  v_places integer := 0;
  -- How many bytes it may still claim.
  v_bytes bigint := claim_bytes();
begin
  claimed := '{}';
  more := false;

  -- 1. Read the hint --------------------------------------------------------------------------------------------------
  -- A hint without streams has nothing to continue with. Then this call searches in full at once, not again at the end.
  if v_hint.streams is null and v_hint.costly is not true and p_types is not null then
    v_hint.at := null;
    v_searched_at := p_now;
    v_floor := '-infinity';
  end if;

  -- 2. Choose the types -----------------------------------------------------------------------------------------------
  -- Wakeups of workflows enqueue jobs, maybe of a new type.
  v_wakeup_at := next_wakeup(p_tenant_id);
  if v_wakeup_at <= p_now then
    if do_wakeups(p_tenant_id, p_now, 100) > 0 then
      v_hint.streams := null;
      v_hint.types := null;
    end if;
    v_wakeup_at := next_wakeup(p_tenant_id);
  end if;
  -- Types that a gate pauses, or whose limit is full, are left out.
  v_open := open_types(coalesce(p_types, v_hint.types), p_now, p_tenant_id);
  -- A role bound to a tenant gets no list of types: it could read the hint, and the types are those of every tenant.
  if p_types is null and is_costly(index_pages_read() - v_pages, cardinality(v_open)) and bound_tenant() is null then
    v_hint.types := v_open;
  end if;
  if v_rules.limited then
    if unpark_due(p_now) > 0 then
      -- The unparked jobs are older than the positions in the hint, which would skip them, and may be of a new type.
      v_hint.streams := null;
      v_open := open_types(p_types, p_now, p_tenant_id);
    end if;
    -- This marks runs of every tenant, which a bound role must not hold.
    if v_rules.early and bound_tenant() is null then
      perform count_early_runs(p_now);
    end if;
    select f.types, f.next_at into v_full, v_again_at from full_types(v_open, p_now) f;
    v_open := without_types(v_open, v_full);
  end if;

  -- 3. Promote --------------------------------------------------------------------------------------------------------
  v_pages := all_pages_read();
  v_promoted := make_ready(v_open, p_tenant_id, p_now, v_batch, v_floor);
  v_pages_read := all_pages_read() - v_pages;

  -- 4. Continue from the hint -----------------------------------------------------------------------------------------
  -- The streams of the hint count as long as no job of a better rank is ready.
  if v_hint.streams is not null then
    select m.urgent, m.ask into v_search, v_hint.ask
    from more_urgent(v_open, v_hint.streams, v_paused, p_tenant_id, v_hint.ask, p_now) m;
  end if;
  if not v_search then
    v_taken := take(p_worker_id,
      array(select s from unnest(v_hint.streams) s where s.type = any (v_open) and not s.lane = any (v_paused)),
      p_tenant_id, p_limit, p_now, v_rules, v_bytes);
    claimed := v_taken.claimed;
    v_bytes := v_bytes - v_taken.bytes;
    more := v_taken.cut;
    v_streams := case when not more then v_taken.streams end;
    v_from := lane_after(v_taken.last_lane);
    if v_taken.passed_over > 0 then
      v_streams := null;
      v_full := v_full || v_taken.full_types;
      v_paused := v_paused || v_taken.busy_lanes;
      v_again_at := least(v_again_at, v_taken.again_at);
    end if;
  end if;

  -- 5. Search in full -------------------------------------------------------------------------------------------------
  -- Rank by rank, until the claim has enough or nothing is left.
  while cardinality(claimed) < p_limit and not more loop
    if v_hint.at is not null then
      -- A transaction that stayed open may have brought in jobs late: before the floor, or of a new type.
      v_hint.at := null;
      v_floor := '-infinity';
      v_open := without_types(open_types(p_types, p_now, p_tenant_id), v_full);
      v_promoted := make_ready(v_open, p_tenant_id, p_now, v_batch);
    end if;
    v_searched_at := p_now;
    v_streams := null;
    v_pages := all_pages_read();
    v_found := find_streams(v_open, p_tenant_id, v_paused, v_above, coalesce(v_from, first_lane()),
      greatest(p_limit - cardinality(claimed), v_most_lanes));
    v_pages_read := v_pages_read + all_pages_read() - v_pages;
    v_places := v_places + cardinality(v_open) + cardinality(v_found.streams);
    if not v_found.complete and cardinality(v_found.streams) >= 256 then
      v_hint.many := p_now + many_lanes_lifetime();
    end if;
    if v_found.rank is null then
      -- No job is ready. Another batch may be due, or maintenance may return jobs to the queue. Due jobs may be a
      -- million, all of paused tenants, so after ten rounds the next claim continues.
      v_rounds := v_rounds + 1;
      exit when v_rounds > 10 or (v_promoted.promoted < v_batch and not maintain_jobs(p_now, 1000, false));
      v_open := without_types(open_types(p_types, p_now, p_tenant_id), v_full);
      v_promoted := make_ready(v_open, p_tenant_id, p_now, v_batch);
      v_above := -2147483648;
      continue;
    end if;
    if v_from is null and not v_found.complete then
      v_from := random_lane();
      continue;
    end if;
    v_streams := v_found.streams;
    if v_from is null then
      v_streams := order_by_turn(v_streams, p_limit - cardinality(claimed), coalesce(v_rules.weighted, false));
    end if;
    v_taken := take(p_worker_id, v_streams, p_tenant_id, p_limit - cardinality(claimed), p_now, v_rules,
      v_bytes);
    claimed := claimed || v_taken.claimed;
    v_bytes := v_bytes - v_taken.bytes;
    more := v_taken.cut;
    v_from := coalesce(lane_after(v_taken.last_lane), v_from);
    v_streams := case when v_found.complete and v_taken.passed_over = 0 and not more then v_taken.streams end;
    if v_taken.passed_over > 0 then
      v_full := v_full || v_taken.full_types;
      v_paused := v_paused || v_taken.busy_lanes;
      v_open := without_types(v_open, v_full);
      v_again_at := least(v_again_at, v_taken.again_at, case when v_taken.gave_up then p_now end);
    end if;
    exit when cardinality(claimed) >= p_limit or v_taken.gave_up or more;

    -- The streams found have no more jobs. Others of this rank are in further lanes, paused, or held by other workers.
    v_searches := v_searches + 1;
    if v_found.complete or v_searches >= 8 then
      v_above := v_found.rank;
      v_searches := 0;
    else
      v_from := lane_after((v_found.streams[cardinality(v_found.streams)]).lane);
    end if;
  end loop;

  -- 6. Remember -------------------------------------------------------------------------------------------------------
  due := least(v_promoted.due, v_wakeup_at);
  if v_rules.limited then
    due := least(due, v_again_at, next_unpark_at());
  end if;
  if p_want_hint then
    if v_places > 0 then
      -- A search of a type or lane reads a path through the index and a row, and some entries of jobs just claimed.
      v_hint.costly := case when v_pages_read > 100 + 6 * v_places then true end;
    end if;
    v_hint.at := v_searched_at;
    v_hint.lane := v_from;
    v_hint.due := least(v_promoted.due, p_now);
    v_hint.streams := v_streams;
    p_hint := write_hint(v_hint);
  end if;
end $$;
