-- Records the heartbeat of a worker, due every ten seconds. It renews the leases of all jobs that the worker holds.
--   p_info {instance, types, concurrency, held: [{id, attempt}], host, pid, version, idle, hand_off: [type], stopped,
--          metrics}
-- Returns {cancel: [{id, attempt}], lost: [{id, attempt}], handed: [id], next_due_at, ready, stop, now}: jobs to abort
-- because they were canceled, jobs that the worker no longer holds, jobs that were handed to the worker and that it
-- does not list, when the next waiting job becomes due, whether a job of the worker's types may be claimed now (null
-- for a role bound to a tenant), and whether an operator has asked the worker to stop. An idle worker that is notified
-- relies on ready, so that it need not poll as well. A job that runs under this worker but is not in held goes back
-- into the queue: at once if instance is new, because the process was restarted, or if the worker stops; otherwise
-- after ten seconds, because the response to a claim was lost. A job that was handed to the worker goes back without
-- costing an attempt. idle asks for a wake-up when jobs of the types come. hand_off names types of which enqueues may
-- hand jobs to the idle worker, up to its concurrency. stopped says that this is the last heartbeat: the worker no
-- longer counts as alive. Each call also does a bounded slice of maintenance, unless the role is bound to a tenant: the
-- call of a bound role concerns that tenant's jobs only, and locks no row that a call for another tenant needs.
-- Who: workers, operators. JF007 if a tenant has a thousand workers with bound roles. Never waits.
create or replace function :"api_schema".jobforge_heartbeat_worker(p_worker_id text, p_info jsonb default '{}')
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := claimable_tenant(null);
  v_info jsonb := coalesce(p_info, '{}');
  v_held jsonb := coalesce(p_info -> 'held', '[]');
  v_new boolean;
  v_lost integer := 0;
  v_types text[];
begin
  perform require_worker_id(p_worker_id);
  perform require_printable(v_info, 'info');
  if jsonb_typeof(v_info) <> 'object' or jsonb_typeof(v_held) <> 'array'
    or octet_length((v_info - 'held')::text) > 16384
  then
    perform fail_argument('info', 'info must be an object of at most 16 kB, with held as an array');
  end if;
  v_new := register_worker(p_worker_id, coalesce(v_bound, all_tenants()), v_info - 'held', v_now);
  -- Jobs that the worker does not know of can be found only if it reports what it holds.
  if v_info ? 'held' then
    v_lost := end_unheld(p_worker_id, array(
      select j.id
      from runs j
      where j.worker_id = p_worker_id
        and (v_bound is null or (j.tenant_id = v_bound and j.bound))
        and (v_new or v_info ->> 'stopped' = 'true' or j.started_at < v_now - heartbeat_interval())
        and not v_held @> jsonb_build_array(jsonb_build_object('id', j.id, 'attempt', j.attempts))
      order by j.id
      for update skip locked), format('Worker %s no longer lists the job', p_worker_id), v_now);
  end if;
  if v_bound is null then
    perform set_ddl_lock_timeout(maintain_jobs(v_now, 1000, false) or v_lost > 0);
    perform maintain_tables(v_now, 5000, false);
  end if;
  v_types := open_types(worker_types(v_info), v_now);
  return jsonb_build_object(
    'cancel', (
      select coalesce(jsonb_agg(jsonb_build_object('id', j.id, 'attempt', j.attempts) order by j.id), '[]')
      from cancel_requests c
      join runs j on j.id = c.job_id
      where c.worker_id = p_worker_id and j.worker_id = p_worker_id and (v_bound is null or j.tenant_id = v_bound)),
    'lost', (
      select coalesce(jsonb_agg(h.run), '[]')
      from jsonb_array_elements(v_held) h(run)
      where not exists (
        select from runs j
        where j.id = uuid_or_null(h.run ->> 'id')
          and j.worker_id = p_worker_id
          and j.attempts::text = h.run ->> 'attempt'
          and (v_bound is null or (j.tenant_id = v_bound and j.bound)))),
    'handed', case when v_info ? 'hand_off' then (
      select coalesce(jsonb_agg(j.id order by j.started_at), '[]')
      from runs j
      where j.worker_id = p_worker_id and j.handed
        -- A job that was handed to a bound worker is not for another worker of the same name.
        and j.bound = (v_bound is not null) and j.tenant_id = coalesce(v_bound, j.tenant_id)
        and not v_held @> jsonb_build_array(jsonb_build_object('id', j.id))) end,
    'next_due_at', least(next_due(v_types, v_bound), next_wakeup(v_bound)),
    'ready', case when v_bound is null then may_claim(v_types, v_now) end,
    'stop', exists (
      select from stop_requests s
      where s.worker_id = p_worker_id and s.scope = coalesce(v_bound, all_tenants())
        and s.instance is not distinct from v_info ->> 'instance'),
    'now', v_now);
