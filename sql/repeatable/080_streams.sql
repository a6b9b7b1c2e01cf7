-- Moves due jobs of the types from waiting to ready, the oldest of each type first, up to p_limit of each. p_floor: a time
-- before which the last look found nothing but dead entries. Never waits.
create or replace function jobforge.promote(p_types text[], p_now timestamptz, p_limit integer, p_floor timestamptz default '-infinity')
returns integer
language plpgsql as $$
declare
  v_count integer;
begin
  with due as materialized (
    select x.id
    from unnest(p_types) t(type)
    cross join lateral (
      select j.id
      from jobforge.jobs j
      where j.state = 'waiting' and j.type = t.type and j.run_at <= p_now and j.run_at >= p_floor
      order by j.run_at
      limit p_limit
      for update skip locked
    ) x
  )
  update jobforge.jobs j
  set state = 'ready'
  from due d
  where j.id = d.id;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- When the next waiting job of the types becomes due; null when none waits.
create or replace function jobforge.next_due(p_types text[], p_floor timestamptz default '-infinity') returns timestamptz
language plpgsql stable as $$
begin
  return (
    select min(x.run_at)
    from unnest(p_types) t(type)
    cross join lateral (
      select j.run_at
      from jobforge.jobs j
      where j.state = 'waiting' and j.type = t.type and j.run_at >= p_floor
      order by j.run_at
      limit 1
    ) x);
end $$;

-- The tenants' lanes that a gate closes now.
create or replace function jobforge.closed_lanes(p_now timestamptz) returns bigint[]
language plpgsql stable as $$
begin
  return (
    select array(
      select uuid_hash_extended(g.key::uuid, 0)
      from jobforge.gates g
      where g.scope = 'tenant' and (g.until is null or g.until > p_now)));
end $$;

-- Whether a gate of this scope and key is closed now.
create or replace function jobforge.is_paused(p_scope text, p_key text, p_now timestamptz) returns boolean
language plpgsql stable as $$
begin
  return (
    select exists (
      select from jobforge.gates g
      where g.scope = p_scope and g.key = p_key and (g.until is null or g.until > p_now)));
end $$;

-- The types to claim from: those asked for, else every type with a queued job, found by hopping through the indexes;
-- without those that a gate closes, which is none at all when everything is paused.
create or replace function jobforge.open_types(p_types text[], p_now timestamptz) returns text[]
language plpgsql stable as $$
begin
  if jobforge.is_paused('all', '', p_now) then
    return '{}';
  end if;
  return array(
    select distinct t.type
    from unnest(coalesce(p_types, jobforge.types_in('ready') || jobforge.types_in('waiting'))) t(type)
    where t.type is not null and not jobforge.is_paused('type', t.type, p_now));
end $$;

-- The types that have jobs in a queued state.
create or replace function jobforge.types_in(p_state text) returns text[]
language plpgsql stable as $$
declare
  v_types text[] := '{}';
  v_type text := '';
begin
  loop
    -- The state is written out so that each branch has its own partial index.
    if p_state = 'ready' then
      select j.type into v_type from jobforge.jobs j where j.state = 'ready' and j.type > v_type order by j.type limit 1;
    else
      select j.type into v_type from jobforge.jobs j where j.state = 'waiting' and j.type > v_type order by j.type limit 1;
    end if;
    exit when not found;
    v_types := v_types || v_type;
  end loop;
  return v_types;
end $$;

-- Looks for work: the best rank above p_above that is ready in any of the types, and the lanes waiting there, from p_from
-- on, wrapping once, at most p_lanes of them. Hops from lane to lane, so it touches lanes, not rows. Answers the
-- rank (null: nothing is ready), the streams in the order of their turns, and whether they are all there are.
create or replace function jobforge.look(
  p_types text[], p_tenant_id uuid, p_closed bigint[], p_above integer, p_from bigint, p_lanes integer,
  out rank integer, out streams jobforge.stream[], out complete boolean
)
language plpgsql stable as $$
declare
  v_types text[];
  v_hops integer;
  v_only bigint := uuid_hash_extended(p_tenant_id, 0);
