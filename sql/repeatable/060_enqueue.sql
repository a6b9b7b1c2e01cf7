-- Whether a JSON document is over the 1 MiB cap, as Postgres prints it: a number such as 1e100000 is stored in a few bytes
-- and printed in 100 kB.
create or replace function jobforge.is_oversized(p_document jsonb) returns boolean
language sql immutable as $$
  select octet_length(p_document::text) > 1048576
$$;

-- A text a caller may use as a key: null, or 1 to 1024 bytes.
create or replace function jobforge.is_key(p_text text) returns boolean
language sql immutable as $$
  select p_text is null or (p_text <> '' and octet_length(p_text) <= 1024)
$$;

-- What is wrong with a job to enqueue: {field, message}, or null. One expression without a subquery, so that it is inlined.
create or replace function jobforge.problem_with(p_job jobforge.new_job, p_now timestamptz) returns text[]
language sql stable as $$
  select case
    when p_job.type is null or btrim(p_job.type) = '' then array['type', 'type must not be empty']
    when length(p_job.type) > 200 then array['type', 'type is longer than 200 characters']
    when p_job.type ~ '[[:cntrl:]]' then array['type', 'type must not have control characters']
    when p_job.type = '*' then array['type', 'type "*" is the name of the default policy']
    when not coalesce(p_job.max_attempts, 1) between 1 and 100000
      then array['max_attempts', 'max_attempts must be between 1 and 100000']
    when not p_job.priority between -1000000 and 1000000
      then array['priority', 'priority must be between -1000000 and 1000000']
    when not jobforge.is_time(p_job.run_at) then array['run_at', 'run_at must be a time from the year 1 to 9999']
    when not jobforge.is_time(p_job.expires_at) then array['expires_at', 'expires_at must be a time from the year 1 to 9999']
    when p_job.expires_at <= greatest(p_job.run_at, p_now)
      then array['expires_at', 'expires_at must be later than run_at and now, or the job would never start']
    when not jobforge.is_key(p_job.idempotency_key)
      then array['idempotency_key', 'idempotency_key must have 1 to 1024 bytes']
    when not jobforge.is_key(p_job.dedupe_key) then array['dedupe_key', 'dedupe_key must have 1 to 1024 bytes']
    when p_job.dedupe_mode not in ('skip', 'replace', 'debounce')
      then array['dedupe_mode', 'dedupe_mode must be skip, replace or debounce']
    when not jobforge.is_key(p_job.subject) then array['subject', 'subject must have 1 to 1024 bytes']
    when not jobforge.is_key(p_job.concurrency_key)
      then array['concurrency_key', 'concurrency_key must have 1 to 1024 bytes']
    when array_ndims(p_job.tags) > 1 then array['tags', 'tags must be a flat array of texts']
    when cardinality(p_job.tags) > 50 or octet_length(array_to_string(p_job.tags, '')) > 4000
      or array_position(p_job.tags, null) is not null or array_position(p_job.tags, '') is not null
      then array['tags', 'tags must be at most 50 texts, none empty, of 4000 bytes altogether']
    when p_job.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
      then array['traceparent', 'traceparent must be a W3C trace context header']
    when jobforge.is_oversized(p_job.payload) then array['payload', 'payload is larger than 1 MiB']
  end
$$;

-- Raises for the first job of a call that cannot be enqueued. JF008 for a payload over the cap, else JF002.
create or replace function jobforge.require_valid(p_jobs jobforge.new_job[], p_now timestamptz, p_bulk boolean) returns void
language plpgsql as $$
declare
  v_ord integer;
  v_problem text[];
  v_field text;
begin
  select j.ord, x.problem
  into v_ord, v_problem
  from unnest(p_jobs) j
  cross join lateral (select jobforge.problem_with(j, p_now) as problem) x
  where x.problem is not null
  order by j.ord
  limit 1;
  if not found then
    return;
  end if;
  v_field := case when p_bulk then format('jobs[%s].%s', v_ord - 1, v_problem[1]) else v_problem[1] end;
  if v_problem[1] = 'payload' then
    perform jobforge.fail('JF008', 'Payload too large: ' || v_field || ' is over 1 MiB', 'payload_too_large', v_field,
      'Store it elsewhere and pass a reference.');
  end if;
  perform jobforge.fail_argument(v_field,
    case when p_bulk then format('job %s: %s', v_ord - 1, v_problem[2]) else v_problem[2] end);
end $$;

-- The part of a payload that stays in the job's row: all of it, or null when it is over about 1.5 kB and therefore in
-- jobforge.payloads, where ending the job does not copy it. Stable, as pg_column_size is, or it would not be inlined.
create or replace function jobforge.inline_payload(p_payload jsonb) returns jsonb
language sql stable as $$
  select case when pg_column_size(p_payload) <= 1500 then p_payload end
