-- Locks jobs that may start: the oldest of every turn that has a share, up to that share. p_streams[i] starts a turn
-- when p_shares[i] is not null, and p_lasts[i] is then the turn's last stream. Returns, for each turn that has jobs,
-- its first stream, the places (ctid) of the jobs, the position of the last one in its stream, and whether any of them
-- may be large (see fit_bytes.sql). Skips jobs that another transaction has locked; never waits. This is part 3 of the
-- claim order (see claim.sql).
create or replace function jobforge.lock_jobs(
  p_streams jobforge.stream[], p_lasts integer[], p_shares integer[], p_tenant_id uuid, p_now timestamptz
) returns table (first integer, places tid[], last_at timestamptz, last_seq bigint, large boolean)
language plpgsql
set enable_sort = off as $$
declare
  -- Usually there are no cancel requests. Then no job is checked for one.
  v_cancels boolean := exists (select from jobforge.cancel_requests);
begin
  return query
  select s.first::integer, x.places, x.last_at, x.last_seq, x.large
  from unnest(p_streams, p_lasts, p_shares) with ordinality s(type, rank, lane, from_at, from_seq, last, share, first)
  cross join lateral (
    select array_agg(y.ctid) as places, (array_agg(y.run_at::timestamptz))[count(*)] as last_at,
      (array_agg(y.seq))[count(*)] as last_seq, bool_or(y.large) as large
    from (
      select j.ctid, j.run_at, j.seq, jobforge.may_be_large(j.payload, j.progress, j.tags, j.error) as large
      from jobforge.queue j
      where j.state = 'ready' and j.type = s.type and j.rank = s.rank and j.lane = s.lane
        and (j.run_at, j.seq) >= (s.from_at, s.from_seq)
        and jobforge.may_start(j, p_tenant_id, p_now)
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
    cross join lateral jobforge.lock_oldest(p_streams[s.first:s.last], p_tenant_id, s.share, v_cancels, p_now) x
    where s.share is not null and s.last > s.first and x.places is not null;
  end if;
end $$;

-- Locks the jobs of one turn that has several streams, because its tenant has jobs of several types: the oldest of all
-- these jobs. It reads candidates first, and then locks them in their order and no more than p_limit. If other
-- transactions hold too many of the candidates, it starts again with more.
create or replace function jobforge.lock_oldest(
  p_streams jobforge.stream[], p_tenant_id uuid, p_limit integer, p_cancels boolean, p_now timestamptz,
  out places tid[], out last_at timestamptz, out last_seq bigint, out large boolean
)
language plpgsql
set enable_sort = off as $$
declare
  v_width integer := p_limit;
  v_read integer;
begin
  loop
    with oldest as materialized (
      select x.ctid, x.run_at, x.seq
      from unnest(p_streams) s
      cross join lateral (
        select j.ctid, j.run_at, j.seq
        from jobforge.queue j
        where j.state = 'ready' and j.type = s.type and j.rank = s.rank and j.lane = s.lane
          and (j.run_at, j.seq) >= (s.from_at, s.from_seq)
          and jobforge.may_start(j, p_tenant_id, p_now)
          and (not p_cancels or not exists (select from jobforge.cancel_requests c where c.job_id = j.id))
        order by j.run_at, j.seq
        limit v_width
      ) x
      order by x.run_at, x.seq
      limit v_width
    )
    select array_agg(x.ctid), (array_agg(x.run_at))[count(*)], (array_agg(x.seq))[count(*)], bool_or(x.large),
      (select count(*) from oldest)
    into places, last_at, last_seq, large, v_read
    from (
      select l.ctid, o.run_at, o.seq, l.large
      from oldest o
      cross join lateral (
        select j.ctid, jobforge.may_be_large(j.payload, j.progress, j.tags, j.error) as large
        from jobforge.queue j
        where j.ctid = o.ctid and j.state = 'ready'
        for update skip locked
      ) l
      limit p_limit
    ) x;
    exit when cardinality(places) = p_limit or v_read < v_width;
    v_width := v_width * 4 + 64;
  end loop;
end $$;

-- Returns whether a ready job may start for a claim: it belongs to the tenant (null: any), and has not expired. One
-- expression, so that Postgres inlines it. For that reason it does not ask for cancel requests: a function with a
-- subquery is not inlined.
create or replace function jobforge.may_start(p_job jobforge.queue, p_tenant_id uuid, p_now timestamptz) returns boolean
language sql immutable as $$
  select (p_tenant_id is null or p_job.tenant_id = p_tenant_id)
    and (p_job.expires_at is null or p_job.expires_at > p_now)
$$;
