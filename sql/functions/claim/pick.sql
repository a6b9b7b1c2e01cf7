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
    select array_agg(y.ctid) as places, (array_agg(y.run_at::timestamptz))[count(*)] as last_at, (array_agg(y.seq))[count(*)] as last_seq
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