$$;

-- Locks a queued job for a change by the caller's transaction; false when it is not queued any more. A row that turned
-- running between the look and the lock must not stay locked by an application, so the attempt is undone: the lock lives
-- in a subtransaction that is rolled back.
create or replace function jobforge.lock_queued(p_job_id uuid, p_tenant_id uuid) returns boolean
language plpgsql as $$
begin
  perform from jobforge.jobs j
  where j.id = p_job_id
    and j.tenant_id = p_tenant_id
    and j.state <> 'running'
  for update;
  if not found then
    raise exception using errcode = 'JF000';
  end if;
  return true;
exception when sqlstate 'JF000' then
  return false;
end $$;

-- Gives a queued job that the caller has locked a new payload.
create or replace function jobforge.replace_payload(p_job_id uuid, p_payload jsonb) returns void
language plpgsql as $$
begin
  update jobforge.jobs set payload = jobforge.inline_payload(p_payload) where id = p_job_id;
  delete from jobforge.payloads where job_id = p_job_id;
  insert into jobforge.payloads (job_id, tenant_id, payload)
  select j.id, j.tenant_id, p_payload
  from jobforge.jobs j
  where j.id = p_job_id and j.payload is null;
end $$;

-- What becomes of a job whose dedupe key is taken by a live one: that one answers, changed first when the mode says so and
-- it has not started. Null when the other one ended meanwhile.
create or replace function jobforge.merge_duplicate(
  p_tenant_id uuid, p_job jobforge.new_job, p_now timestamptz, out id uuid, out outcome text
)
language plpgsql as $$
declare
  v_run_at timestamptz := coalesce(p_job.run_at, p_now);
begin
  select j.id into merge_duplicate.id
  from jobforge.jobs j
  where j.tenant_id = p_tenant_id and j.type = p_job.type and j.dedupe_key = p_job.dedupe_key;
  if not found then
    return;
  end if;
  outcome := 'existing';
  if p_job.dedupe_mode <> 'skip' and jobforge.lock_queued(merge_duplicate.id, p_tenant_id) then
    outcome := 'replaced';
    perform jobforge.replace_payload(merge_duplicate.id, p_job.payload);
    update jobforge.jobs j
    set rank = jobforge.rank_for(p_job.type, p_job.priority),
      tags = p_job.tags,
      run_at = case p_job.dedupe_mode when 'debounce' then v_run_at else j.run_at end,
      state = case
        when p_job.dedupe_mode <> 'debounce' then j.state
        when v_run_at <= p_now then 'ready'
        else 'waiting'
      end,
      updated_at = p_now
    where j.id = merge_duplicate.id;
    perform jobforge.leave_slots(array(
      select row(j.type, j.tenant_id, j.concurrency_key)::jobforge.slot
      from jobforge.jobs j
      where j.id = merge_duplicate.id), p_now);
  end if;
  -- A key of ours that promised a new job now leads to the one that answers. That one may end before we commit, and would not
  -- see this key: where nothing is kept of it, the key gets its date at once.
  update jobforge.job_keys k
  set job_id = merge_duplicate.id,
    forget_at = (select p_now + interval '24 hours' from jobforge.policy_of(p_job.type) p where not p.keep_history)
  where k.tenant_id = p_tenant_id and k.type = p_job.type and k.idempotency_key = p_job.idempotency_key
    and k.job_id = p_job.id;
end $$;

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
      w.id, w.seq, p_tenant_id, uuid_hash_extended(p_tenant_id, 0), w.type,
      case when w.run_at > p_now then 'waiting' else 'ready' end,
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
    order by answers_for_another(p_tenant_id, j), j.type, j.dedupe_key, j.ord
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
    select n.job, n.seq, jobforge.answers_for_another(p_tenant_id, n.job) as another
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

-- Whether the idempotency key of a job of this call leads to another job.
create or replace function jobforge.answers_for_another(p_tenant_id uuid, p_job jobforge.new_job) returns boolean
language plpgsql stable as $$
begin
  return p_job.idempotency_key is not null and exists (
    select from jobforge.job_keys k
    where k.tenant_id = p_tenant_id and k.type = p_job.type and k.idempotency_key = p_job.idempotency_key
      and k.job_id <> p_job.id);
end $$;

-- Wakes workers for the jobs of a call, once per type.
create or replace function jobforge.wake_for(p_jobs jobforge.new_job[], p_now timestamptz) returns void
language plpgsql as $$
begin
  perform jobforge.wake(j.type, min(coalesce(j.run_at, p_now)), p_now) from unnest(p_jobs) j group by j.type;
end $$;
