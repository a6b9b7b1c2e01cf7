-- Looks for work: the best rank above p_above that is ready in any of the types, and the lanes waiting there, from p_from
-- on, wrapping once, at most p_lanes of them. Hops from lane to lane, so it touches lanes, not rows. Answers the
-- rank (null: nothing is ready), the streams in the order of their turns, a tenant's side by side, and whether they are
-- all there are.
create or replace function jobforge.look(
  p_types text[], p_tenant_id uuid, p_closed bigint[], p_above integer, p_from bigint, p_lanes integer,
  out rank integer, out streams jobforge.stream[], out complete boolean
)
language plpgsql stable
set enable_sort = off as $$
declare
  v_types text[] := '{}';
  v_type text;
  v_rank integer;
  v_hops record;
  v_cut numeric;
begin
  foreach v_type in array p_types loop
    select j.rank into v_rank
    from jobforge.jobs j
    where j.state = 'ready' and j.type = v_type and j.rank > p_above
    order by j.rank
    limit 1;
    if v_rank < coalesce(rank, 2147483647) then
      rank := v_rank;
      v_types := array[v_type];
    elsif v_rank = rank then
      v_types := v_types || v_type;
    end if;
  end loop;
  streams := '{}';
  complete := true;
  foreach v_type in array v_types loop
    -- Types have the same tenants waiting, so each is looked through as far; more than five share the hops of five.
    v_hops := jobforge.hop(v_type, rank, p_closed, p_from, uuid_hash_extended(p_tenant_id, 0),
      least(p_lanes, ceil(5 * p_lanes::numeric / cardinality(v_types)))::integer);
    streams := streams || v_hops.streams;
    if v_hops.cut is not null then
      complete := false;
      v_cut := least(v_cut, v_hops.cut);
    end if;
  end loop;
  -- What lies beyond the place where the first type was cut off is for the next look, or that type's lanes would be
  -- passed over.
  if cardinality(v_types) > 1 then
    streams := array(
      select s
      from unnest(streams) s
      where v_cut is null or jobforge.distance(p_from, s.lane) <= v_cut
      order by jobforge.distance(p_from, s.lane), s.type);
  end if;
end $$;

-- The lanes of one type and rank, from p_from on, wrapping once, without the closed ones: up to p_most of them, or the lane
-- p_only. Answers their streams, and how far it has come (null: round).
create or replace function jobforge.hop(
  p_type text, p_rank integer, p_closed bigint[], p_from bigint, p_only bigint, p_most integer,
  out streams jobforge.stream[], out cut numeric
)
language plpgsql stable
set enable_sort = off as $$
declare
  v_first bigint := coalesce(p_only, p_from);
  v_last bigint := coalesce(p_only, 9223372036854775807);
begin
  streams := '{}';
  loop
    streams := streams || array(
      with recursive hops as (
        (select j.lane, j.run_at, j.seq
        from jobforge.jobs j
        where j.state = 'ready' and j.type = p_type and j.rank = p_rank and j.lane between v_first and v_last
        order by j.lane, j.run_at, j.seq
        limit 1)
        union all
        select x.lane, x.run_at, x.seq
        from hops h
        cross join lateral (
          select j.lane, j.run_at, j.seq
          from jobforge.jobs j
          where j.state = 'ready' and j.type = p_type and j.rank = p_rank and j.lane > h.lane and j.lane <= v_last
          order by j.lane, j.run_at, j.seq
          limit 1
        ) x
      )
      select row(p_type, p_rank, h.lane, h.run_at, h.seq)::jobforge.stream
      from hops h
      where not h.lane = any (p_closed)
      limit p_most - cardinality(streams));
    if cardinality(streams) >= p_most and p_only is null then
      cut := jobforge.distance(p_from, (streams[cardinality(streams)]).lane);
      return;
    end if;
    -- Then from the first lane of all to the one before the start.
    exit when p_only is not null or v_last < p_from or p_from = -9223372036854775808;
    v_first := -9223372036854775808;
    v_last := p_from - 1;
  end loop;
end $$;
