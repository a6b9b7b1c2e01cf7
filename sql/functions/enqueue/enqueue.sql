-- The part of a payload that stays in the job's row: all of it, or null when it is over about 1.5 kB and therefore in
-- jobforge.payloads, where ending the job does not copy it. Stable, as pg_column_size is, or it would not be inlined.
create or replace function jobforge.inline_payload(p_payload jsonb) returns jsonb
language sql stable as $$
  select case when pg_column_size(p_payload) <= 1500 then p_payload end
$$;

-- The rank of a priority for a type: policies cap what a caller may ask for.
create or replace function jobforge.rank_for(p_type text, p_priority integer) returns integer
language plpgsql stable as $$
begin
  return (select -least(p_priority, p.max_priority) from jobforge.policy_of(p_type) p);
end $$;

-- Enqueues the jobs of one call, set-based. Promises one row per job: the id that answers for it and whether that one was
-- created, existing or replaced. Keys are taken in sorted order, first idempotency then dedupe keys, so two bulk calls
-- cannot deadlock. Waits for another transaction only when that one holds the same key. Wakes sleeping workers when told to.
-- p_seq: the place of a single job among those of its call. Callers have been authorised.
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
  if p_seq is null
    and not exists (select from unnest(p_jobs) j where j.idempotency_key is not null or j.dedupe_key is not null)
  then
    perform enqueue_all_new(p_tenant_id, p_jobs, p_now, p_notify);
    return query select j.ord, j.id, 'created' from unnest(p_jobs) j;
    return;
  end if;

  insert into job_keys (tenant_id, type, idempotency_key, job_id)
  select p_tenant_id, j.type, j.idempotency_key, j.id
  from unnest(p_jobs) j
  where j.idempotency_key is not null
  order by j.type, j.idempotency_key, j.ord
  on conflict do nothing;

  -- Whoever may change a job that is there must lock it in its place among the keys, not after all of them.
  if cardinality(p_jobs) > 1
    and exists (select from unnest(p_jobs) j where j.dedupe_key is not null and j.dedupe_mode <> 'skip')
  then
    return query select e.* from enqueue_in_key_order(p_tenant_id, p_jobs, p_now) e;
    if p_notify then
      perform wake_for(p_jobs, p_now);
    end if;
    return;
  end if;

  with policy as materialized (
    select t.type, p.max_attempts, p.max_priority
    from (select distinct j.type from unnest(p_jobs) j) t
    cross join lateral policy_of(t.type) p
  ), wanted as materialized (
    select j.*, p.max_attempts as usual_attempts, p.max_priority, coalesce(p_seq, nextval('jobs_seq_seq')) as seq,
      inline_payload(j.payload) as inline_payload
    from unnest(p_jobs) j
    join policy p on p.type = j.type
    where j.idempotency_key is null
      or j.id = (
        select k.job_id from job_keys k
        where k.tenant_id = p_tenant_id and k.type = j.type and k.idempotency_key = j.idempotency_key)
  ), created as (
    insert into jobs (
      id, seq, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at, payload,
      idempotency_key, dedupe_key, concurrency_key, subject, tags, traceparent)
    overriding system value
    select
      w.id, w.seq, p_tenant_id, lane_of(p_tenant_id), w.type,
      queued_state(w.run_at, p_now),
      -least(w.priority, w.max_priority),
      coalesce(w.max_attempts, w.usual_attempts), coalesce(w.max_attempts, w.usual_attempts),
      coalesce(w.run_at, p_now), p_now, p_now, w.expires_at, w.inline_payload,
      w.idempotency_key, w.dedupe_key, w.concurrency_key, w.subject, w.tags, w.traceparent
    from wanted w
    order by w.dedupe_key is not null, w.type, w.dedupe_key, w.ord
    on conflict (tenant_id, type, dedupe_key) where dedupe_key is not null do nothing
    returning jobs.id
  ), stored as (
    insert into payloads (job_id, tenant_id, payload)
    select w.id, p_tenant_id, w.payload
    from wanted w
    join created c on c.id = w.id
    where w.inline_payload is null
  )
  select array_agg(c.id) into v_created from created c;
  perform note_pending(p_tenant_id, cardinality(v_created));

  if p_notify then
    perform wake_for(p_jobs, p_now);
  end if;

  if cardinality(v_created) = cardinality(p_jobs) then
    return query select j.ord, j.id, 'created' from unnest(p_jobs) j;
    return;
  end if;

  return query
  select j.ord, j.id, 'created'
  from unnest(p_jobs) j
  join unnest(v_created) c(id) on c.id = j.id;

  -- The rest answers with a job that was there before: the one its idempotency key leads to, else the live one with its
  -- dedupe key. In the order of the keys again; last those whose key belongs to another job of the call, which may still
  -- change the job that the key leads to.
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
        select e.id, e.outcome into id, outcome from enqueue(p_tenant_id, array[v_job], p_now, false) e;
      end if;
    end if;
    return next;
  end loop;
end $$;

-- Enqueues the jobs of one call one by one in the order of their dedupe keys, numbered in the order of the call. Their
-- idempotency keys have been taken.
create or replace function jobforge.enqueue_in_key_order(p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz)
returns table (ord integer, id uuid, outcome text)
language plpgsql as $$
declare
  v_job record;
begin
  for v_job in
    select n.job, n.seq, jobforge.leads_to_another_job(p_tenant_id, n.job) as another
    from (
      select j.job, nextval('jobforge.jobs_seq_seq') as seq
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

-- Wakes workers for the jobs of a call, once per type.
create or replace function jobforge.wake_for(p_jobs jobforge.new_job[], p_now timestamptz) returns void
language plpgsql as $$
begin
  perform jobforge.wake(j.type, min(coalesce(j.run_at, p_now)), p_now) from unnest(p_jobs) j group by j.type;
end $$;
