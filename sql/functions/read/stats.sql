-- Returns the current state and what happened since a time (default: an hour ago): {at, since, exact, totals, types},
-- each with queued, scheduled, running and oldest_run_at now, and succeeded, failed, dead and canceled since then.
-- exact is false where live jobs were estimated, as in jobforge_count_live. ended_exact is false where more jobs have
-- finished since then than are counted: see jobforge.ended_figures. If there are more than 1,000 types, the others are
-- summed up as the type '*'.
-- Who: the tenant itself; operators and readers, with null for all tenants. Locks nothing.
create or replace function :"api_schema".jobforge_stats(p_tenant_id uuid default null, p_since timestamptz default null)
returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
-- A few jobs of one tenant and many jobs of all tenants need different plans.
set plan_cache_mode = force_custom_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_since timestamptz := coalesce(p_since, jobforge.now() - interval '1 hour');
  v_live live_count[];
  -- The tenant's types, if they are not too many. With them, the plan may use the index on type and tenant instead of
  -- reading what all tenants finished since then.
  v_types text[] := (
    select t from types_of(p_tenant_id, default_max_types() + 1) t where cardinality(t) <= default_max_types());
begin
  if bound_tenant() is not null or not caller_is('jobforge_reader') then
    perform require_tenant_or_operator(p_tenant_id);
  end if;
  v_live := live_counts(p_tenant_id, 10000, false, v_now);
  return (
    with live as (
      select l.type, sum(l.queued) as queued, sum(l.scheduled) as scheduled, sum(l.running) as running,
        min(l.oldest_run_at) as oldest
      from unnest(v_live) l
      group by l.type
    ), ended as materialized (
      select e.* from ended_figures(p_tenant_id, case when p_tenant_id is not null then v_types end, v_since, v_now) e
    ), named as (
      select n.type, n.label collate "C" as label
      from (
        select array_agg(u.type) as types, array_agg(u.jobs) as jobs
        from (
          select l.type, l.queued + l.scheduled + l.running as jobs from live l
          union all select e.type, e.succeeded + e.failed + e.dead + e.canceled from ended e
        ) u
      ) u
      cross join lateral labels(u.types, u.jobs, v_now) n
    ), types as (
      select n.label as type, coalesce(sum(l.queued), 0) as queued, coalesce(sum(l.scheduled), 0) as scheduled,
        coalesce(sum(l.running), 0) as running, min(l.oldest) as oldest_run_at,
        coalesce(sum(e.succeeded), 0) as succeeded, coalesce(sum(e.failed), 0) as failed,
        coalesce(sum(e.dead), 0) as dead, coalesce(sum(e.canceled), 0) as canceled
      from named n
      left join live l on l.type = n.type
      left join ended e on e.type = n.type
      group by n.label
    )
    select jsonb_build_object(
      'at', v_now,
      'since', v_since,
      'exact', not exists (select from unnest(v_live) l where not l.exact),
      'ended_exact', not exists (select from ended e where not e.exact),
      'totals', jsonb_build_object(
        'queued', coalesce(sum(t.queued), 0), 'scheduled', coalesce(sum(t.scheduled), 0),
          'running', coalesce(sum(t.running), 0),
        'oldest_run_at', min(t.oldest_run_at), 'succeeded', coalesce(sum(t.succeeded), 0),
          'failed', coalesce(sum(t.failed), 0),
        'dead', coalesce(sum(t.dead), 0), 'canceled', coalesce(sum(t.canceled), 0)),
      'types', coalesce(jsonb_agg(to_jsonb(t) order by t.type), '[]'))
    from types t);
end $$;