begin
  -- One probe per type finds its best rank; the types that have the best of all take part.
  select b.rank, array_agg(b.type)
  into look.rank, v_types
  from (
    select t.type, x.rank
    from unnest(p_types) t(type)
    cross join lateral (
      select j.rank
      from jobforge.jobs j
      where j.state = 'ready' and j.type = t.type and j.rank > p_above
      order by j.rank
      limit 1
    ) x
  ) b
  group by b.rank
  order by b.rank
  limit 1;
  if look.rank is null then
    return;
  end if;
  -- Types have the same tenants waiting, so each is looked through as far; more than five share the hops of five.
  v_hops := least(p_lanes, ceil(5 * p_lanes::numeric / cardinality(v_types)));

  with recursive after as (
    select t.type, x.lane, x.run_at, x.seq, (not x.lane = any (p_closed))::int as visited, false as wrapped
    from unnest(v_types) t(type)
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = t.type and j.rank = look.rank and j.lane >= coalesce(v_only, p_from)
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    union all
    select a.type, x.lane, x.run_at, x.seq, a.visited + (not x.lane = any (p_closed))::int, false
    from after a
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = a.type and j.rank = look.rank and j.lane > a.lane
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    where a.visited < v_hops and v_only is null
  ), before as (
    -- The lanes before the start, for the types whose lanes after it were too few.
    select t.type, x.lane, x.run_at, x.seq, t.visited + (not x.lane = any (p_closed))::int as visited, true as wrapped
    from (
      select t.type, coalesce(max(a.visited), 0) as visited
      from unnest(v_types) t(type)
      left join after a on a.type = t.type
      group by t.type
    ) t
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = t.type and j.rank = look.rank and j.lane < p_from
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    where t.visited < v_hops and v_only is null
    union all
    select b.type, x.lane, x.run_at, x.seq, b.visited + (not x.lane = any (p_closed))::int, true
    from before b
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = b.type and j.rank = look.rank and j.lane > b.lane and j.lane < p_from
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    where b.visited < v_hops
  ), found as materialized (
    select * from after union all select * from before
  ), cut as (
    -- Where the first type was cut off that has more lanes than were visited. What lies beyond is for the next look, or
    -- that type's lanes would be passed over.
    select f.wrapped, f.lane
    from (
      select distinct on (f.type) f.type, f.wrapped, f.lane, f.visited
      from found f
      order by f.type, f.wrapped desc, f.lane desc
    ) f
    where f.visited >= v_hops
    order by f.wrapped, f.lane
    limit 1
  )
  select
    array_agg(row(f.type, look.rank, f.lane, f.run_at, f.seq)::jobforge.stream order by f.wrapped, f.lane, f.type)
      filter (where not f.lane = any (p_closed) and (v_only is null or f.lane = v_only)),
    not exists (select from cut)
  into streams, complete
  from found f
  where not exists (select from cut c where (f.wrapped, f.lane) > (c.wrapped, c.lane));
end $$;

-- Takes up to p_limit jobs from streams: every turn (a tenant: its lane over all types) gives an equal share, the first ones in
-- the order of the streams what is left over; where a tenant waits in several types its share is the oldest of
-- them all. With p_fill every stream gives what it has, until there are enough: for what locks, expired and canceled jobs
-- left short. Marks the jobs running under the worker. Answers where their rows now are, which holds until the transaction
-- ends, and the streams from where they go on, those that had their turn last. Never waits.
create or replace function jobforge.take(
  p_worker_id text, p_streams jobforge.stream[], p_tenant_id uuid, p_limit integer, p_fill boolean, p_now timestamptz,
  out claimed tid[], out streams jobforge.stream[], out last_lane bigint
)
language plpgsql as $$
declare
  v_picked tid[];
  v_served bigint[];
