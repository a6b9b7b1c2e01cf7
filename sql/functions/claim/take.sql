-- Takes up to p_limit jobs, of at most p_bytes, from streams of one rank, and starts them under the worker. A turn is a
-- tenant with its streams, which are side by side. Each tenant supplies an equal share of the jobs that are still
-- wanted: its oldest jobs of any type. If a tenant has fewer, the others supply the rest. A tenant of weight three
-- supplies three shares. Part 2 of the claim order (see claim.sql). Where limits exist, jobs that do not fit are passed
-- over, and it looks further along the streams. Returns:
--   claimed     the places (ctid) of the runs, valid until the transaction ends
--   streams     the streams with the positions where they continue; those that had their turn come last
--   last_lane   the lane that was served last
--   passed_over how many jobs did not fit a limit
--   full_types  the types that are full
--   busy_lanes  the lanes of tenants whose limits a claim of a bound role holds
--   again_at    when to ask again
--   gave_up     it stopped because it had passed over 2,000 jobs
--   bytes       how much the jobs have that were measured (see fit_bytes.sql)
--   cut         jobs were left in the queue because of their size. Then the positions of the streams are past them
-- Locks the jobs it starts and parks, and those it leaves because of their size. Skips what another transaction has
-- locked; never waits.
create or replace function jobforge.take(
  p_worker_id text, p_streams jobforge.stream[], p_tenant_id uuid, p_limit integer, p_now timestamptz,
  p_rules jobforge.claim_rules, p_bytes bigint,
  out claimed tid[], out streams jobforge.stream[], out last_lane bigint,
  out passed_over integer, out full_types text[], out busy_lanes bigint[], out again_at timestamptz,
  out gave_up boolean, out bytes bigint, out cut boolean
)
language plpgsql as $$
declare
  v_limited boolean := coalesce(p_rules.limited, false);
  -- A turn is the index of its first stream. v_lasts has, at that index, its last stream.
  v_turns integer[] := '{}';
  v_lasts integer[] := array_fill(null::integer, array[cardinality(p_streams)]);
  v_weights integer[];
  v_first integer;
  v_shares integer[];
  v_asked integer;
  v_served integer := 0;
  -- The number of jobs still wanted, and the number to lock, which is larger where limits refuse some.
  v_missing integer := p_limit;
  v_wanted integer := p_limit;
  v_may_have_more integer[];
  v_turn record;
  v_locked tid[] := '{}';
  -- Whether any of the locked jobs may be large, and those that fit.
  v_large boolean := false;
  v_fitting record;
  v_admitted record;