end $$;

-- Returns whether a claim of the types may find a job: one is ready, or a claim has to check a bucket or a workflow
-- first, which may make one ready.
create or replace function jobforge.may_claim(p_types text[], p_now timestamptz) returns boolean
language sql stable as $$
  select exists (
    select from unnest(p_types) t(type)
    cross join lateral (select from jobforge.queue j where j.state = 'ready' and j.type = t.type limit 1) j
  ) or exists (select from jobforge.unpark_requests r where r.due_at <= p_now)
    or exists (select from jobforge.wakeups w where w.due_at <= p_now)
$$;

-- Returns the types that a worker has handlers for, as it reports them, without texts that cannot be types; null for
-- any.
create or replace function jobforge.worker_types(p_info jsonb) returns text[]
language sql immutable as $$
  select case jsonb_typeof(p_info -> 'types') when 'array' then array(
    select t #>> '{}' from jsonb_array_elements(p_info -> 'types') t where jsonb_typeof(t) = 'string'
      and jobforge.is_type(t #>> '{}')) end
$$;

-- Raises JF007 if a tenant has as many registered workers as it may, after forgetting those that have stopped or been
-- silent for ten minutes. Workers whose role is not bound to a tenant are not limited. Never waits.
create or replace function jobforge.require_worker_room(p_scope uuid, p_now timestamptz) returns void
language plpgsql as $$
begin
  for i in 1 .. 2 loop
    if p_scope = jobforge.all_tenants() or jobforge.max_bound_workers() > (
      select count(*)
      from (select from jobforge.workers w where w.scope = p_scope limit jobforge.max_bound_workers()) w)
    then
      return;
    end if;
    delete from jobforge.workers w
    where w.ctid = any (array(
      select g.ctid
      from jobforge.workers g
      where g.scope = p_scope
        and (g.stopped_at is not null or g.seen_at < p_now - interval '10 minutes')
      limit 100
      for update skip locked));
  end loop;
  perform jobforge.fail('JF007', 'Worker limit exceeded for tenant', 'worker_limit_exceeded', null,
    format('A tenant may have %s workers with a bound role. Use the same worker id for as long as a process runs.',
      jobforge.max_bound_workers()));
end $$;

-- Records that a worker is alive or stops, and whether it wants wake-ups. Returns true when its instance is another
-- than before. Writes rows of the worker's own scope only, so a worker that is bound to a tenant and uses the name of
-- another worker changes nothing of it, and neither waits for the other.
create or replace function jobforge.register_worker(p_worker_id text, p_scope uuid, p_info jsonb, p_now timestamptz)
returns boolean
language plpgsql as $$
declare
  v_instance text;
  v_known boolean;
begin
  select w.instance into v_instance from jobforge.workers w where w.id = p_worker_id and w.scope = p_scope;
  v_known := not found or v_instance is not distinct from p_info ->> 'instance';
  if not found then
    perform jobforge.require_worker_room(p_scope, p_now);
  end if;
  insert into jobforge.workers as w (id, scope, instance, started_at, seen_at, stopped_at, info)
  values (p_worker_id, p_scope, p_info ->> 'instance', p_now, p_now,
    case when p_info ->> 'stopped' = 'true' then p_now end, p_info - array['instance', 'stopped'])
  on conflict (id, scope) do update
  set seen_at = excluded.seen_at,
    stopped_at = excluded.stopped_at,
    info = excluded.info,
    instance = excluded.instance,
    started_at = case when v_known then w.started_at else excluded.started_at end;
  if p_info ->> 'idle' = 'true' and p_info ->> 'stopped' is distinct from 'true' then
    insert into jobforge.idle_workers as i (type, scope, worker_id, since, takes)
    select distinct t.type, p_scope, p_worker_id, p_now, coalesce(p_info -> 'hand_off' ? t.type, false)
    from unnest(coalesce(jobforge.worker_types(p_info), array['*'])) t(type)
    on conflict (type, scope, worker_id) do update set takes = excluded.takes where i.takes <> excluded.takes;
    if p_info ? 'hand_off' then
      perform jobforge.make_offers(p_worker_id, p_scope, p_info);
    end if;
  else
    delete from jobforge.idle_workers i where i.worker_id = p_worker_id and i.scope = p_scope;
  end if;
  return not v_known;
end $$;
