-- Returns the data of a metrics endpoint, of every tenant or of the one that the role is bound to: {at, until, jobs,
-- schedules, ended, wait, run, workers, reports, maintenance}.
--  If there are more than 1,000 types, all figures of the others are those of the type '*'.
--  jobs     live jobs by type and status, counted or estimated as in jobforge_count_live
--  schedules due schedules by type: those whose time has come and of which no worker has made a job yet, up to 1,000
--           of a type, and for how many seconds the first of them is due
--  ended    jobs that finished from p_since up to until, which is two seconds ago, so that no earlier row is committed
--           later; pass p_since = until with the next call, and every job is counted once
--  wait,run how long these jobs waited and ran: for each bin (its position in p_buckets, in seconds; 0: below all)
--           the number of jobs and their average in seconds
--  reports  what workers reported with their last heartbeat: {worker, metrics}. Workers that are bound to a tenant are
--           left out, because they could falsify the figures of others, unless the caller is bound to the same tenant
--  maintenance how often each task has failed in a row; empty for a role that is bound to a tenant
-- Who: readers and operators. Locks nothing.
create or replace function :"api_schema".jobforge_metrics(
  p_since timestamptz default null,
  p_buckets numeric[] default '{0.1,1,10,60}',
  p_by_tenant boolean default false
) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set plan_cache_mode = force_custom_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_until timestamptz := greatest(v_now - interval '2 seconds', p_since);
  v_from uuid := coalesce(bound_tenant(), '00000000-0000-0000-0000-000000000000');
  v_to uuid := coalesce(bound_tenant(), 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
  if array_ndims(p_buckets) is distinct from 1 or cardinality(p_buckets) > 100 or 'null' = any (string_to_array(
    array_to_string(p_buckets, ',', 'null'), ',')) then
    perform fail_argument('buckets', 'buckets must be 1 to 100 numbers');
  end if;
  return (
    with counted as materialized (
      select l.* from unnest(live_counts(bound_tenant(), 10000, p_by_tenant, v_now)) l
    ), late as materialized (
      select d.* from unnest(due_schedules(bound_tenant(), p_by_tenant, v_now)) d
    ), finished as materialized (
      select a.type, case when p_by_tenant then a.tenant_id end as tenant_id, a.status,
        greatest(extract(epoch from a.started_at - a.run_at), 0) as wait_seconds,
        case when a.last_run is not null
          then greatest(extract(epoch from a.finished_at - a.started_at), 0)
        end as run_seconds
      from archive a
      where a.finished_at >= coalesce(p_since, v_until) and a.finished_at < v_until and a.tenant_id between v_from
        and v_to
    ), named as materialized (
      select n.type, n.label collate "C" as label
      from (
        select array_agg(u.type) as types, array_agg(u.jobs) as jobs
        from (
          select c.type, c.queued + c.scheduled + c.running as jobs from counted c
          union all select d.type, d.due from late d
          union all select f.type, count(*) from finished f group by 1
        ) u
      ) u
      cross join lateral labels(u.types, u.jobs, v_now) n
    ), live as (
      select n.label as type, case when p_by_tenant then c.tenant_id end as tenant_id, sum(c.queued) as queued,
        sum(c.scheduled) as scheduled,
        sum(c.running) as running, coalesce(extract(epoch from v_now - min(c.oldest_run_at)), 0) as oldest_seconds
      from counted c
      join named n on n.type = c.type
      group by 1, 2
    ), schedules as (
      select n.label as type, case when p_by_tenant then d.tenant_id end as tenant_id, sum(d.due) as due,
        extract(epoch from v_now - min(d.oldest_at)) as oldest_seconds
      from late d
      join named n on n.type = d.type
      group by 1, 2
    ), runs as materialized (
      select n.label as type, f.tenant_id, f.status, f.wait_seconds, f.run_seconds
      from finished f
      join named n on n.type = f.type
    ), ended as (
      select r.type, r.tenant_id, r.status, count(*) as jobs from runs r group by 1, 2, 3
    ), waits as (
      select r.type, width_bucket(r.wait_seconds, p_buckets) as bucket, count(*) as jobs, avg(r.wait_seconds) as seconds
      from runs r
      where r.run_seconds is not null
      group by 1, 2
    ), lengths as (
      select r.type, width_bucket(r.run_seconds, p_buckets) as bucket, count(*) as jobs, avg(r.run_seconds) as seconds
      from runs r
      where r.run_seconds is not null
      group by 1, 2
    )
    select jsonb_build_object(
      'at', v_now,
      'until', v_until,
      'jobs', (select coalesce(jsonb_agg(to_jsonb(l)), '[]') from live l),
      'schedules', (select coalesce(jsonb_agg(to_jsonb(s)), '[]') from schedules s),
      'ended', (select coalesce(jsonb_agg(to_jsonb(e)), '[]') from ended e),
      'wait', (select coalesce(jsonb_agg(to_jsonb(w)), '[]') from waits w),
      'run', (select coalesce(jsonb_agg(to_jsonb(r)), '[]') from lengths r),
      'workers', jsonb_build_object(
        'alive', (select count(*) from workers w
          where is_alive(w, v_now) and w.scope = coalesce(bound_tenant(), w.scope)),
        'gone', (select count(*) from workers w
          where not is_alive(w, v_now) and w.stopped_at is null and w.scope = coalesce(bound_tenant(), w.scope))),
      'reports', (
        select coalesce(jsonb_agg(jsonb_build_object('worker', concat_ws(' ', w.id, w.instance),
          'metrics', w.info -> 'metrics')), '[]')
        from workers w
        where w.scope = v_to and w.info ? 'metrics'),
      'maintenance', (
        select coalesce(jsonb_object_agg(m.task, m.failures), '{}') from maintenance m where bound_tenant() is null)));
end $$;
