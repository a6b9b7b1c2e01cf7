-- Returns the order of the turns for a claim without a hint: all waiting tenants' streams in the order of their lanes,
-- starting after as many lanes as earlier claims have served. The sequence jobforge.turns counts those claims. Part 2
-- of the claim order (see claim.sql).
create or replace function jobforge.order_by_turn(p_streams jobforge.stream[], p_limit integer, p_weighted boolean)
returns jobforge.stream[]
language plpgsql as $$
declare
  v_lanes integer := (select count(distinct s.lane) from unnest(p_streams) s);
  v_served bigint;
begin
  if p_weighted then
    return jobforge.order_by_weighted_turn(p_streams, p_limit);
  elsif v_lanes <= p_limit then
    return p_streams;
  end if;
  v_served := nextval('jobforge.turns') * p_limit % v_lanes;
  return array(
    select row(s.type, s.rank, s.lane, s.from_at, s.from_seq)::jobforge.stream
    from (select s.*, dense_rank() over (order by s.lane) as place from unnest(p_streams) s) s
    order by s.place <= v_served, s.place, s.type);
end $$;

-- The same where tenants have weights: a tenant of weight three has three places in the turns.
create or replace function jobforge.order_by_weighted_turn(p_streams jobforge.stream[], p_limit integer)
returns jobforge.stream[]
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
      -- The last place of each lane. A lane counts once, with its first stream.
      select s.*, sum(case when s.nth = 1 then s.weight end) over (order by s.lane) as last
      from (
        select s.*, row_number() over (partition by s.lane order by s.type) as nth
        from unnest(p_streams, v_weights) s(type, rank, lane, from_at, from_seq, weight)
      ) s
    ) s
    order by s.last <= v_served, s.last, s.type);
end $$;
