-- How far a lane is from another, going up and wrapping once; ordered as its turn is.
create or replace function jobforge.distance(p_from bigint, p_lane bigint) returns numeric
language sql immutable as $$
  select p_lane::numeric - p_from + case when p_lane < p_from then 18446744073709551616 else 0 end
$$;

-- Whose turn it is when a claim comes without a hint: the streams of all waiting tenants in the order of their lanes, moved on
-- by as many as earlier claims have served. A tenant of weight three has three places.
create or replace function jobforge.in_turn(p_streams jobforge.stream[], p_limit integer, p_weighted boolean) returns jobforge.stream[]
language plpgsql as $$
declare
  v_lanes integer := (select count(distinct s.lane) from unnest(p_streams) s);
  v_served bigint;
begin
  if p_weighted then
    return jobforge.in_weighted_turn(p_streams, p_limit);
  elsif v_lanes <= p_limit then
    return p_streams;
  end if;
  v_served := nextval('jobforge.turns') * p_limit % v_lanes;
  return array(
    select row(s.type, s.rank, s.lane, s.from_at, s.from_seq)::jobforge.stream
    from (select s.*, dense_rank() over (order by s.lane) as place from unnest(p_streams) s) s
    order by s.place <= v_served, s.place, s.type);
end $$;

-- The same where tenants weigh differently.
create or replace function jobforge.in_weighted_turn(p_streams jobforge.stream[], p_limit integer) returns jobforge.stream[]
language plpgsql as $$
declare
  v_weights integer[] := jobforge.weights_of(p_streams);
  v_places integer := (
    select sum(l.weight)
    from (
      select distinct s.lane, s.weight
      from unnest(p_streams, v_weights) s(type, rank, lane, from_at, from_seq, weight)
    ) l);
  v_served bigint;
begin
  if v_places <= p_limit then
    return p_streams;
  end if;
  v_served := nextval('jobforge.turns') * p_limit % v_places;
  return array(
    select row(s.type, s.rank, s.lane, s.from_at, s.from_seq)::jobforge.stream
    from (
      -- A lane's last place: every lane counts once, with its first stream.
      select s.*, sum(case when s.nth = 1 then s.weight end) over (order by s.lane) as last
      from (
        select s.*, row_number() over (partition by s.lane order by s.type) as nth
        from unnest(p_streams, v_weights) s(type, rank, lane, from_at, from_seq, weight)
      ) s
    ) s
    order by s.last <= v_served, s.last, s.type);
end $$;
