-- Finds work: the best rank after p_above in which any of the types has ready jobs that may be claimed, and the lanes
-- that have them. Visits lanes in the order of the turns from p_from on, at most p_lanes of each type. Goes from lane
-- to lane through the index, so the cost depends on the number of lanes, not of rows. Returns the rank (null: no job is
-- ready); the streams in the order of their turns, those of one tenant side by side; and whether it visited all lanes.
-- Implements parts 1 and 2 of the claim order (see claim.sql). Locks nothing.
create or replace function jobforge.find_streams(
  p_types text[], p_tenant_id uuid, p_paused bigint[], p_above integer, p_from bigint, p_lanes integer,
  out rank integer, out streams jobforge.stream[], out complete boolean
)
language plpgsql stable
set enable_sort = off as $$
declare
  v_only bigint := jobforge.lane_of(p_tenant_id);
  v_ranks integer[] := '{}';
  v_types text[] := '{}';
  v_type text;
  v_rank integer;
  v_found record;
  v_cut numeric;
begin
  -- 1. The best rank, and the types that have it ----------------------------------------------------------------------
  foreach v_type in array p_types loop
    select j.rank into v_rank
    from jobforge.queue j
    where j.state = 'ready' and j.type = v_type and j.rank > p_above
    order by j.rank
    limit 1;
    v_ranks := v_ranks || v_rank;
    if v_rank < coalesce(rank, 2147483647) then
      rank := v_rank;
      v_types := array[v_type];
    elsif v_rank = rank then
      v_types := v_types || v_type;
    end if;
  end loop;

  -- 2. The lanes of each type -----------------------------------------------------------------------------------------
  loop
    streams := '{}';
    complete := true;
    foreach v_type in array v_types loop
      -- The same tenants may wait in every type, so each type may visit p_lanes. More than five types share the lanes
      -- of five.
      v_found := jobforge.find_lanes(v_type, rank, p_paused, p_from, v_only,
        least(p_lanes, ceil(5 * p_lanes::numeric / cardinality(v_types)))::integer);
      streams := streams || v_found.streams;
      if v_found.cut is not null then
        complete := false;
        v_cut := least(v_cut, v_found.cut);
      end if;
    end loop;
    exit when rank is null or cardinality(streams) > 0;
    -- All jobs of this rank are paused or another tenant's. These types continue with their next rank that is open.
    v_ranks := jobforge.next_open_ranks(p_types, v_ranks, rank, p_paused, p_tenant_id);
    select min(r) into rank from unnest(v_ranks) r;
    v_types := array(select t.type from unnest(p_types, v_ranks) t(type, rank) where t.rank = find_streams.rank);
  end loop;

  -- 3. The order of the turns -----------------------------------------------------------------------------------------
  -- The search of a type may stop before it has visited all lanes. Lanes beyond the first such place are left to the
  -- next search. Otherwise the lanes that this type did not visit would be passed over.
  if cardinality(v_types) > 1 then
    streams := array(
      select s
      from unnest(streams) s
      where v_cut is null or jobforge.lane_distance(p_from, s.lane) <= v_cut
      order by jobforge.lane_distance(p_from, s.lane), s.type);
  end if;
end $$;

-- Returns the lanes that have ready jobs of one type and rank, in the order of the turns from p_from on and without
-- paused lanes: up to p_most of them, or the lane p_only alone. Returns their streams, and the distance from p_from at
-- which it stopped (null: it visited all lanes).
create or replace function jobforge.find_lanes(
  p_type text, p_rank integer, p_paused bigint[], p_from bigint, p_only bigint, p_most integer,
  out streams jobforge.stream[], out cut numeric
)
language plpgsql stable
set enable_sort = off as $$
declare
  v_first bigint := coalesce(p_only, p_from);
  v_last bigint := coalesce(p_only, jobforge.last_lane());
begin
  streams := '{}';
  loop
    -- A loose index scan: each step finds the first job of the next lane.
    streams := streams || array(
      with recursive lanes as (
        (select j.lane, j.run_at, j.seq
        from jobforge.queue j
        where j.state = 'ready' and j.type = p_type and j.rank = p_rank and j.lane between v_first and v_last
        order by j.lane, j.run_at, j.seq
        limit 1)
        union all
        select x.lane, x.run_at, x.seq
        from lanes l
        cross join lateral (
          select j.lane, j.run_at, j.seq
          from jobforge.queue j
          where j.state = 'ready' and j.type = p_type and j.rank = p_rank and j.lane > l.lane and j.lane <= v_last
          order by j.lane, j.run_at, j.seq
          limit 1
        ) x
      )
      select row(p_type, p_rank, l.lane, l.run_at, l.seq)::jobforge.stream
      from lanes l
      where not l.lane = any (p_paused)
      limit p_most - cardinality(streams));
    if cardinality(streams) >= p_most and p_only is null then
      cut := jobforge.lane_distance(p_from, (streams[cardinality(streams)]).lane);
      return;
    end if;
    -- The second round goes from the first lane to the one before p_from.
    exit when p_only is not null or v_last < p_from or p_from = jobforge.first_lane();
    v_first := jobforge.first_lane();
    v_last := p_from - 1;
  end loop;
end $$;
