-- Returns the workers that heartbeat, the one seen last first. A worker is alive, stopped if it said so, or gone after
-- the worker timeout (one minute) without a word. It is forgotten an hour after it stopped, or after a day of silence.
-- A role bound to a tenant sees the workers of that tenant.
-- Bounded by bytes (page_bytes): workers that were seen before those that fit are left out.
-- Who: operators, readers. Locks nothing.
create or replace function :"api_schema".jobforge_list_workers()
returns table (
  id text, status text, instance text, tenant_id uuid, started_at timestamptz, seen_at timestamptz, types text[],
  concurrency integer, running integer, host text, pid integer, version text,
  tenant_label text, stop_requested_at timestamptz, stop_requested_by text
)
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select r.*
  from (
    select w as worker,
      sum(octet_length(w.id) + octet_length(w.info::text) + coalesce(octet_length(w.instance), 0))
        over (order by w.seen_at desc, w.id rows unbounded preceding) as bytes
    from workers w
    cross join (select bound_tenant() as tenant_id offset 0) b
    where w.scope = coalesce(b.tenant_id, w.scope)
  ) w
  cross join lateral worker_row(w.worker) r
  where w.bytes <= page_bytes()
  order by r.seen_at desc, r.id
$$;

-- Returns a worker as operators see it.
create or replace function jobforge.worker_row(p_worker jobforge.workers)
returns table (
  id text, status text, instance text, tenant_id uuid, started_at timestamptz, seen_at timestamptz, types text[],
  concurrency integer, running integer, host text, pid integer, version text,
  tenant_label text, stop_requested_at timestamptz, stop_requested_by text
)
language sql stable as $$
  select p_worker.id::text,
    case when p_worker.stopped_at is not null then 'stopped'
      when jobforge.is_alive(p_worker, jobforge.now()) then 'alive' else 'gone' end,
    p_worker.instance,
    nullif(p_worker.scope, jobforge.all_tenants()),
    p_worker.started_at,
    p_worker.seen_at,
    jobforge.worker_types(p_worker.info),
    case when p_worker.info ->> 'concurrency' ~ '^[0-9]{1,9}$' then (p_worker.info ->> 'concurrency')::integer end,
    (select count(*)::integer
      from jobforge.runs j
      where j.worker_id = p_worker.id and p_worker.scope in (j.tenant_id, jobforge.all_tenants())),
    p_worker.info ->> 'host',
    case when p_worker.info ->> 'pid' ~ '^[0-9]{1,9}$' then (p_worker.info ->> 'pid')::integer end,
    p_worker.info ->> 'version',
    jobforge.label_of(p_worker.scope),
    s.requested_at,
    s.requested_by
  from (values (1)) one
  left join jobforge.stop_requests s
    on s.worker_id = p_worker.id and s.scope = p_worker.scope and s.instance is not distinct from p_worker.instance
$$;

-- Returns one worker: the columns of jobforge_list_workers, and metrics, what it reported about itself with its last
-- heartbeat. For operators also held, the jobs that it holds: {id, tenant_id, tenant_label, type, subject, attempt,
-- started_at, cancel_requested}, the one that has run longest first, at most 200. Null if no worker has this id. Of
-- several workers with one id, of which others are bound to a tenant, the one seen last.
-- Who: operators, readers; a role bound to a tenant sees the workers of that tenant. Locks nothing.
create or replace function :"api_schema".jobforge_get_worker(p_worker_id text) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_bound uuid := bound_tenant();
  v_worker workers;
begin
  select w.* into v_worker
  from workers w
  where w.id = p_worker_id and (v_bound is null or w.scope = v_bound)
  order by w.seen_at desc
  limit 1;
  if not found then
    return null;
  end if;
  return (
    select to_jsonb(r) || jsonb_build_object('metrics', v_worker.info -> 'metrics',
      'held', case when caller_is('jobforge_operator') then held_jobs(v_worker.id, v_worker.scope) end)
    from worker_row(v_worker) r);
end $$;

-- Returns the jobs that a worker holds, for jobforge_get_worker.
create or replace function jobforge.held_jobs(p_worker_id text, p_scope uuid) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(to_jsonb(h) order by h.started_at, h.id), '[]')
  from (
    select j.id, j.tenant_id, jobforge.label_of(j.tenant_id) as tenant_label, j.type, j.subject,
      j.attempts as attempt, j.started_at,
      exists (select from jobforge.cancel_requests c where c.job_id = j.id) as cancel_requested
    from jobforge.runs j
    where j.worker_id = p_worker_id and p_scope in (j.tenant_id, jobforge.all_tenants())
    order by j.started_at
    limit 200
  ) h
$$;
