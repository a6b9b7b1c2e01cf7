-- Takes up to p_limit jobs from streams of one rank: every turn (a tenant: its streams, side by side) gives an equal share of
-- what is still wanted, the oldest it has in any type; what some do not have the others give. A tenant of weight three gives
-- three shares. Where there are limits, jobs that do not fit are passed over, and looked for further ahead. Marks the jobs
-- running under the worker. Answers where their rows now are, which holds until the transaction ends, and the streams from where
-- they go on, those that had their turn last; what limits left behind in them, the types that are full, and when to ask again;
-- and whether it gave up because it had passed over too many. Never waits.
create or replace function jobforge.take(
  p_worker_id text, p_streams jobforge.stream[], p_tenant_id uuid, p_limit integer, p_now timestamptz,
  p_steering jobforge.steering,
  out claimed tid[], out streams jobforge.stream[], out last_lane bigint,
  out passed_over integer, out full_types text[], out again_at timestamptz, out gave_up boolean
)
language plpgsql as $$
declare
  v_limited boolean := coalesce(p_steering.limited, false);
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
  if p_steering.weighted then
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
    claimed := claimed || jobforge.start_runs(v_admitted.places, p_worker_id, p_now, p_steering.counted);
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

-- Locks jobs that may start: of every turn that has a share, up to so many, the oldest. Answers, for each that has any, where
-- its streams begin, where the jobs are, and the last one's place in the order. Passes over what others have locked.
create or replace function jobforge.pick(
  p_streams jobforge.stream[], p_lasts integer[], p_shares integer[], p_tenant_id uuid, p_now timestamptz
) returns table (first integer, places tid[], last_at timestamptz, last_seq bigint)
language plpgsql
set enable_sort = off as $$
declare
  v_cancels boolean := exists (select from jobforge.cancel_requests);
begin
  return query
  select s.first::integer, x.places, x.last_at, x.last_seq
  from unnest(p_streams, p_lasts, p_shares) with ordinality s(type, rank, lane, from_at, from_seq, last, share, first)
  cross join lateral (
    select array_agg(y.ctid) as places, (array_agg(y.run_at))[count(*)] as last_at, (array_agg(y.seq))[count(*)] as last_seq
    from (
      select j.ctid, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = s.type and j.rank = s.rank and j.lane = s.lane
        and (j.run_at, j.seq) >= (s.from_at, s.from_seq)
        and (p_tenant_id is null or j.tenant_id = p_tenant_id)
        and (j.expires_at is null or j.expires_at > p_now)
        and (not v_cancels or not exists (select from jobforge.cancel_requests c where c.job_id = j.id))
      order by j.run_at, j.seq
      limit s.share
      for update skip locked
    ) y
  ) x
  where s.share is not null and s.last = s.first and x.places is not null;

  if array_position(p_lasts, null) is not null then
    return query
    select s.first::integer, x.*
    from unnest(p_lasts, p_shares) with ordinality s(last, share, first)
    cross join lateral jobforge.pick_oldest(p_streams[s.first:s.last], p_tenant_id, s.share, v_cancels, p_now) x
    where s.share is not null and s.last > s.first and x.places is not null;
  end if;
end $$;

-- Locks the jobs of a turn with several streams: a tenant that waits in several types gives the oldest of them all. They are looked up first and locked then, in
-- their order and no more than wanted; where others hold too many of them, again with a wider look.
create or replace function jobforge.pick_oldest(
  p_streams jobforge.stream[], p_tenant_id uuid, p_limit integer, p_cancels boolean, p_now timestamptz,
  out places tid[], out last_at timestamptz, out last_seq bigint
)
language plpgsql
set enable_sort = off as $$
declare
  v_width integer := p_limit;
  v_seen integer;
begin
  loop
    with oldest as materialized (
      select x.ctid, x.run_at, x.seq
      from unnest(p_streams) s
      cross join lateral (
        select j.ctid, j.run_at, j.seq
        from jobforge.jobs j
        where j.state = 'ready' and j.type = s.type and j.rank = s.rank and j.lane = s.lane
          and (j.run_at, j.seq) >= (s.from_at, s.from_seq)
          and (p_tenant_id is null or j.tenant_id = p_tenant_id)
          and (j.expires_at is null or j.expires_at > p_now)
          and (not p_cancels or not exists (select from jobforge.cancel_requests c where c.job_id = j.id))
        order by j.run_at, j.seq
        limit v_width
      ) x
      order by x.run_at, x.seq
      limit v_width
    )
    select array_agg(x.ctid), (array_agg(x.run_at))[count(*)], (array_agg(x.seq))[count(*)], (select count(*) from oldest)
    into places, last_at, last_seq, v_seen
    from (
      select l.ctid, o.run_at, o.seq
      from oldest o
      cross join lateral (
        select j.ctid from jobforge.jobs j where j.ctid = o.ctid and j.state = 'ready' for update skip locked
      ) l
      limit p_limit
    ) x;
    exit when cardinality(places) = p_limit or v_seen < v_width;
    v_width := v_width * 4 + 64;
  end loop;
end $$;

-- Marks rows that this transaction has locked as running under the worker, and answers where they now are. Locked rows stay
-- where they are, so their place is as good as their id and costs no way through an index: there is no other way in here.
-- p_counted: there are limits, and the runs are to be found by what these count.
create or replace function jobforge.start_runs(
  p_picked tid[], p_worker_id text, p_now timestamptz, p_counted boolean
) returns tid[]
language plpgsql
set enable_indexscan = off
set enable_indexonlyscan = off as $$
declare
  v_started tid[];
begin
  with started as (
    update jobforge.jobs j
    set state = 'running',
      worker_id = p_worker_id,
      started_at = p_now,
      heartbeat_at = null,
      attempts = j.attempts + 1,
      updated_at = p_now,
      counted = p_counted
    where j.ctid = any (p_picked)
    returning j.ctid
  )
  select array_agg(s.ctid) into v_started from started s;
  return coalesce(v_started, '{}');
end $$;

-- What the tenant of each stream weighs.
create or replace function jobforge.weights_of(p_streams jobforge.stream[]) returns integer[]
language plpgsql stable as $$
begin
  return array(
    select coalesce((
      select t.weight from jobforge.tenants t where uuid_hash_extended(t.tenant_id, 0) = s.lane and t.weight > 1 limit 1), 1)
    from unnest(p_streams) with ordinality s(type, rank, lane, from_at, from_seq, ord)
    order by s.ord);
end $$;

-- The turns, each as often as its tenant weighs; as they are without weights.
create or replace function jobforge.weighted_turns(p_turns integer[], p_weights integer[]) returns integer[]
language plpgsql immutable as $$
begin
  if p_weights is null then
    return p_turns;
  end if;
  return array(
    select t.turn
    from unnest(p_turns) with ordinality t(turn, place)
    cross join lateral generate_series(1, p_weights[t.turn]) n
    order by t.place, n);
end $$;
