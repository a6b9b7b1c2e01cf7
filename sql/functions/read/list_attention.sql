-- What needs attention now, for the first page that people open when something is wrong.

-- Returns after which time waiting counts as long: of due jobs, of jobs at a limit, and of a held key.
create or replace function jobforge.long_wait() returns interval
language sql immutable parallel safe as $$ select interval '10 minutes' $$;

-- Returns what needs attention now, of a tenant or with null of all tenants, the most severe first and of those the one
-- that began last. Each row has a kind, a severity (error: work is lost or stands still; warning), a plain sentence,
-- how many things are affected (exact is false for an estimate or a lower bound), since when, and what it is about:
-- target is the kind of thing, and type, tenant_id and key name one, or are null for all of them.
--   paused            everything, a type or a tenant is paused
--   no_worker         due jobs of a type for which no live worker has a handler
--   long_wait         a due job of a type has waited for over ten minutes
--   at_limit          a job of a type has waited at a limit for over ten minutes
--   held              a concurrency key of a type has been held for over ten minutes
--   worker_gone       workers that fell silent without stopping
--   long_runs         runs of a type take far longer than usual: see jobforge.long_runs
--   overdue_schedules schedules of a type are due for over a minute, and no worker has made their run
--   failing_schedules the last run of schedules of a type failed
--   dead_spike        many more jobs of a type failed or died in the last hour than in the hours before
--   disabled_webhooks endpoints are disabled, and their deliveries wait
--   quota_full        a tenant has used up its quota, so enqueues are refused
--   maintenance       a maintenance task fails
-- At most 200 rows. Operators and readers see all kinds; a tenant, and who asks for one, those that concern it: not
-- worker_gone, long_runs and maintenance, and no reason or person of a pause.
-- Who: the tenant itself; operators and readers, with null for all tenants. Locks nothing; every count is bounded.
create or replace function :"api_schema".jobforge_list_attention(p_tenant_id uuid default null)
returns table (
  kind text, severity text, message text, count bigint, exact boolean, since timestamptz, target text, type text,
  tenant_id uuid, tenant_label text, key text
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := countable_tenant(p_tenant_id);
  v_found attention[];
begin
  v_found := attention_to_gates(v_tenant_id, v_now) || attention_to_jobs(v_tenant_id, v_now)
    || attention_to_holds(v_tenant_id, v_now) || attention_to_schedules(v_tenant_id, v_now)
    || attention_to_deaths(v_tenant_id, v_now) || attention_to_tenants(v_tenant_id);
  if v_tenant_id is null then
    v_found := v_found || attention_to_workers(v_now);
  end if;
  return query
  select f.kind, f.severity, f.message, f.count, f.exact, f.since, f.target, f.type, f.tenant_id,
    label_of(f.tenant_id), f.key
  from unnest(v_found) f
  order by f.severity, f.since desc nulls last, f.kind, f.type, f.tenant_id, f.key
  limit 200;
end $$;

-- Gates that are closed. A tenant sees those of everything, of the types it uses, and its own.
create or replace function jobforge.attention_to_gates(p_tenant_id uuid, p_now timestamptz)
returns jobforge.attention[]
language sql stable as $$
  select coalesce(array_agg(row('paused', 'warning',
      case g.scope when 'all' then 'Everything' when 'type' then 'The type ' || g.key
        else 'The ' || jobforge.tenant_words(g.key::uuid) end || ' is paused'
      || coalesce(' until ' || jobforge.time_text(g.until), '')
      || case when p_tenant_id is null then coalesce(': ' || left(g.reason, 200), '') else '' end,
      1, true, g.set_at, 'gate', case g.scope when 'type' then g.key end,
      case g.scope when 'tenant' then g.key::uuid end, null)::jobforge.attention), '{}')
  from (
    select g.* from jobforge.gates g
    where (g.until is null or g.until > p_now)
      and (p_tenant_id is null or g.scope = 'all' or (g.scope = 'tenant' and g.key = p_tenant_id::text)
        or (g.scope = 'type' and exists (
          select from jobforge.tenant_types y where y.tenant_id = p_tenant_id and y.type = g.key)))
    order by g.scope, g.key
    limit 100
  ) g
$$;

-- Due jobs that no worker runs, that have waited for long, or that have waited at a limit for long; of types that are
-- not paused. A job at a limit counts there only.
create or replace function jobforge.attention_to_jobs(p_tenant_id uuid, p_now timestamptz)
returns jobforge.attention[]
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  -- In a query, the planner would call it once more to estimate its rows.
  v_live constant jobforge.live_count[] := jobforge.live_counts(p_tenant_id, 10000, false, p_now);
begin
  return (
  with live as materialized (
    select l.type, sum(l.queued)::bigint as due, min(l.oldest_run_at) as oldest, bool_and(l.exact) as exact
    from unnest(v_live) l
    where l.queued > 0
    group by l.type
  ), parked as materialized (
    select p.type, count(*) as jobs, min(p.run_at) as oldest,
      case when p_tenant_id is null then sum(count(*)) over () < 10000
        else (select sum(l.queued + l.scheduled) <= 1000 from unnest(v_live) l) end as exact
    from (
      (select q.type, q.run_at, q.state from jobforge.queue q
      where p_tenant_id is null and q.state = 'parked'
      limit 10000)
      union all
      -- No index finds the parked jobs of a tenant, so its oldest jobs are looked at.
      (select q.type, q.run_at, q.state from jobforge.queue q
      where q.tenant_id = p_tenant_id and q.state <> ''
      order by q.id
      limit 1000)
    ) p
    where p.state = 'parked'
    group by p.type
  ), served as materialized (
    select distinct t.type
    from jobforge.workers w
    cross join lateral unnest(coalesce(jobforge.worker_types(w.info), '{*}')) t(type)
    where (p_tenant_id is null or w.scope in (jobforge.all_tenants(), p_tenant_id)) and jobforge.is_alive(w, p_now)
  ), judged as materialized (
    select l.*, coalesce(p.jobs, 0) as parked, p.oldest as parked_since, coalesce(p.exact, true) as parked_exact,
      l.type in (select s.type from served s) or '*' in (select s.type from served s) as served
    from live l
    left join parked p on p.type = l.type
    where not jobforge.is_paused('all', '', p_now) and not jobforge.is_paused('type', l.type, p_now)
      and (p_tenant_id is null or not jobforge.is_paused('tenant', p_tenant_id::text, p_now))
  )
  select coalesce(array_agg(row(r.kind, r.severity, r.message, r.count, r.exact, r.since, 'type', j.type, p_tenant_id,
      null)::jobforge.attention), '{}')
  from judged j
  cross join lateral (
    select 'no_worker', 'error', format('No live worker runs %s: %s', j.type,
        jobforge.counted_words(j.due, j.exact, 'job is due', 'jobs are due')), j.due, j.exact, j.oldest
    where not j.served
    union all
    select 'at_limit', 'warning', format('%s at a limit for over ten minutes', jobforge.counted_words(j.parked, j.parked_exact,
        'job of ' || j.type || ' waits', 'jobs of ' || j.type || ' wait')), j.parked, j.parked_exact, j.parked_since
    where j.served and j.parked_since < p_now - jobforge.long_wait()
    union all
    select 'long_wait', 'warning', format('A job of %s has been due for over ten minutes', j.type), j.due, j.exact,
      j.oldest
    where j.served and j.oldest < p_now - jobforge.long_wait() and j.parked = 0
  ) r(kind, severity, message, count, exact, since));
end $$;

-- Keys that are held for long, by type. Those of disabled endpoints, which are held without an end, count there.
create or replace function jobforge.attention_to_holds(p_tenant_id uuid, p_now timestamptz)
returns jobforge.attention[]
language sql stable
set enable_seqscan = off as $$
  select coalesce(array_agg(row('held', 'warning', jobforge.counted_words(h.keys, h.exact,
        'concurrency key of ' || h.type || ' is held', 'concurrency keys of ' || h.type || ' are held'),
      h.keys, h.exact, h.since, 'type', h.type, p_tenant_id, null)::jobforge.attention), '{}')
  from (
    select k.type::text, count(distinct (k.tenant_id, k.concurrency_key)) as keys, min(k.set_at) as since,
      sum(count(*)) over () < 10000 as exact
    from (
      (select o.* from jobforge.key_holds o
      where p_tenant_id is null and o.until > p_now and o.until < 'infinity'
      limit 10000)
      union all
      (select o.*
      from unnest(jobforge.types_of(p_tenant_id, 1000)) y(type)
      cross join lateral (
        select i.* from jobforge.key_holds i
        where i.type = y.type and i.tenant_id = p_tenant_id and i.until > p_now and i.until < 'infinity'
      ) o
      limit 10000)
    ) k
    where k.set_at < p_now - jobforge.long_wait()
    group by k.type
  ) h
$$;

-- Schedules that are overdue and not paused, and schedules that fail, by type. Of failing ones it looks at 10,000.
create or replace function jobforge.attention_to_schedules(p_tenant_id uuid, p_now timestamptz)
returns jobforge.attention[]
language sql stable
set enable_seqscan = off as $$
  select coalesce(array_agg(row(s.kind, s.severity, s.message, s.count, s.exact, s.since, 'schedules', s.type,
      p_tenant_id, null)::jobforge.attention), '{}')
  from (
    select 'overdue_schedules' as kind, 'error' as severity, d.type, jobforge.counted_words(d.due, d.due < 1000,
        'schedule of ' || d.type || ' is due and has no run', 'schedules of ' || d.type || ' are due and have no run')
        as message, d.due as count, d.due < 1000 as exact, d.oldest_at as since
    from unnest(jobforge.due_schedules(p_tenant_id, false, p_now)) d
    where d.oldest_at < p_now - jobforge.missed_after()
      and not jobforge.is_paused('all', '', p_now) and not jobforge.is_paused('type', d.type, p_now)
    union all
    select 'failing_schedules', 'warning', f.type, jobforge.counted_words(f.schedules, f.exact,
        'schedule of ' || f.type || ' failed at its last run', 'schedules of ' || f.type || ' failed at their last run'),
      f.schedules, f.exact, f.since
    from (
      select s.type::text, count(*) as schedules, max(s.last_run_at) as since, sum(count(*)) over () < 10000 as exact
      from (
        select c.type, c.last_run_at from jobforge.schedules c
        where c.consecutive_failures > 0 and c.enabled and (p_tenant_id is null or c.tenant_id = p_tenant_id)
        limit 10000
      ) s
      group by s.type
    ) f
  ) s
$$;

-- Types of which at least ten jobs failed or died in the last hour, and over three times as many as in an average hour
-- of the six before. For all tenants from the samples of each minute, for one tenant from its usage by the hour: there
-- the last hour is the current one and the one before, and 24 hours are compared.
create or replace function jobforge.attention_to_deaths(p_tenant_id uuid, p_now timestamptz)
returns jobforge.attention[]
language sql stable
set enable_seqscan = off as $$
  with recent as materialized (
    select s.type, sum(s.dead)::bigint as dead, min(s.minute) filter (where s.dead > 0) as since, 6 as spans
    from jobforge.samples s
    where p_tenant_id is null and s.minute > p_now - interval '1 hour' and s.type not in ('', '*')
    group by s.type
    union all
    select u.type::text, sum(u.dead)::bigint, min(u.hour) filter (where u.dead > 0), 12
    from jobforge.usage u
    where u.tenant_id = p_tenant_id and u.hour >= date_trunc('hour', p_now) - interval '1 hour'
    group by u.type
  ), worst as (
    select r.* from recent r where r.dead >= 10 order by r.dead desc, r.type limit 10
  )
  select coalesce(array_agg(row('dead_spike', 'error', format(
        '%s jobs of %s failed for good lately, over three times as many as usual', w.dead, w.type), w.dead, true, w.since, 'dead', w.type,
      p_tenant_id, null)::jobforge.attention), '{}')
  from worst w
  cross join lateral (
    select coalesce(sum(o.dead), 0)::numeric as dead
    from (
      select s.dead from jobforge.samples s
      where p_tenant_id is null and s.type = w.type and s.minute > p_now - interval '7 hours'
        and s.minute <= p_now - interval '1 hour'
      union all
      select u.dead from jobforge.usage u
      where u.tenant_id = p_tenant_id and u.type = w.type and u.hour < date_trunc('hour', p_now) - interval '1 hour'
        and u.hour >= date_trunc('hour', p_now) - interval '25 hours'
    ) o
  ) b
  where w.dead > 3 * b.dead / w.spans
$$;

-- Endpoints that are disabled, and tenants that have used up their quota, of the first 100 with a quota.
create or replace function jobforge.attention_to_tenants(p_tenant_id uuid) returns jobforge.attention[]
language sql stable
set enable_seqscan = off as $$
  select coalesce(array_agg(row(x.kind, x.severity, x.message, x.count, x.exact, x.since, x.target, null, x.tenant_id,
      null)::jobforge.attention), '{}')
  from (
    select 'disabled_webhooks' as kind, 'error' as severity, jobforge.counted_words(w.endpoints, w.endpoints < 1000,
        'webhook endpoint is disabled', 'webhook endpoints are disabled') || ', and deliveries wait' as message,
      w.endpoints as count, w.endpoints < 1000 as exact, w.since, 'webhooks' as target, p_tenant_id as tenant_id
    from (
      select count(*) as endpoints, max(e.disabled_at) as since
      from (
        select d.disabled_at from jobforge.webhook_endpoints d
        where d.state = 'disabled' and (p_tenant_id is null or d.tenant_id = p_tenant_id)
        limit 1000
      ) e
    ) w
    where w.endpoints > 0
    union all
    select 'quota_full', 'error', format('The %s has used its quota of %s jobs: enqueues are refused',
        jobforge.tenant_words(t.tenant_id), t.max_pending), t.max_pending, true, null, 'tenant', t.tenant_id
    from (
      select q.tenant_id, q.max_pending from jobforge.tenants q
      where q.max_pending is not null and (p_tenant_id is null or q.tenant_id = p_tenant_id)
      order by q.tenant_id
      limit 100
    ) t
    where jobforge.is_full(t.tenant_id, t.max_pending)
  ) x
$$;

-- Returns whether a tenant has as many pending jobs as its quota allows, as far as changes were noted. Unlike
-- jobforge.room_of it writes nothing, and does not count the jobs of a quota that is new.
create or replace function jobforge.is_full(p_tenant_id uuid, p_max_pending integer) returns boolean
language sql stable
set enable_seqscan = off as $$
  select coalesce(sum(d.delta), 0) >= p_max_pending
  from jobforge.tenants t
  join jobforge.pending_deltas d on d.tenant_id = t.tenant_id
  where t.tenant_id = p_tenant_id and t.counted_at is not null
$$;

-- Workers that fell silent, runs that take far longer than usual, and maintenance that fails.
create or replace function jobforge.attention_to_workers(p_now timestamptz) returns jobforge.attention[]
language sql stable as $$
  select coalesce(array_agg(row(x.kind, x.severity, x.message, x.count, true, x.since, x.target, x.type, null,
      x.key)::jobforge.attention), '{}')
  from (
    select 'worker_gone' as kind, case when g.runs > 0 then 'error' else 'warning' end as severity,
      case g.workers when 1 then format('The worker %s fell silent', left(g.id, 100))
        else format('%s workers fell silent', g.workers) end
      || case when g.runs > 0 then format(' with %s', jobforge.counted_words(g.runs::bigint, true, 'run', 'runs'))
        else '' end as message,
      g.workers as count, g.since, 'workers' as target, null as type, case g.workers when 1 then g.id end as key
    from (
      select count(*) as workers, max(w.seen_at) as since, min(w.id) as id, sum(h.runs) as runs
      from jobforge.workers w
      cross join lateral (
        select count(*) as runs from jobforge.runs j
        where j.worker_id = w.id and w.scope in (j.tenant_id, jobforge.all_tenants())
      ) h
      where w.stopped_at is null and not jobforge.is_alive(w, p_now)
    ) g
    where g.workers > 0
    union all
    select 'long_runs', 'warning', jobforge.counted_words(l.runs, true, 'run of ' || l.type || ' takes',
        'runs of ' || l.type || ' take') || ' far longer than usual', l.runs,
      p_now - l.longest_ms * interval '1 millisecond', 'type', l.type, null
    from jobforge.long_runs(p_now) l
    union all
    select 'maintenance', 'error', format('The maintenance task %s has failed %s times in a row: %s', m.task,
        m.failures, left(m.error, 200)), m.failures, m.failed_at, 'maintenance', null, m.task
    from jobforge.maintenance m
    where m.failures > 0
  ) x
$$;

-- Returns a number with its noun, such as "about 1200 jobs are due".
create or replace function jobforge.counted_words(p_count bigint, p_exact boolean, p_one text, p_many text)
returns text
language sql immutable as $$
  select case when p_exact then '' else 'about ' end || p_count || ' ' || case p_count when 1 then p_one else p_many end
$$;
