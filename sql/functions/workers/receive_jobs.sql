-- Receives jobs that enqueues have handed to a worker: the notification, or the response to a heartbeat, has named
-- them. Returns a JSON array of the jobs, as text, each as jobforge_settle_jobs returns it. Texts that are not ids of
-- jobs handed to the worker are left out. If a limit, gate, weight or cancel request has come since the enqueue, if the
-- job has expired, or if the enqueue was committed long after it was made, the job goes back into the queue, without
-- costing an attempt, and is left out too. A job that was received before may have started: it is returned again and
-- never goes back. So a call may be repeated after a lost response. Call it in a transaction of its own: its commit
-- does not wait for the disk.
-- Who: workers, operators; a role bound to a tenant receives jobs of that tenant only, and another role none that were
-- handed to a bound worker of the same name. Locks these runs in id order. Waits for nothing that an application can
-- hold.
create or replace function :"api_schema".jobforge_receive_jobs(p_worker_id text, p_ids text[]) returns text
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
  v_before text;
  v_ids uuid[];
  v_back uuid[];
  v_documents text;
  v_apart uuid[];
begin
  if not is_worker_id(p_worker_id) then
    perform require_worker_id(p_worker_id);
  elsif cardinality(p_ids) > 1000 then
    perform fail_argument('ids', 'more than 1000 ids in one call');
  end if;
  -- Tells runs that may have started, and are lost with their worker, from those of which it never heard. A mark that a
  -- crash of the server forgets costs nothing: the job then goes back without costing an attempt.
  if pg_current_xact_id_if_assigned() is null then
    v_before := set_config('synchronous_commit', 'off', true);
  end if;
  -- Usually it is one job, which nothing restrains.
  if cardinality(p_ids) = 1 then
    v_documents := receive_one(p_worker_id, uuid_or_null(p_ids[1]), v_bound, v_now);
    if v_documents is not null then
      return v_documents;
    end if;
  end if;
  -- Anyone may send a notification, with any text.
  v_ids := array(select uuid_or_null(i) from unnest(p_ids) i);
  -- A run that has its mark was received before. Its document only is read.
  with held as materialized (
    select j.id,
      j.heartbeat_at is null and ((select r.restrained from is_restrained(j.type) r(restrained))
        or j.expires_at <= v_now or j.started_at < v_now - heartbeat_interval()) is true as goes_back
    from runs j
    where j.id = any (v_ids) and j.worker_id is not distinct from p_worker_id and j.handed
      and j.bound = (v_bound is not null) and j.tenant_id = coalesce(v_bound, j.tenant_id)
    order by j.id
    for update
  ), received as (
    update runs j
    set heartbeat_at = coalesce(j.heartbeat_at, v_now)
    from held h
    where j.id = h.id and not h.goes_back
    returning j.id, j.payload is null as is_apart, run_document(j.id, j.tenant_id, j.type, j.payload, j.rank,
      j.attempts, j.max_attempts, j.run_at, j.created_at, j.schedule_id, j.scheduled_for, j.subject, j.traceparent,
      j.tags, j.progress, j.step_id) as document
  )
  select (select array_agg(h.id) from held h where h.goes_back), r.documents, r.apart
  into v_back, v_documents, v_apart
  from (
    select string_agg(r.document, ',') as documents, array_agg(r.id) filter (where r.is_apart) as apart from received r
  ) r;
  if v_back is not null then
    perform return_handed(p_worker_id, v_back, v_now);
  end if;
  return with_payloads(concat('[', v_documents, ']'), v_apart);
end $$;

-- Receives one job, unless it goes back into the queue. Returns the response; null if there is no such job. It repeats
-- the conditions of jobforge_receive_jobs, whose statement takes twice as long.
create or replace function jobforge.receive_one(p_worker_id text, p_id uuid, p_bound uuid, p_now timestamptz)
returns text
language plpgsql as $$
declare
  v_is_apart boolean;
  v_document text;
begin
  update jobforge.runs j
  set heartbeat_at = coalesce(j.heartbeat_at, p_now)
  where j.id = p_id and j.worker_id is not distinct from p_worker_id and j.handed
    and j.bound = (p_bound is not null) and j.tenant_id = coalesce(p_bound, j.tenant_id)
    and (j.heartbeat_at is not null
      or ((select r.restrained from jobforge.is_restrained(j.type) r(restrained))
        or j.expires_at <= p_now or j.started_at < p_now - jobforge.heartbeat_interval()) is not true)
  returning j.payload is null, concat('[', jobforge.run_document(j.id, j.tenant_id, j.type, j.payload, j.rank,
    j.attempts, j.max_attempts, j.run_at, j.created_at, j.schedule_id, j.scheduled_for, j.subject, j.traceparent,
    j.tags, j.progress, j.step_id), ']')
  into v_is_apart, v_document;
  return case when v_is_apart then jobforge.with_payloads(v_document, array[p_id]) else v_document end;
end $$;

-- Returns runs that were handed to a worker, and that it has not received, to the queue. No attempt is counted.
create or replace function jobforge.return_handed(p_worker_id text, p_job_ids uuid[], p_now timestamptz) returns void
language plpgsql as $$
begin
  if cardinality(p_job_ids) > 0 then
    perform jobforge.end_runs(p_worker_id, null, array(
      select jobforge.run_end(p_ord => i.ord::integer, p_id => i.id, p_status => 'released')
      from unnest(p_job_ids) with ordinality i(id, ord)), p_now);
  end if;
end $$;

-- Writes which jobs enqueues may hand to an idle worker: of the types in info.hand_off, up to sixteen at the same time
-- and as many as it has slots (info.concurrency). An offer that an enqueue holds stays. Never waits.
create or replace function jobforge.make_offers(p_worker_id text, p_scope uuid, p_info jsonb) returns void
language plpgsql as $$
declare
  v_slots integer := case when jsonb_typeof(p_info -> 'concurrency') = 'number'
    then least(greatest((p_info ->> 'concurrency')::numeric, 0), 10000)::integer else 0 end;
begin
  if (select count(*) from jobforge.offers o where o.worker_id = p_worker_id and o.scope = p_scope and o.slots = v_slots)
    = least(v_slots, 16)
  then
    return;
  end if;
  delete from jobforge.offers o
  where o.ctid = any (array(
    select f.ctid from jobforge.offers f
    where f.worker_id = p_worker_id and f.scope = p_scope and f.slots <> v_slots
    for update skip locked));
  insert into jobforge.offers (worker_id, scope, slot, slots, rests_until)
  select p_worker_id, p_scope, n, v_slots, '-infinity'
  from generate_series(1, least(v_slots, 16)) n
  on conflict do nothing;
end $$;
