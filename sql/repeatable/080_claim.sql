-- Moves due jobs from waiting to ready, oldest first. Never waits.
create or replace function jobforge.promote(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_count integer;
begin
  with due as materialized (
    select j.id
    from jobforge.jobs j
    where j.state = 'waiting' and j.run_at <= p_now
    order by j.run_at
    limit p_limit
    for update skip locked
  )
  update jobforge.jobs j
  set state = 'ready'
  from due d
  where j.id = d.id;
  get diagnostics v_count = row_count;
  return v_count;
end $$;

-- Gives the jobs of workers that fell silent back to the queue (or ends them). A lease is lost when
--   the worker heartbeats as a worker and was silent for 60 s, or it never has and the job saw no sign of life for 5 min
--   (lease_ms of the type's policy replaces both), or
--   the type's timeout passed by more than 60 s although the worker lives: a wedged handler.
-- Looks at each worker that holds jobs once, bounded by p_limit jobs. Never waits.
create or replace function jobforge.reclaim(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_worker text := '';
  v_lost jobforge.run_end[];
  v_count integer := 0;
begin
  loop
    select j.worker_id into v_worker
    from jobforge.jobs j
    where j.state = 'running' and j.worker_id > v_worker
    order by j.worker_id
    limit 1;
    exit when not found or v_count >= p_limit;

    with silent as materialized (
      select j.id, j.attempts, coalesce(w.seen_at, j.heartbeat_at, j.started_at) as seen_at
      from jobforge.jobs j
      left join jobforge.workers w on w.id = j.worker_id
      cross join lateral jobforge.policy_of(j.type) p
      where j.state = 'running'
        and j.worker_id = v_worker
        and (
          greatest(j.started_at, j.heartbeat_at, w.seen_at)
            + coalesce(p.lease_ms * interval '1 millisecond', case when w.id is null then interval '5 minutes' else interval '1 minute' end)
            < p_now
          or j.started_at + p.timeout_ms * interval '1 millisecond' + interval '1 minute' < p_now)
      order by j.id
      limit p_limit - v_count
      for update of j skip locked
    )
    select array_agg(row(
        row_number, s.id, s.attempts, 'lost',
        jsonb_build_object('name', 'LeaseLost', 'message', format('Worker %s held the job and gave no sign of life', v_worker)),
        null, null, null, null, null, null)::jobforge.run_end)
    into v_lost
    from (select row_number() over (order by s.id)::integer, s.* from silent s) s;

    if v_lost is not null then
      perform jobforge.end_runs(v_worker, null, v_lost, p_now);
      v_count := v_count + cardinality(v_lost);
    end if;
  end loop;
  return v_count;
end $$;

-- Ends queued jobs whose expires_at has passed. Never waits.
create or replace function jobforge.expire(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_ids uuid[];
begin
  v_ids := array(
    select j.id
    from jobforge.jobs j
    where j.expires_at <= p_now and j.expires_at is not null and j.state <> 'running'
    order by j.expires_at
    limit p_limit
    for update skip locked);
  if cardinality(v_ids) = 0 then
    return 0;
  end if;
  return jobforge.end_queued(v_ids, 'expired', p_now);
end $$;

-- Settles the requests to cancel that no run's end answered, because it came between the look and the request: a job
-- that is queued again is canceled, a job that has ended needs nothing. Never waits.
create or replace function jobforge.answer_cancels(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_ids uuid[];
begin
  if not exists (select from jobforge.cancel_requests) then
    return 0;
  end if;
  v_ids := array(
    select j.id
    from jobforge.cancel_requests c
    join jobforge.jobs j on j.id = c.job_id
    where j.state <> 'running'
    order by j.id
    limit p_limit
    for update of j skip locked);
  delete from jobforge.cancel_requests c
  where c.job_id in (
    select r.job_id
    from jobforge.cancel_requests r
    where not exists (select from jobforge.jobs j where j.id = r.job_id)
    limit p_limit
    for update skip locked);
  return jobforge.end_queued(v_ids, 'canceled', p_now);
end $$;

-- Whether it is time for a task of maintenance, and nobody else is at it. The caller's transaction holds the task then.
create or replace function jobforge.begin_task(p_task text, p_now timestamptz, p_every interval) returns boolean
language plpgsql as $$
begin
  -- A plain read first: most calls come too early, and must not write.
  if not exists (
    select from jobforge.maintenance m
    where m.task = p_task and (p_now >= m.ran_at + p_every or p_now < m.ran_at - p_every)
  ) then
    return false;
  end if;
  perform from jobforge.maintenance m where m.task = p_task for update skip locked;
  if not found then
    return false;
  end if;
  update jobforge.maintenance set ran_at = p_now where task = p_task;
  return true;
end $$;

-- The tenants' lanes that a gate closes now.
create or replace function jobforge.closed_lanes(p_now timestamptz) returns bigint[]
language sql stable as $$
  select array(
    select uuid_hash_extended(g.key::uuid, 0)
    from jobforge.gates g
    where g.scope = 'tenant' and (g.until is null or g.until > p_now))
$$;

-- Whether a gate of this scope and key is closed now.
create or replace function jobforge.is_paused(p_scope text, p_key text, p_now timestamptz) returns boolean
language sql stable as $$
  select exists (
    select from jobforge.gates g
    where g.scope = p_scope and g.key = p_key and (g.until is null or g.until > p_now))
$$;

-- The types to claim from: those asked for, else every type with a ready job, found by hopping through the index; without
-- those that a gate closes.
create or replace function jobforge.open_types(p_types text[], p_now timestamptz) returns text[]
language plpgsql stable as $$
begin
  if p_types is null then
    with recursive hop as (
      (select j.type from jobforge.jobs j where j.state = 'ready' order by j.type limit 1)
      union all
      select (select j.type from jobforge.jobs j where j.state = 'ready' and j.type > h.type order by j.type limit 1)
      from hop h
      where h.type is not null
    )
    select array_agg(h.type) into p_types from hop h where h.type is not null;
  end if;
  return array(
    select distinct t.type
    from unnest(p_types) t(type)
    where t.type is not null and not jobforge.is_paused('type', t.type, p_now));
end $$;

-- One round of claiming: finds the best rank above p_above that is ready in any of the types, visits lanes of that rank in
-- turn from p_from on, wrapping once, and takes up to p_limit jobs from them, an equal share of each, oldest head first.
-- Answers the rank (null when nothing is ready) and the jobs taken. Visits at most max(p_limit, 64) lanes, hops over the
-- rest of each lane, and never waits for a lock.
create or replace function jobforge.claim_round(
  p_worker_id text, p_types text[], p_tenant_id uuid, p_closed bigint[], p_above integer, p_from bigint, p_limit integer,
  p_now timestamptz, out rank integer, out job_ids uuid[]
)
language plpgsql as $$
declare
  v_types text[];
  v_hops integer;
  v_only bigint := uuid_hash_extended(p_tenant_id, 0);
begin
  -- One probe per type finds its best rank; the types that have the best of all take part.
  with best as materialized (
    select t.type, x.rank
    from unnest(p_types) t(type)
    cross join lateral (
      select j.rank
      from jobforge.jobs j
      where j.state = 'ready' and j.type = t.type and j.rank > p_above
      order by j.rank
      limit 1
    ) x
  )
  select b.rank, array_agg(b.type)
  into claim_round.rank, v_types
  from best b
  group by b.rank
  order by b.rank
  limit 1;
  job_ids := '{}';
  if claim_round.rank is null then
    return;
  end if;
  v_hops := greatest(1, ceil(greatest(p_limit, 64)::numeric / cardinality(v_types)));

  with recursive after as (
    select t.type, x.lane, x.run_at, x.seq, (not x.lane = any (p_closed))::int as visited
    from unnest(v_types) t(type)
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = t.type and j.rank = claim_round.rank and j.lane >= coalesce(v_only, p_from)
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    union all
    select a.type, x.lane, x.run_at, x.seq, a.visited + (not x.lane = any (p_closed))::int
    from after a
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = a.type and j.rank = claim_round.rank and j.lane > a.lane
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    where a.visited < v_hops and v_only is null
  ), wrapped as (
    -- The lanes before the start, for the types whose lanes after it were too few.
    select t.type, x.lane, x.run_at, x.seq, t.visited + (not x.lane = any (p_closed))::int as visited
    from (
      select t.type, coalesce(max(a.visited), 0) as visited
      from unnest(v_types) t(type)
      left join after a on a.type = t.type
      group by t.type
    ) t
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = t.type and j.rank = claim_round.rank and j.lane < p_from
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    where t.visited < v_hops and v_only is null
    union all
    select w.type, x.lane, x.run_at, x.seq, w.visited + (not x.lane = any (p_closed))::int
    from wrapped w
    cross join lateral (
      select j.lane, j.run_at, j.seq
      from jobforge.jobs j
      where j.state = 'ready' and j.type = w.type and j.rank = claim_round.rank and j.lane > w.lane and j.lane < p_from
      order by j.lane, j.run_at, j.seq
      limit 1
    ) x
    where w.visited < v_hops
  ), streams as materialized (
    select s.type, s.lane, s.run_at, s.seq
    from (select * from after union all select * from wrapped) s
    where not s.lane = any (p_closed) and (v_only is null or s.lane = v_only)
  ), turns as materialized (
    -- A turn is a tenant's: its lane over all types. Turns past the limit would get nothing.
    select s.lane, array_agg(s.type) as types,
      min(s.run_at) as head_at, (array_agg(s.seq order by s.run_at, s.seq))[1] as head_seq
    from streams s
    group by s.lane
    order by head_at, head_seq
    limit p_limit
  ), shares as materialized (
    select t.lane, t.types, ceil(p_limit::numeric / count(*) over ())::integer as share,
      row_number() over (order by t.head_at, t.head_seq) as turn
    from turns t
  ), takes as materialized (
    -- Where a tenant waits in several types its share is the oldest of them all.
    select s.turn, s.lane, s.types[1] as type, s.share
    from shares s
    where cardinality(s.types) = 1
    union all
    select s.turn, s.lane, m.type, m.share
    from shares s
    cross join lateral (
      select o.type, count(*)::integer as share
      from (
        select t.type
        from unnest(s.types) t(type)
        cross join lateral (
          select j.run_at, j.seq
          from jobforge.jobs j
          where j.state = 'ready' and j.type = t.type and j.rank = claim_round.rank and j.lane = s.lane
          order by j.run_at, j.seq
          limit s.share
        ) x
        order by x.run_at, x.seq
        limit s.share
      ) o
      group by o.type
    ) m
    where cardinality(s.types) > 1
  ), picked as materialized (
    select x.id
    from (select * from takes order by turn) k
    cross join lateral (
      select j.id
      from jobforge.jobs j
      where j.state = 'ready' and j.type = k.type and j.rank = claim_round.rank and j.lane = k.lane
        and (p_tenant_id is null or j.tenant_id = p_tenant_id)
        and (j.expires_at is null or j.expires_at > p_now)
        and not exists (select from jobforge.cancel_requests c where c.job_id = j.id)
      order by j.run_at, j.seq
      limit k.share
      for update skip locked
    ) x
    limit p_limit
  ), claimed as (
    update jobforge.jobs j
    set state = 'running',
      worker_id = p_worker_id,
      started_at = p_now,
      heartbeat_at = null,
      attempts = j.attempts + 1,
      updated_at = p_now
    from picked p
    where j.id = p.id
    returning j.id
  )
  select array_agg(c.id) into job_ids from claimed c;
  job_ids := coalesce(job_ids, '{}');
end $$;

-- Claims up to p_limit jobs for a worker and answers their ids. Strict priority; within a rank tenants take turns.
-- Promotes what has become due first; a claim that would come back short looks after lost leases and expired jobs and
-- tries again, so any worker keeps the system alive. Never waits for a lock.
create or replace function jobforge.claim(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz
) returns uuid[]
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_types text[];
  v_closed bigint[];
  v_taken uuid[] := '{}';
  v_round record;
  v_above integer := -2147483648;
  -- A random place among the lanes: workers that start at the same one meet in the same rows.
  v_from bigint := (random() * 18446744073709549568 - 9223372036854774784)::bigint;
  v_upkeep boolean := false;
begin
  if is_paused('all', '', p_now) then
    return v_taken;
  end if;
  perform promote(p_now, greatest(p_limit, 200));
  v_closed := closed_lanes(p_now);
  v_types := open_types(p_types, p_now);
  loop
    v_round := claim_round(
      p_worker_id, v_types, p_tenant_id, v_closed, v_above, v_from, p_limit - cardinality(v_taken), p_now);
    v_taken := v_taken || v_round.job_ids;
    exit when cardinality(v_taken) >= p_limit;
    if v_round.rank is not null then
      -- A rank that gave nothing is empty, paused or in other workers' hands: go on below it.
      if cardinality(v_round.job_ids) = 0 then
        v_above := v_round.rank;
      end if;
    elsif not v_upkeep and begin_task('upkeep', p_now, interval '5 seconds') then
      v_upkeep := true;
      exit when answer_cancels(p_now, 1000) + reclaim(p_now, 1000) + expire(p_now, 1000) = 0;
      v_above := -2147483648;
      v_types := open_types(p_types, p_now);
    else
      exit;
    end if;
  end loop;
  return v_taken;
end $$;
