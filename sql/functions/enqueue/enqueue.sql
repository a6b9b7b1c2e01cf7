-- Enqueues the jobs of one call, as a set. Promises one row for each job: the id of the new or existing job, and
-- whether it was created, existing or replaced. Takes keys in sorted order, first idempotency keys and then
-- dedupe keys, so two bulk calls cannot deadlock. Waits for another transaction only if that one holds the same key.
-- Wakes sleeping workers if p_notify. p_seq is the seq of a single job whose place among those of its call is known.
-- Callers have been authorized. Jobs without keys take the short paths of enqueue_new.sql.
create or replace function jobforge.enqueue(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz, p_notify boolean, p_seq bigint default null
)
returns table (ord integer, id uuid, outcome text)
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_created uuid[];
  v_job new_job;
begin
  -- 1. Insert jobs without keys ---------------------------------------------------------------------------------------
  if p_seq is null
    and not exists (select from unnest(p_jobs) j where j.idempotency_key is not null or j.dedupe_key is not null)
  then
    perform enqueue_new_jobs(p_tenant_id, null, p_jobs, p_now, p_notify);
    return query select j.ord, j.id, 'created' from unnest(p_jobs) j;
    return;
  end if;

  -- 2. Take the idempotency keys --------------------------------------------------------------------------------------
  -- A key that was free now leads to the new job. Any other key leads to an existing job.
  insert into job_keys (tenant_id, type, idempotency_key, job_id)
  select p_tenant_id, j.type, j.idempotency_key, j.id
  from unnest(p_jobs) j
  where j.idempotency_key is not null
  order by j.type, j.idempotency_key, j.ord
  on conflict do nothing;

  -- 3. Go one by one where jobs may be changed ------------------------------------------------------------------------
  -- A call that may change existing jobs must take all locks in the order of the keys, so it goes job by job.
  if cardinality(p_jobs) > 1
    and exists (select from unnest(p_jobs) j where j.dedupe_key is not null and j.dedupe_mode <> 'skip')
  then
    return query select e.* from enqueue_in_key_order(p_tenant_id, p_jobs, p_now) e;
    if p_notify then
      perform wake_for(p_tenant_id, null, p_jobs, p_now);
    end if;
    return;
  end if;

  -- 4. Take the dedupe keys -------------------------------------------------------------------------------------------
  -- A job that does not hold its idempotency key takes none.
  if exists (select from unnest(p_jobs) j where j.dedupe_key is not null) then
    insert into dedupe_keys (tenant_id, type, dedupe_key, job_id)
    select p_tenant_id, j.type, j.dedupe_key, j.id
    from unnest(p_jobs) j
    where j.dedupe_key is not null
      and (j.idempotency_key is null
        or j.id = (
          select k.job_id from job_keys k
          where k.tenant_id = p_tenant_id and k.type = j.type and k.idempotency_key = j.idempotency_key))
    order by j.type, j.dedupe_key, j.ord
    on conflict do nothing;
  end if;

  -- 5. Insert the jobs whose keys are free ----------------------------------------------------------------------------
  with policy as materialized (
    -- The policy of each type.
    select t.type, p.max_attempts, p.max_priority, is_by_hand(p, 'max_attempts') as by_hand
    from (select distinct j.type from unnest(p_jobs) j) t
    cross join lateral policy_of(t.type) p
  ), wanted as materialized (
    -- The jobs that hold the keys they have; numbered.
    select j.*, attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand) as granted,
      p.max_priority, coalesce(p_seq, nextval('queue_seq_seq')) as seq,
      inline_payload(j.payload, j.bytes) as inline_payload
    from unnest(p_jobs) j
    join policy p on p.type = j.type
    where (j.idempotency_key is null
        or j.id = (
          select k.job_id from job_keys k
          where k.tenant_id = p_tenant_id and k.type = j.type and k.idempotency_key = j.idempotency_key))
      and (j.dedupe_key is null
        or j.id = (
          select d.job_id from dedupe_keys d
          where d.tenant_id = p_tenant_id and d.type = j.type and d.dedupe_key = j.dedupe_key))
  ), created as (
    insert into queue (
      id, seq, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at,
      payload, idempotency_key, dedupe_key, concurrency_key, subject, tags, traceparent)
    overriding system value
    select
      w.id, w.seq, p_tenant_id, lane_of(p_tenant_id), w.type, queued_state(w.run_at, p_now),
      rank_of(w.priority, w.max_priority), w.granted, w.granted,
      coalesce(w.run_at, p_now), p_now, p_now, w.expires_at, w.inline_payload,
      w.idempotency_key, w.dedupe_key, w.concurrency_key, w.subject, w.tags, w.traceparent
    from wanted w
    returning queue.id
  ), stored as (
    -- Their large payloads.
    insert into payloads (job_id, tenant_id, bytes, payload)
    select w.id, p_tenant_id, w.bytes, w.payload::text
    from wanted w
    join created c on c.id = w.id
    where w.inline_payload is null
  )
  select array_agg(c.id) into v_created from created c;
  perform note_pending(p_tenant_id, cardinality(v_created));
  if p_notify then
    perform wake_for(p_tenant_id, null, p_jobs, p_now);
  end if;
  if cardinality(v_created) = cardinality(p_jobs) then
    return query select j.ord, j.id, 'created' from unnest(p_jobs) j;
    return;
  end if;
  return query
  select j.ord, j.id, 'created'
  from unnest(p_jobs) j
  join unnest(v_created) c(id) on c.id = j.id;

  -- 6. Find the existing job of each of the others --------------------------------------------------------------------
  -- This is the job to which the idempotency key leads, or else the live job with the same dedupe key. The loop follows
  -- the order of the keys again. Jobs whose key belongs to another job of the call come last, because that other job
  -- may still change where the key leads.
  for v_job in
    select j.*
    from unnest(p_jobs) j
    where not exists (select from unnest(v_created) c(id) where c.id = j.id)
    order by leads_to_another_job(p_tenant_id, j), j.type, j.dedupe_key, j.ord
  loop
    ord := v_job.ord;
    outcome := 'existing';
    select k.job_id into id
    from job_keys k
    where k.tenant_id = p_tenant_id and k.type = v_job.type and k.idempotency_key = v_job.idempotency_key;
    if id is null or id = v_job.id then
      select m.id, m.outcome into id, outcome from merge_duplicate(p_tenant_id, v_job, p_now) m;
      if id is null then
        -- The live job has finished meanwhile, so its dedupe key is free.
        select e.id, e.outcome into id, outcome from enqueue(p_tenant_id, array[v_job], p_now, false) e;
      end if;
    end if;
    return next;
  end loop;