begin
  streams := p_streams;
  claimed := '{}';
  passed_over := 0;
  full_types := '{}';
  busy_lanes := '{}';
  gave_up := false;
  bytes := 0;
  cut := false;

  -- 1. Find the turns -------------------------------------------------------------------------------------------------
  for i in 1 .. cardinality(p_streams) loop
    if v_first is null or (p_streams[i]).lane <> (p_streams[v_first]).lane then
      v_first := i;
      v_turns := v_turns || i;
    end if;
    v_lasts[v_first] := i;
  end loop;
  if p_rules.weighted then
    v_weights := jobforge.weights_of(p_streams);
    v_turns := jobforge.repeat_by_weight(v_turns, v_weights);
  end if;

  while v_missing > 0 and cardinality(v_turns) > 0 loop
    -- 2. Share what is wanted among the turns -------------------------------------------------------------------------
    v_asked := least(cardinality(v_turns), v_wanted);
    v_shares := array_fill(null::integer, array[cardinality(streams)]);
    for k in 1 .. v_asked loop
      v_shares[v_turns[k]] :=
        coalesce(v_shares[v_turns[k]], 0) + v_wanted / v_asked + (k <= v_wanted % v_asked)::integer;
    end loop;

    -- 3. Lock the jobs, and move the streams past them ----------------------------------------------------------------
    v_may_have_more := '{}';
    for v_turn in select * from jobforge.lock_jobs(streams, v_lasts, v_shares, p_tenant_id, p_now) loop
      v_locked := v_locked || v_turn.places;
      v_large := v_large or v_turn.large;
      for i in v_turn.first .. v_lasts[v_turn.first] loop
        if (v_turn.last_at, v_turn.last_seq) >= ((streams[i]).from_at, (streams[i]).from_seq) then
          streams[i].from_at := v_turn.last_at;
          streams[i].from_seq := v_turn.last_seq + 1;
        end if;
      end loop;
      if cardinality(v_turn.places) = v_shares[v_turn.first] then
        v_may_have_more := v_may_have_more || v_turn.first;
      end if;
    end loop;
    v_served := greatest(v_served, v_lasts[v_turns[v_asked]]);
    -- Tenants that have not been searched yet come before tenants that have already supplied jobs.
    v_turns := v_turns[v_asked + 1:] || jobforge.repeat_by_weight(v_may_have_more, v_weights);
    if not v_limited then
      v_missing := p_limit - cardinality(v_locked);
      v_wanted := v_missing;
      continue;
    end if;

    -- 4. Ask the limits, and start what fits --------------------------------------------------------------------------
    -- What is too large is left out before: a job that is admitted has spent its tokens.
    if v_large then
      v_fitting := jobforge.fit_bytes(v_locked, p_bytes - bytes);
      bytes := bytes + v_fitting.bytes;
      cut := cardinality(v_fitting.places) < cardinality(v_locked);
      v_locked := v_fitting.places;
      v_large := false;
    end if;
    v_admitted := jobforge.admit(v_locked, v_missing, p_now, p_rules);
    v_locked := '{}';
    -- Started in every round, so that the limits count these runs in the next.
    claimed := claimed || jobforge.start_runs(v_admitted.places, p_worker_id, p_now, p_rules.counted);
    v_missing := p_limit - cardinality(claimed);
    again_at := least(again_at, v_admitted.again_at);
    passed_over := passed_over + v_admitted.passed_over;
    full_types := full_types || v_admitted.full_types;
    busy_lanes := busy_lanes || v_admitted.busy_lanes;
    if cardinality(v_admitted.full_types) + cardinality(v_admitted.busy_lanes) > 0 then
      for i in 1 .. cardinality(streams) loop
        if (streams[i]).type = any (full_types) or (streams[i]).lane = any (busy_lanes) then
          streams[i].from_at := 'infinity';
        end if;
      end loop;
    end if;
    -- When some did not fit, larger batches get past many such jobs in a few steps.
    v_wanted := case
      when v_admitted.passed_over > 0 then least(greatest(v_wanted * 4, v_missing), 500)
      else v_missing
    end;
    if cardinality(claimed) = 0 then
      -- The limits refused all of these jobs, so they used no bytes, and others may fit.
      bytes := 0;
      cut := false;
    end if;
    gave_up := passed_over >= 2000 and v_missing > 0;
    exit when gave_up or cut;
  end loop;

  -- 5. Start what was locked, where no limit is asked -----------------------------------------------------------------
  if not v_limited then
    if v_large then
      v_fitting := jobforge.fit_bytes(v_locked, p_bytes);
      bytes := v_fitting.bytes;
      cut := cardinality(v_fitting.places) < cardinality(v_locked);
      v_locked := v_fitting.places;
    end if;
    claimed := jobforge.start_runs(v_locked, p_worker_id, p_now, false);
  end if;

  -- 6. Move the turns that were served to the end ---------------------------------------------------------------------
  last_lane := (streams[v_served]).lane;
  -- If a claim wants fewer jobs than the weight of the last tenant, it serves this tenant again with a probability that
  -- gives it its weight on average. The number of its turns is not stored.
  if v_weights[v_served] > p_limit and random() * v_weights[v_served] > p_limit then
    while (streams[v_served]).lane = last_lane loop
      v_served := v_served - 1;
    end loop;
    last_lane := last_lane - (last_lane > jobforge.first_lane())::integer;
  end if;
  streams := streams[v_served + 1:] || streams[:v_served];
end $$;
