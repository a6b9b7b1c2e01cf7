-- Takes up to p_limit jobs from streams of one rank: every turn (a tenant: its streams, side by side) gives an equal share of
-- what is still wanted, the oldest it has in any type; what some do not have the others give. A tenant of weight three gives
-- three shares. Where there are limits, jobs that do not fit are passed over, and looked for further ahead. Marks the jobs
-- running under the worker. Answers where their rows now are, which holds until the transaction ends, and the streams from where
-- they go on, those that had their turn last; what limits left behind in them, the types that are full, and when to ask again;
-- and whether it gave up because it had passed over too many. Never waits.
create or replace function jobforge.take(
  p_worker_id text, p_streams jobforge.stream[], p_tenant_id uuid, p_limit integer, p_now timestamptz,
  p_rules jobforge.claim_rules,
  out claimed tid[], out streams jobforge.stream[], out last_lane bigint,
  out passed_over integer, out full_types text[], out again_at timestamptz, out gave_up boolean
)
language plpgsql as $$
declare
  v_limited boolean := coalesce(p_rules.limited, false);
  v_weights integer[];
  v_wanted integer := p_limit;
  v_admitted record;
  v_lasts integer[] := array_fill(null::integer, array[cardinality(p_streams)]);
  v_turns integer[] := '{}';
  v_first integer;
  v_shares integer[];
  v_asked integer;
  v_served integer := 0;
  v_rest integer := p_limit;
  v_full integer[];
  v_pick record;
  v_picked tid[] := '{}';
begin
  -- Where turns begin, and for each where its last stream is.
  for i in 1 .. cardinality(p_streams) loop
    if v_first is null or (p_streams[i]).lane <> (p_streams[v_first]).lane then
      v_first := i;
      v_turns := v_turns || i;
    end if;
    v_lasts[v_first] := i;
  end loop;
  if p_rules.weighted then
    v_weights := jobforge.weights_of(p_streams);
    v_turns := jobforge.weighted_turns(v_turns, v_weights);
  end if;
  streams := p_streams;
  claimed := '{}';
  passed_over := 0;
  full_types := '{}';
  gave_up := false;
  while v_rest > 0 and cardinality(v_turns) > 0 loop
    v_asked := least(cardinality(v_turns), v_wanted);
    v_shares := array_fill(null::integer, array[cardinality(streams)]);
    for k in 1 .. v_asked loop
      v_shares[v_turns[k]] := coalesce(v_shares[v_turns[k]], 0) + v_wanted / v_asked + (k <= v_wanted % v_asked)::integer;
    end loop;
    v_full := '{}';
    for v_pick in select * from jobforge.pick(streams, v_lasts, v_shares, p_tenant_id, p_now) loop
      v_picked := v_picked || v_pick.places;
      for i in v_pick.first .. v_lasts[v_pick.first] loop
        if (v_pick.last_at, v_pick.last_seq) >= ((streams[i]).from_at, (streams[i]).from_seq) then
          streams[i].from_at := v_pick.last_at;
          streams[i].from_seq := v_pick.last_seq + 1;
        end if;
      end loop;
      if cardinality(v_pick.places) = v_shares[v_pick.first] then
        v_full := v_full || v_pick.first;
      end if;
    end loop;
    v_served := greatest(v_served, v_lasts[v_turns[v_asked]]);
    -- Whoever has not been asked comes before those who have given.
    v_turns := v_turns[v_asked + 1:] || jobforge.weighted_turns(v_full, v_weights);
    if not v_limited then
      v_rest := p_limit - cardinality(v_picked);
      v_wanted := v_rest;
      continue;
    end if;
    v_admitted := jobforge.admit(v_picked, v_rest, p_now);
    v_picked := '{}';
    -- At once, so that the next round counts them.
    claimed := claimed || jobforge.start_runs(v_admitted.places, p_worker_id, p_now, p_rules.counted);
    v_rest := p_limit - cardinality(claimed);
    again_at := least(again_at, v_admitted.again_at);
    passed_over := passed_over + v_admitted.passed_over;
    full_types := full_types || v_admitted.full_types;
    if cardinality(v_admitted.full_types) > 0 then
      for i in 1 .. cardinality(streams) loop
        if (streams[i]).type = any (full_types) then
          streams[i].from_at := 'infinity';
        end if;
      end loop;
    end if;
    -- Many that do not fit are got out of the way in a few large steps.
    v_wanted := case when v_admitted.passed_over > 0 then least(greatest(v_wanted * 4, v_rest), 500) else v_rest end;
    gave_up := passed_over >= 2000 and v_rest > 0;
    exit when gave_up;
  end loop;
  if not v_limited then
    claimed := jobforge.start_runs(v_picked, p_worker_id, p_now, false);
  end if;
  last_lane := (streams[v_served]).lane;
  -- A claim of fewer jobs than the last tenant weighs stays with it as often as makes up its turns on average: nothing remembers
  -- how many it has had.
  if v_weights[v_served] > p_limit and random() * v_weights[v_served] > p_limit then
    while (streams[v_served]).lane = last_lane loop
      v_served := v_served - 1;
    end loop;
    last_lane := last_lane - (last_lane > -9223372036854775808)::integer;
  end if;
  streams := streams[v_served + 1:] || streams[:v_served];
end $$;