end $$;

-- Enqueues the jobs of one call one by one, in the order of their dedupe keys. Their seq follows the order of the call.
-- Their idempotency keys have been taken.
create or replace function jobforge.enqueue_in_key_order(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz
)
returns table (ord integer, id uuid, outcome text)
language plpgsql as $$
declare
  v_job record;
begin
  for v_job in
    select n.job, n.seq, jobforge.leads_to_another_job(p_tenant_id, n.job) as another
    from (
      select j.job, nextval('jobforge.queue_seq_seq') as seq
      from (select j as job from unnest(p_jobs) j order by j.ord) j
      offset 0
    ) n
    order by another, (n.job).dedupe_key is null, (n.job).type, (n.job).dedupe_key, (n.job).ord
  loop
    id := null;
    if not v_job.another and (v_job.job).dedupe_key is not null then
      select m.id, m.outcome into id, outcome from jobforge.merge_duplicate(p_tenant_id, v_job.job, p_now) m;
    end if;
    if id is not null then
      ord := (v_job.job).ord;
      return next;
    else
      return query select e.* from jobforge.enqueue(p_tenant_id, array[v_job.job], p_now, false, v_job.seq) e;
    end if;
  end loop;
end $$;

-- Wakes workers for the jobs of a call, once per type. p_tenant_ids: the tenant of each job, where p_tenant_id is null.
create or replace function jobforge.wake_for(
  p_tenant_id uuid, p_tenant_ids uuid[], p_jobs jobforge.new_job[], p_now timestamptz
) returns void
language plpgsql as $$
begin
  -- Usually no worker sleeps while many jobs are enqueued.
  if exists (select from jobforge.idle_workers) then
    perform jobforge.wake(j.type, min(coalesce(j.run_at, p_now)), p_now,
      array_agg(distinct coalesce(p_tenant_id, p_tenant_ids[j.ord])))
    from unnest(p_jobs) j
    group by j.type;
  end if;
end $$;
