-- Counts live jobs, grouped by p_by (tenant, type, both or neither): queued (due), scheduled (due later) and running,
-- with the due time of the oldest queued job and the milliseconds since then. Schedules whose time has come, and of
-- which no worker has made a job yet, are counted apart, up to 1,000 of a type: due_schedules, and when the first of
-- them became due. Up to p_cap live jobs (10,000) the counts are exact. Beyond that queued and scheduled are estimates
-- from a sample of the table, exact is false, and types and tenants with few queued jobs may be missing. running is
-- always exact. Across all tenants, types with at most 1,000 jobs of each kind are counted exactly, up to 200 types:
-- first those that have a policy or a worker. If there are more than 1,000 types, the others are summed up as the type
-- '*'.
-- Who: the tenant itself; operators and readers, with null for all tenants. Locks nothing; reads at most a few
-- thousand pages, however many jobs there are.
create or replace function :"api_schema".jobforge_count_live(
  p_tenant_id uuid default null,
  p_by text[] default '{type}',
  p_cap integer default 10000
) returns table (
  tenant_id uuid, type text, queued bigint, scheduled bigint, running bigint, oldest_run_at timestamptz,
    oldest_ms bigint, exact boolean, due_schedules bigint, oldest_schedule_at timestamptz
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := countable_tenant(p_tenant_id);
  v_counts live_count[];
  v_due due_count[];
begin
  if p_by is null or not p_by <@ array['tenant', 'type'] then
    perform fail_argument('by', 'by must name tenant, type or both');
  elsif p_cap is null or p_cap not between 0 and 100000 then
    perform fail_argument('cap', 'cap must be between 0 and 100000');
  end if;
  v_counts := live_counts(v_tenant_id, p_cap, 'tenant' = any (p_by), v_now);
  v_due := due_schedules(v_tenant_id, 'tenant' = any (p_by), v_now);
  return query
  with counts as (
    select c.*, 0::bigint as due, null::timestamptz as oldest_at from unnest(v_counts) c
    union all
    select d.tenant_id, d.type, 0, 0, 0, null, true, d.due, d.oldest_at from unnest(v_due) d
  ), labels as (
    select n.type, n.label collate "C" as label
    from (
      select array_agg(c.type) as types, array_agg(c.queued + c.scheduled + c.running + c.due) as jobs from counts c
    ) u
    cross join lateral labels(u.types, u.jobs, v_now) n
  )
  select case when 'tenant' = any (p_by) then c.tenant_id end, case when 'type' = any (p_by) then n.label end,
    sum(c.queued)::bigint, sum(c.scheduled)::bigint, sum(c.running)::bigint, min(c.oldest_run_at),
    case when min(c.oldest_run_at) is not null then ms_between(min(c.oldest_run_at), v_now) end, bool_and(c.exact),
    sum(c.due)::bigint, min(c.oldest_at)
  from counts c
  join labels n on n.type = c.type
  group by 1, 2
  order by 1, 2;
end $$;

-- Returns live jobs of a tenant (null: of all tenants) by type and tenant: counted up to p_cap, estimated beyond.
-- Small types are counted across all tenants even then, unless p_by_tenant is true, because such a count does not
-- know the tenants. Every function that shows live jobs calls this one, so the cost is bounded everywhere.
create or replace function jobforge.live_counts(p_tenant_id uuid, p_cap integer, p_by_tenant boolean, p_now timestamptz)
returns jobforge.live_count[]
language plpgsql stable
set jit = off
-- A table that was large once stays large and is then mostly empty, so it must be read through an index.
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan as $$
declare
  v_counts jobforge.live_count[] := jobforge.count_up_to(p_tenant_id, p_cap, p_now);
begin
  if v_counts is not null then
    return v_counts;
  end if;
  v_counts := jobforge.with_running(p_tenant_id, jobforge.estimate_queued(p_tenant_id, p_now));
  if p_tenant_id is not null or p_by_tenant or not exists (select from unnest(v_counts) c where not c.exact) then
    return v_counts;
  end if;
  return jobforge.count_small_types(v_counts, p_now);
end $$;

-- Counts live jobs of a tenant (null: of all tenants) by tenant and type; returns null if there are more than p_cap.
create or replace function jobforge.count_up_to(p_tenant_id uuid, p_cap integer, p_now timestamptz)
returns jobforge.live_count[]
language plpgsql stable as $$
declare
  v_seen bigint;
  v_counts jobforge.live_count[];
begin
  with live as materialized (
    select j.*
    from (
      (select q.tenant_id, q.type, false as runs, q.run_at
      from jobforge.queue q
      where p_tenant_id is null
      order by q.id
      limit p_cap + 1)
      union all
      (select q.tenant_id, q.type, false, q.run_at
      from jobforge.queue q
      where q.tenant_id = p_tenant_id and q.state <> ''
      order by q.id
      limit p_cap + 1)
      union all
      select r.tenant_id, r.type, true, r.run_at
      from jobforge.runs r
      where p_tenant_id is null or r.tenant_id = p_tenant_id
    ) j
  ), counted as (
    select j.tenant_id, j.type,
      count(*) filter (where not j.runs and j.run_at <= p_now) as queued,
      count(*) filter (where not j.runs and j.run_at > p_now) as scheduled,
      count(*) filter (where j.runs) as running,
      min(j.run_at) filter (where not j.runs and j.run_at <= p_now) as oldest_run_at
    from live j
    group by 1, 2
  )
  select (select count(*) from live),
    array(
      select row(c.tenant_id, c.type, c.queued, c.scheduled, c.running, c.oldest_run_at, true)::jobforge.live_count
        from counted c)
  into v_seen, v_counts;
  return case when v_seen <= p_cap then v_counts end;
end $$;

-- Estimates the numbers of queued jobs from a sample of about 2,000 pages of the queue, or from all of it if it has
-- fewer. It is always the same sample, so that the numbers do not change while the jobs do not.
create or replace function jobforge.estimate_queued(p_tenant_id uuid, p_now timestamptz) returns jobforge.live_count[]
language plpgsql stable
set enable_seqscan = on as $$
declare
  v_pages numeric := greatest(pg_relation_size('jobforge.queue') / current_setting('block_size')::integer, 1);
  v_share numeric := least(2000 / v_pages, 1);
begin
  return array(
    select row(s.tenant_id, s.type, round(s.queued / v_share), round(s.scheduled / v_share), 0, s.oldest_run_at,
      v_share = 1)::jobforge.live_count
    from (
      select j.tenant_id, j.type,
        count(*) filter (where j.run_at <= p_now) as queued,
        count(*) filter (where j.run_at > p_now) as scheduled,
        min(j.run_at) filter (where j.run_at <= p_now) as oldest_run_at
      from jobforge.queue j tablesample system (100 * v_share) repeatable (0)
      where p_tenant_id is null or j.tenant_id = p_tenant_id
      group by 1, 2
    ) s);
end $$;

-- Adds the number of running jobs to counts of queued ones. Running jobs are few, because workers have few places, so
-- all of them are counted. Types and tenants with running jobs are thus never missing. The result is as exact as the
-- counts were.
create or replace function jobforge.with_running(p_tenant_id uuid, p_counts jobforge.live_count[])
returns jobforge.live_count[]
language plpgsql stable as $$
declare
  v_exact constant boolean := p_counts <> '{}' and not exists (select from unnest(p_counts) c where not c.exact);
begin
  return p_counts || array(
    select row(j.tenant_id, j.type, 0, 0, count(*), null, v_exact)::jobforge.live_count
    from jobforge.runs j
    where p_tenant_id is null or j.tenant_id = p_tenant_id
    group by j.tenant_id, j.type);
end $$;

-- Replaces estimates by exact counts for types that have at most 1,000 jobs of each kind; for at most 200 types, the
-- preferred ones first, then those with running jobs. Types that are far larger by their estimate are not counted: that
-- would read 1,001 jobs of each kind to find out the same.
create or replace function jobforge.count_small_types(p_counts jobforge.live_count[], p_now timestamptz)
returns jobforge.live_count[]
language sql stable as $$
  with large as materialized (
    select c.type
    from unnest(p_counts) c
    group by c.type
    having greatest(sum(c.queued), sum(c.scheduled)) > 4000
  ), counted as materialized (
    select c.*
    from (
      select t.type
      from (
        select p as type, 1 as place from jobforge.preferred_types(p_now) p
        union all
        select c.type, 2 from unnest(p_counts) c where c.running > 0
        union all
        select u.type, 3
        from unnest(jobforge.types_with('ready', 200) || jobforge.types_with('waiting', 200)
          || array(select c.type from unnest(p_counts) c)) u(type)
      ) t
      where t.type not in (select l.type from large l)
      group by t.type
      order by min(t.place)
      limit 200
    ) t
    cross join lateral jobforge.count_small_type(t.type, p_now) c
    where c.exact
  )
  select array(
    select row(c.tenant_id, c.type, c.queued, c.scheduled, c.running, c.oldest_run_at, c.exact)::jobforge.live_count
    from (
      select * from counted
      union all
      select e.* from unnest(p_counts) e where e.type not in (select c.type from counted c)
    ) c)
$$;

-- Counts the jobs of one type across all tenants, each kind up to 1,001 through its index; exact if no kind has more.
-- The order is that of the index. Without it, statistics that say that the types are few and large lead to a scan of
-- another index, which reads the whole queue for a type that is small.
create or replace function jobforge.count_small_type(p_type text, p_now timestamptz) returns setof jobforge.live_count
language sql stable as $$
  select null::uuid, p_type, r.jobs + d.jobs, s.jobs, u.jobs, least(r.oldest, d.oldest),
    -- No index finds the parked jobs of a type.
    greatest(r.jobs, d.jobs, s.jobs) <= 1000 and not exists (select from jobforge.queue j where j.state = 'parked')
  from (
    select count(*) as jobs, min(j.run_at) as oldest
    from (
      select j.run_at
      from jobforge.queue j
      where j.state = 'ready' and j.type = p_type
      order by j.type, j.rank, j.lane, j.run_at, j.seq
      limit 1001
    ) j
  ) r
  cross join (
    select count(*) as jobs, min(j.run_at) as oldest
    from (
      select j.run_at
      from jobforge.queue j
      where j.state = 'waiting' and j.type = p_type and j.run_at <= p_now
      order by j.type, j.run_at
      limit 1001
    ) j
  ) d
  cross join (
    select count(*) as jobs
    from (
      select
      from jobforge.queue j
      where j.state = 'waiting' and j.type = p_type and j.run_at > p_now
      order by j.type, j.run_at
      limit 1001
    ) j
  ) s
  cross join (select count(*) as jobs from jobforge.runs j where j.type = p_type) u
$$;
