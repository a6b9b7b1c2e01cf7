-- Enqueues up to 1,000 jobs of one tenant for several callers of one client, each for itself: a job that cannot be
-- enqueued at once does not stop the others. Each is an object with the keys of jobforge_enqueue_job without p_. The
-- result has an object for each job, in the order of the input: the columns of the job and the outcome, as
-- jobforge_enqueue_job returns them, or {outcome: rejected}. A job is rejected if it is not valid, if a quota has no
-- room for it, if another transaction holds its key, or if its payload is stored outside the database.
-- jobforge_enqueue_job enqueues such a job, waits, or raises its error.
-- Who: the tenant itself, workers, operators. JF002 names the first job that cannot be read; then none is enqueued.
-- Waits for a key for a few milliseconds, and for nothing else.
create or replace function :"api_schema".jobforge_enqueue_each(
  p_tenant_id uuid,
  p_jobs jsonb,
  p_notify boolean default true
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_jobs new_job[];
  v_types text[];
  v_fitting_types text[];
  v_room bigint;
  v_free record;
  v_has_notices constant boolean := jsonb_path_exists(p_jobs, 'lax $[*].notify');
  v_unknown uuid[];
begin
  perform require_tenant(p_tenant_id);
  if p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    perform fail_argument('jobs', 'jobs must be a JSON array');
  elsif jsonb_array_length(p_jobs) > 1000 then
    perform fail_argument('jobs', 'more than 1000 jobs in one call', 'Split them over several calls.');
  end if;
  v_jobs := array(
    select j from unnest(read_jobs(p_jobs, v_now)) j
    where problem_with(j, v_now) is null
      and not (j.payload ? '$artifact' and stored_payload(p_tenant_id, j.payload) is not null)
    order by j.ord);
  if v_has_notices then
    v_unknown := array(select e from unknown_endpoints(p_tenant_id, v_jobs) e);
    v_jobs := array(
      select j from unnest(v_jobs) j
      where ((j.notify ->> 'endpoint_id')::uuid = any (v_unknown)) is not true
      order by j.ord);
  end if;
  v_types := array(select j.type from unnest(v_jobs) j group by j.type order by min(j.ord));
  v_fitting_types := types_that_fit(p_tenant_id, v_types);
  if v_fitting_types is not null then
    v_jobs := array(select j from unnest(v_jobs) j where j.type = any (v_fitting_types) order by j.ord);
  end if;
  perform register_types(p_tenant_id, coalesce(v_fitting_types, v_types), v_now);
  v_room := room_of(p_tenant_id);
  if v_room < cardinality(v_jobs) then
    v_jobs := array(
      select j
      from unnest(v_jobs) j
      where j.ord = any (jobs_that_fit(p_tenant_id, v_jobs, v_room))
      order by j.ord);
  end if;
  v_free := enqueue_free(p_tenant_id, v_jobs, v_now, coalesce(p_notify, true));
  -- A key may lead to a job that was there when the room was counted, and has finished meanwhile.
  if v_room is not null and 'created' = any (v_free.outcomes) then
    perform require_room(p_tenant_id, 0);
  end if;
  if v_has_notices then
    perform keep_notices(p_tenant_id, v_jobs);
  end if;
  -- Created jobs are not read again. Only one with a dedupe key may have been changed by a later job of this call. All
  -- of it is parsed once: to put documents into a jsonb takes three times as long.
  return coalesce((
    with policy as materialized (
      select t.type, p.max_attempts, p.max_priority, is_by_hand(p, 'max_attempts') as by_hand
      from (select distinct j.type from unnest(v_jobs) j) t
      cross join lateral policy_of(t.type) p
    ), created as materialized (
      select e.ord, created_document(j, p_tenant_id, (select t.label from tenants t where t.tenant_id = p_tenant_id),
        rank_of(j.priority, p.max_priority),
        attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand), v_now, null) as document
      from unnest(v_free.ords, v_free.outcomes) e(ord, outcome)
      join unnest(v_jobs) j on j.ord = e.ord
      join policy p on p.type = j.type
      where e.outcome = 'created' and j.dedupe_key is null
    )
    select concat('[', string_agg(coalesce(
      c.document,
      existing_document(p_tenant_id, p_jobs -> (o.ord - 1), e.id, e.outcome)::text,
      '{"outcome": "rejected"}'), ',' order by o.ord), ']')::jsonb
    from generate_series(1, jsonb_array_length(p_jobs)) o(ord)
    left join unnest(v_free.ords, v_free.ids, v_free.outcomes) e(ord, id, outcome) on e.ord = o.ord
    left join created c on c.ord = o.ord
  ), '[]');
end $$;

-- Enqueues those of the jobs whose keys are free, and returns their places, ids and outcomes. If another transaction
-- holds one of the keys, it enqueues only the jobs without keys.
create or replace function jobforge.enqueue_free(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz, p_notify boolean,
  out ords integer[], out ids uuid[], out outcomes text[]
)
language plpgsql as $$
declare
  v_keyless jobforge.new_job[] := array(
    select j from unnest(p_jobs) j where num_nonnulls(j.idempotency_key, j.dedupe_key) = 0 order by j.ord);
  v_before text := current_setting('lock_timeout');
begin
  if cardinality(v_keyless) = cardinality(p_jobs) then
    perform jobforge.enqueue_new_jobs(p_tenant_id, p_jobs, p_now, p_notify);
    select array_agg(j.ord), array_agg(j.id), array_agg('created'::text)
    into ords, ids, outcomes
    from unnest(p_jobs) j;
    return;
  else
    begin
      perform set_config('lock_timeout', jobforge.brief_lock_timeout(), true);
      select array_agg(e.ord), array_agg(e.id), array_agg(e.outcome)
      into ords, ids, outcomes
      from jobforge.enqueue(p_tenant_id, p_jobs, p_now, p_notify) e;
      perform set_config('lock_timeout', v_before, true);
      return;
    exception when lock_not_available then
      null;
    end;
  end if;
  select array_agg(e.ord), array_agg(e.id), array_agg(e.outcome)
  into ords, ids, outcomes
  from jobforge.enqueue(p_tenant_id, v_keyless, p_now, p_notify) e;
end $$;

-- Returns what an enqueue returns for a job that existed before: its columns and the outcome; null for no id. A job
-- whose type keeps no history may be forgotten while its key still exists. p_job has the keys of the call.
create or replace function jobforge.existing_document(p_tenant_id uuid, p_job jsonb, p_id uuid, p_outcome text)
returns jsonb
language sql stable as $$
  select coalesce(
    (select to_jsonb(j) from jobforge.find_job(p_id) j),
    jsonb_build_object('id', p_id, 'tenant_id', p_tenant_id, 'type', p_job -> 'type',
      'idempotency_key', p_job -> 'idempotency_key', 'status', null)
  ) || jsonb_build_object('outcome', p_outcome)
  where p_id is not null
$$;
