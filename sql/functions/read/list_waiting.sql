-- Returns how many jobs wait, by reason and type: why many jobs do not run, as jobforge_explain_job says it for one.
--   paused     due, but everything, the type or the tenant is paused
--   no_worker  due, but no live worker of all tenants has a handler for the type
--   at_limit   due, but a limit or a rate has no room
--   due        due, and next when a worker has a free place
--   scheduled  due later: for the first time, or again after a failure
-- Counts are those of jobforge_count_live; exact is false for estimates. A job counts once, with the first reason that
-- applies. Jobs at limits are counted up to 10,000, and paused tenants up to 50.
-- Who: operators, readers; not roles that are bound to a tenant. Locks nothing.
create or replace function :"api_schema".jobforge_list_waiting()
returns table (reason text, type text, jobs bigint, oldest_run_at timestamptz, exact boolean)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_all boolean := is_paused('all', '', jobforge.now());
begin
  perform require_figures();
  return query
  with live as (
    select l.type, sum(l.queued)::bigint as due, sum(l.scheduled)::bigint as scheduled, min(l.oldest_run_at) as oldest,
      bool_and(l.exact) as exact
    from unnest(live_counts(null, 10000, false, v_now)) l
    group by l.type
  ), held as (
    select h.type, least(h.jobs, l.due) as jobs
    from (select p.type, sum(p.jobs)::bigint as jobs from paused_of_tenants(v_now) p group by p.type) h
    join live l on l.type = h.type
  ), parked as (
    select p.type, count(*) as jobs, count(*) < 10000 as exact
    from (select q.type::text from queue q where q.state = 'parked' limit 10000) p
    group by p.type
  ), judged as (
    select l.*, v_all or is_paused('type', l.type, v_now) as paused, coalesce(h.jobs, 0) as held,
      not has_worker(l.type, v_now) as unserved, least(coalesce(p.jobs, 0), l.due - coalesce(h.jobs, 0)) as parked
    from live l
    left join held h on h.type = l.type
    left join parked p on p.type = l.type
  )
  select r.reason, j.type, r.jobs, case when r.reason <> 'scheduled' then j.oldest end, j.exact
  from judged j
  cross join lateral (
    values ('paused', case when j.paused then j.due else j.held end),
      ('no_worker', case when j.unserved and not j.paused then j.due - j.held else 0 end),
      ('at_limit', case when not j.unserved and not j.paused then j.parked else 0 end),
      ('due', case when not j.unserved and not j.paused then j.due - j.held - j.parked else 0 end),
      ('scheduled', j.scheduled)
  ) r(reason, jobs)
  where r.jobs > 0
  order by r.jobs desc, r.reason, j.type;
end $$;

-- Returns how many due jobs of each type wait because their tenant is paused, of at most 50 tenants.
create or replace function jobforge.paused_of_tenants(p_now timestamptz) returns table (type text, jobs bigint)
language sql stable as $$
  select l.type, sum(l.queued)::bigint
  from (
    select jobforge.uuid_or_null(g.key) as tenant_id
    from jobforge.gates g
    where g.scope = 'tenant' and (g.until is null or g.until > p_now)
    order by g.key
    limit 50
  ) t
  cross join lateral unnest(jobforge.live_counts(t.tenant_id, 10000, false, p_now)) l
  where t.tenant_id is not null
  group by l.type
$$;

-- Returns whether a live worker of all tenants has a handler for a type.
create or replace function jobforge.has_worker(p_type text, p_now timestamptz) returns boolean
language sql stable as $$
  select exists (
    select from jobforge.workers w
    cross join lateral jobforge.worker_types(w.info) t(types)
    where w.scope = jobforge.all_tenants() and jobforge.is_alive(w, p_now)
      and (t.types is null or p_type = any (t.types)))
$$;
