-- Returns all types: those with live jobs, with due schedules, with jobs that finished within p_span (an hour; at most
-- seven days), with their own policy, or with a worker. For each type: due, scheduled and running jobs, the time of the
-- oldest due job, how runs ended within the span with the median wait and run times in milliseconds, the number of live
-- workers for it, and whether it is paused. due_schedules are those whose time has come and of which no worker has made
-- a job yet, up to 1,000 of a type; oldest_schedule_at is when the first of them became due. exact is false where due
-- and scheduled were estimated, as in jobforge_count_live; running is always exact. ended_exact is false where more
-- jobs finished than are counted: see jobforge.ended_figures. If there are more than 1,000 types, the others are summed
-- up as the type '*', whose times are null. Of one tenant, only the types that it uses, with its jobs; workers and
-- has_policy are null for callers that are neither reader nor operator.
-- Who: the tenant itself; operators and readers, with null for all tenants. Locks nothing; reads at most 100,000 of the
-- jobs that finished within the span.
create or replace function :"api_schema".jobforge_list_types(
  p_span interval default '1 hour', p_tenant_id uuid default null
) returns table (
  type text, due integer, scheduled integer, running integer, oldest_due_at timestamptz, succeeded integer,
    failed integer,
  dead integer, canceled integer, wait_ms bigint, run_ms bigint, workers integer, paused boolean, has_policy boolean,
  exact boolean, due_schedules integer, oldest_schedule_at timestamptz, ended_exact boolean
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
-- The types of one tenant and those of all tenants need different plans.
set plan_cache_mode = force_custom_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := countable_tenant(p_tenant_id);
  v_types text[] := case when v_tenant_id is not null then types_of(v_tenant_id, 1001) end;
  -- With these, the archive is read by its index on type and tenant.
  v_few_types text[] := case when cardinality(v_types) <= 1000 then v_types end;
  v_sees_workers boolean := caller_is('jobforge_reader') or caller_is('jobforge_operator');
begin
  if p_span is null or p_span <= interval '0' or p_span > interval '7 days' then
    perform fail_argument('span', 'span must be positive and at most 7 days');
  end if;
  return query
  with live as (
    select l.type, sum(l.queued)::integer as due, sum(l.scheduled)::integer as scheduled,
      sum(l.running)::integer as running,
      min(l.oldest_run_at) as oldest_due_at, bool_and(l.exact) as exact
    from unnest(live_counts(v_tenant_id, 10000, false, v_now)) l
    group by 1
  ), late as (
    select d.type, d.due, d.oldest_at from unnest(due_schedules(v_tenant_id, false, v_now)) d
  ), ended as materialized (
    select e.* from ended_figures(v_tenant_id, v_few_types, v_now - p_span, v_now) e
  ), alive as (
    select w.id, worker_types(w.info) as types
    from workers w
    where is_alive(w, v_now)
      and (v_tenant_id is null or w.scope in (v_tenant_id, all_tenants()))
  ), named as (
    select n.type, n.label collate "C" as label
    from (
      select array_agg(u.type) as types, array_agg(u.jobs) as jobs
      from (
        select l.type, l.due + l.scheduled + l.running as jobs from live l
        union all select d.type, d.due::integer from late d
        union all select e.type, (e.succeeded + e.failed + e.dead + e.canceled)::integer from ended e
        union all select p.type, 0 from policies p where p.type <> '*' and v_tenant_id is null
        union all select t, 0 from alive a cross join lateral unnest(a.types) t where v_tenant_id is null
        union all select unnest(v_types), 0
      ) u
    ) u
    cross join lateral labels(u.types, u.jobs, v_now) n
  ), figures as (
    select n.label as type, sum(l.due)::integer as due, sum(l.scheduled)::integer as scheduled,
      sum(l.running)::integer as running, min(l.oldest_due_at) as oldest_due_at, bool_and(l.exact) as exact,
      sum(e.succeeded)::integer as succeeded, sum(e.failed)::integer as failed, sum(e.dead)::integer as dead,
      sum(e.canceled)::integer as canceled, case when n.label <> '*' then min(e.wait_ms) end as wait_ms,
      case when n.label <> '*' then min(e.run_ms) end as run_ms,
      sum(d.due)::integer as due_schedules, min(d.oldest_at) as oldest_schedule_at, bool_and(e.exact) as ended_exact
    from named n
    left join live l on l.type = n.type
    left join ended e on e.type = n.type
    left join late d on d.type = n.type
    group by n.label
  )
  select n.type, coalesce(n.due, 0), coalesce(n.scheduled, 0), coalesce(n.running, 0), n.oldest_due_at,
    coalesce(n.succeeded, 0), coalesce(n.failed, 0), coalesce(n.dead, 0), coalesce(n.canceled, 0), n.wait_ms, n.run_ms,
    case when v_sees_workers then (
      select count(*)::integer from alive a where a.types is null or n.type = any (a.types)) end,
    is_paused('all', '', v_now) or n.type in (
      select g.key from gates g where g.scope = 'type' and (g.until is null or g.until > v_now)),
    case when v_sees_workers then n.type <> '*' and n.type in (select p.type from policies p) end,
    coalesce(n.exact, true), coalesce(n.due_schedules, 0), n.oldest_schedule_at, coalesce(n.ended_exact, true)
  from figures n
  order by n.type;
end $$;
