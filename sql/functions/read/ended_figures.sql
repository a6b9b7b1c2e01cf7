-- Returns how many jobs finished since a time, by type, of a tenant (null: of all tenants), with their median wait and
-- run times in milliseconds. Up to 10,000 jobs are counted. If there are more, of all tenants and in the last six
-- hours, the figures are those of the runs that maintenance has added up each minute: dead then has the failed jobs,
-- too, canceled ones are missing, and so are the last seconds. Otherwise the first 100,000 jobs that are found count.
-- exact is false in both cases. p_types: the types of the tenant, if they are not too many.
create or replace function jobforge.ended_figures(
  p_tenant_id uuid, p_types text[], p_since timestamptz, p_now timestamptz
) returns table (
  type text, succeeded bigint, failed bigint, dead bigint, canceled bigint, wait_ms bigint, run_ms bigint, exact boolean
)
language plpgsql stable
set search_path = jobforge, pg_temp
set jit = off
-- A few jobs of one tenant and many jobs of all tenants need different plans.
set plan_cache_mode = force_custom_plan as $$
declare
  v_from uuid := coalesce(p_tenant_id, '00000000-0000-0000-0000-000000000000');
  v_to uuid := coalesce(p_tenant_id, 'ffffffff-ffff-ffff-ffff-ffffffffffff');
begin
  if p_tenant_id is null and p_since >= p_now - interval '6 hours' and 10000 < (
    select count(*)
    from (select from archive a where a.finished_at >= p_since limit 10001) a)
  then
    return query
    select s.type, sum(s.succeeded)::bigint, 0::bigint, sum(s.dead)::bigint, 0::bigint,
      percentile(sum_histograms(s.wait_histogram), 0.5), percentile(sum_histograms(s.run_histogram), 0.5), false
    from samples s
    where s.minute >= p_since and s.type <> '' and s.runs > 0
    group by s.type;
    return;
  end if;
  return query
  with ends as materialized (
    -- Read in any order, and sorted afterwards.
    select a.type, a.status, a.started_at, a.run_at, a.finished_at, a.last_run
    from archive a
    where a.finished_at >= p_since and a.tenant_id between v_from and v_to
      and (p_types is null or a.type = any (p_types))
    limit most_ends_counted()
  )
  select e.type::text,
    count(*) filter (where e.status = 'succeeded'), count(*) filter (where e.status = 'failed'),
    count(*) filter (where e.status = 'dead'), count(*) filter (where e.status = 'canceled'),
    -- A step may start a moment before its time, because its call began before another one set that time.
    percentile_disc(0.5) within group (order by greatest(0, extract(epoch from e.started_at - e.run_at) * 1000))
      filter (where e.last_run is not null)::bigint,
    percentile_disc(0.5) within group (order by extract(epoch from e.finished_at - e.started_at) * 1000)
      filter (where e.last_run is not null)::bigint,
    (select count(*) from ends) < most_ends_counted()
  from ends e
  group by e.type;
end $$;

-- Returns how many finished jobs figures of the last hours look at.
create or replace function jobforge.most_ends_counted() returns integer
language sql immutable as $$ select 100000 $$;