begin
  with turns as materialized (
    select s.lane, count(*) as types, min(s.turn) as turn
    from unnest(p_streams) with ordinality s(type, rank, lane, from_at, from_seq, turn)
    group by s.lane
    order by turn
    limit p_limit
  ), shares as materialized (
    select t.lane, t.types, t.turn, (p_limit / n.lanes + (row_number() over (order by t.turn) <= p_limit % n.lanes)::int)::integer as share
    from turns t
    cross join (select count(*) as lanes from turns) n
  ), takes as materialized (
    select s.turn, s.type, s.rank, s.lane, s.from_at, s.from_seq, p_limit as share
    from unnest(p_streams) with ordinality s(type, rank, lane, from_at, from_seq, turn)
    where p_fill
    union all
    select h.turn, s.type, s.rank, s.lane, s.from_at, s.from_seq, h.share
    from shares h
    join unnest(p_streams) s on s.lane = h.lane
    where h.types = 1 and not p_fill
    union all
    select h.turn, m.*
    from shares h
    cross join lateral (
      select o.type, o.rank, o.lane, o.from_at, o.from_seq, count(*)::integer as share
      from (
        select s.*
        from unnest(p_streams) s
        cross join lateral (
          select j.run_at, j.seq
          from jobforge.jobs j
          where j.state = 'ready' and j.type = s.type and j.rank = s.rank and j.lane = s.lane
            and (j.run_at, j.seq) >= (s.from_at, s.from_seq)
          order by j.run_at, j.seq
          limit h.share
        ) x
        where s.lane = h.lane
        order by x.run_at, x.seq
        limit h.share
      ) o
      group by o.type, o.rank, o.lane, o.from_at, o.from_seq
    ) m
    where h.types > 1 and not p_fill
  ), picked as materialized (
    select x.ctid
    from (select * from takes order by turn) k
    cross join lateral (
      select j.ctid
      from jobforge.jobs j
      where j.state = 'ready' and j.type = k.type and j.rank = k.rank and j.lane = k.lane
        and (j.run_at, j.seq) >= (k.from_at, k.from_seq)
        and (p_tenant_id is null or j.tenant_id = p_tenant_id)
        and (j.expires_at is null or j.expires_at > p_now)
        -- Asked once whether there are any requests at all: mostly there are none.
        and case when (select exists (select from jobforge.cancel_requests))
          then not exists (select from jobforge.cancel_requests c where c.job_id = j.id) else true end
      order by j.run_at, j.seq
      limit k.share
      for update skip locked
    ) x
    limit p_limit
  )
  select
    array(select p.ctid from picked p),
    (select t.lane from turns t order by t.turn desc limit 1),
    array(select t.lane from turns t)
  into v_picked, last_lane, v_served;

  with started as materialized (
    select * from jobforge.start_runs(v_picked, p_worker_id, p_now)
  ), ends as materialized (
    select distinct on (c.lane, c.type) c.type, c.lane, c.run_at, c.seq
    from started c
    order by c.lane, c.type, c.run_at desc, c.seq desc
  )
  select
    array(select c.place from started c),
    array(
      select row(s.type, s.rank, s.lane, coalesce(e.run_at, s.from_at), coalesce(e.seq + 1, s.from_seq))::jobforge.stream
      from unnest(p_streams) with ordinality s(type, rank, lane, from_at, from_seq, turn)
      left join ends e on e.type = s.type and e.lane = s.lane
      order by s.lane = any (v_served), s.turn)
  into claimed, streams;
end $$;

-- Marks rows that this transaction has locked as running under the worker, and answers where they now are. Locked rows stay
-- where they are, so their place is as good as their id and costs no way through an index: there is no other way in here.
create or replace function jobforge.start_runs(p_picked tid[], p_worker_id text, p_now timestamptz)
returns table (place tid, type text, lane bigint, run_at timestamptz, seq bigint)
language plpgsql
set enable_indexscan = off
set enable_indexonlyscan = off as $$
begin
  return query
  update jobforge.jobs j
  set state = 'running',
    worker_id = p_worker_id,
    started_at = p_now,
    heartbeat_at = null,
    attempts = j.attempts + 1,
    updated_at = p_now
  where j.ctid = any (p_picked)
  returning j.ctid, j.type, j.lane, j.run_at, j.seq;
end $$;

-- Whose turn it is when a claim comes without a hint: the streams of all waiting tenants in the order of their lanes, moved on
-- by as many as earlier claims have served.
create or replace function jobforge.in_turn(p_streams jobforge.stream[], p_limit integer) returns jobforge.stream[]
language plpgsql as $$
declare
  v_lanes integer := (select count(distinct s.lane) from unnest(p_streams) s);
  v_served bigint;
begin
  if v_lanes <= p_limit then
    return p_streams;
  end if;
  v_served := nextval('jobforge.turns') * p_limit % v_lanes;
  return array(
    select row(s.type, s.rank, s.lane, s.from_at, s.from_seq)::jobforge.stream
    from (select s.*, dense_rank() over (order by s.lane) as place from unnest(p_streams) s) s
    order by s.place <= v_served, s.place, s.type);
end $$;
