-- Returns all types: those with live jobs, with due schedules, with jobs that finished within p_span (an hour; at most
-- seven days), with their own policy, or with a worker. For each type: due, scheduled and running jobs, the time of
-- the oldest due job, how runs ended within the span with the median wait and run times in milliseconds, the number of
-- live workers for it, and whether it is paused. due_schedules are those whose time has come and of which no worker
-- has made a job yet, up to 1,000 of a type; oldest_schedule_at is when the first of them became due. exact is false
-- where due and scheduled were estimated, as in jobforge_count_live; running is always exact. If there are more than
-- 1,000 types, the others are summed up as the type '*', whose times are null. A role that is bound to a tenant counts
-- that tenant's jobs.
-- Who: operators, readers. Locks nothing; reads at most 100,000 of the jobs that finished within the span.
create or replace function :"api_schema".jobforge_list_types(p_span interval default '1 hour')
returns table (
  type text, due integer, scheduled integer, running integer, oldest_due_at timestamptz, succeeded integer,
    failed integer,
  dead integer, canceled integer, wait_ms bigint, run_ms bigint, workers integer, paused boolean, has_policy boolean,
  exact boolean, due_schedules integer, oldest_schedule_at timestamptz
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := bound_tenant();
begin
  if p_span is null or p_span <= interval '0' or p_span > interval '7 days' then
    perform fail_argument('span', 'span must be positive and at most 7 days');
  end if;
  return query
  with live as (
    select l.type, sum(l.queued)::integer as due, sum(l.scheduled)::integer as scheduled,
      sum(l.running)::integer as running,
      min(l.oldest_run_at) as oldest_due_at, bool_and(l.exact) as exact
    from unnest(live_counts(v_bound, 10000, false, v_now)) l
    group by 1
  ), late as (
    select d.type, d.due, d.oldest_at from unnest(due_schedules(v_bound, false, v_now)) d
  ), ended as (
    select f.type,
      count(*) filter (where f.status = 'succeeded')::integer as succeeded,
      count(*) filter (where f.status = 'failed')::integer as failed,
      count(*) filter (where f.status = 'dead')::integer as dead,
      count(*) filter (where f.status = 'canceled')::integer as canceled,
      percentile_disc(0.5) within group (order by extract(epoch from f.started_at - f.run_at) * 1000)
        filter (where f.last_run is not null)::bigint as wait_ms,
      percentile_disc(0.5) within group (order by extract(epoch from f.finished_at - f.started_at) * 1000)
        filter (where f.last_run is not null)::bigint as run_ms
    from (
      -- Read in any order, and sorted afterwards.
      select a.type, a.status, a.started_at, a.run_at, a.finished_at, a.last_run
      from archive a
      where a.finished_at > v_now - p_span
        and (v_bound is null or a.tenant_id = v_bound)
      limit most_ends_counted()
    ) f
    group by 1
  ), alive as (
    select w.id, worker_types(w.info) as types
    from workers w
    where is_alive(w, v_now)
      and (v_bound is null or w.scope in (v_bound, all_tenants()))
  ), named as (
    select n.type, n.label collate "C" as label
    from (
      select array_agg(u.type) as types, array_agg(u.jobs) as jobs
      from (
        select l.type, l.due + l.scheduled + l.running as jobs from live l
        union all select d.type, d.due::integer from late d
        union all select e.type, e.succeeded + e.failed + e.dead + e.canceled from ended e
        union all select p.type, 0 from policies p where p.type <> '*'
        union all select unnest(a.types), 0 from alive a
      ) u
    ) u
    cross join lateral labels(u.types, u.jobs, v_now) n
  ), figures as (
    select n.label as type, sum(l.due)::integer as due, sum(l.scheduled)::integer as scheduled,
      sum(l.running)::integer as running, min(l.oldest_due_at) as oldest_due_at, bool_and(l.exact) as exact,
      sum(e.succeeded)::integer as succeeded, sum(e.failed)::integer as failed, sum(e.dead)::integer as dead,
      sum(e.canceled)::integer as canceled, case when n.label <> '*' then min(e.wait_ms) end as wait_ms,
      case when n.label <> '*' then min(e.run_ms) end as run_ms,
      sum(d.due)::integer as due_schedules, min(d.oldest_at) as oldest_schedule_at
    from named n
    left join live l on l.type = n.type
    left join ended e on e.type = n.type
    left join late d on d.type = n.type
    group by n.label
  )
  select n.type, coalesce(n.due, 0), coalesce(n.scheduled, 0), coalesce(n.running, 0), n.oldest_due_at,
    coalesce(n.succeeded, 0), coalesce(n.failed, 0), coalesce(n.dead, 0), coalesce(n.canceled, 0), n.wait_ms, n.run_ms,
    (select count(*)::integer from alive a where a.types is null or n.type = any (a.types)),
    is_paused('all', '', v_now) or n.type in (
      select g.key from gates g where g.scope = 'type' and (g.until is null or g.until > v_now)),
    n.type <> '*' and n.type in (select p.type from policies p),
    coalesce(n.exact, true), coalesce(n.due_schedules, 0), n.oldest_schedule_at
  from figures n
  order by n.type;
end $$;
