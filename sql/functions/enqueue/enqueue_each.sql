-- Enqueues up to 1,000 jobs for several callers of one client, each for itself: a job that cannot be enqueued at once
-- does not stop the others. p_tenant_ids has the tenant of each job. Each job is an object with the keys of
-- jobforge_enqueue_job without p_. The result has an object for each job, in the order of the input: the columns of the
-- job and the outcome, as jobforge_enqueue_job returns them, or {outcome: rejected}. A job is rejected if it is not
-- valid, if the caller may not enqueue for its tenant, if a quota has no room for it, if another transaction holds its
-- key, or if its payload is stored outside the database. jobforge_enqueue_job enqueues such a job, waits, or raises its
-- error. The jobs of one tenant keep their order.
-- Who: tenants for themselves, workers, operators. JF002 names the first job that cannot be read; then none is
-- enqueued. Waits for a key for a few milliseconds, and for nothing else.
create or replace function :"api_schema".jobforge_enqueue_each(
  p_tenant_ids uuid[],
  p_jobs jsonb,
  p_notify boolean default true
) returns json
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_notify constant boolean := coalesce(p_notify, true);
  v_tenants uuid[];
  v_jobs new_job[];
  v_plain new_job[];
  v_others new_job[];
  v_tenant_id uuid;
  v_ended record;
  v_ords integer[];
  v_ids uuid[];
  v_outcomes text[];
begin
  -- 1. Read the jobs, and leave out those that are refused ------------------------------------------------------------
  if p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    perform fail_argument('jobs', 'jobs must be a JSON array');
  elsif jsonb_array_length(p_jobs) > 1000 then
    perform fail_argument('jobs', 'more than 1000 jobs in one call', 'Split them over several calls.');
  elsif coalesce(cardinality(p_tenant_ids), -1) <> jsonb_array_length(p_jobs) then
    perform fail_argument('tenant_ids', 'tenant_ids must have one tenant for each job');
  end if;
  p_tenant_ids := array(select t.id from unnest(p_tenant_ids) t(id));
  v_tenants := tenants_of_caller(array(select distinct t.id from unnest(p_tenant_ids) t(id) where t.id is not null));
  v_jobs := array(
    select j
    from unnest(read_jobs(p_jobs, v_now)) j
    where p_tenant_ids[j.ord] = any (v_tenants) and problem_with(j, v_now) is null
      and not (j.payload ? '$artifact' and stored_payload(p_tenant_ids[j.ord], j.payload) is not null)
    order by j.ord);

  -- 2. Enqueue the jobs of the tenants that need nothing else: no key, no notice, no quota, no new type ---------------
  -- All or none of a tenant, so that its jobs keep their order.
  v_tenants := array(
    select p.tenant_id
    from (
      select p_tenant_ids[j.ord] as tenant_id, j.type,
        bool_or(j.idempotency_key is not null or j.dedupe_key is not null or j.notify is not null) as needs_more
      from unnest(v_jobs) j
      group by 1, 2
    ) p
    group by p.tenant_id
    having not bool_or(p.needs_more) and bool_and(is_registered(p.tenant_id, p.type, v_now))
      and (select t.max_pending from tenants t where t.tenant_id = p.tenant_id) is null);
  select array_agg(j order by j.ord) filter (where p_tenant_ids[j.ord] = any (v_tenants)),
    array_agg(j order by j.ord) filter (where p_tenant_ids[j.ord] <> all (v_tenants))
  into v_plain, v_others
  from unnest(v_jobs) j;
  if v_plain is not null then
    perform enqueue_new_jobs(null, p_tenant_ids, v_plain, v_now, v_notify);
    select array_agg(j.ord), array_agg(j.id), array_agg('created'::text)
    into v_ords, v_ids, v_outcomes
    from unnest(v_plain) j;
  end if;

  -- 3. Enqueue the others, tenant by tenant, so that two calls take keys in the same order ----------------------------
  if v_others is not null then
    for v_tenant_id in select distinct p_tenant_ids[j.ord] as id from unnest(v_others) j order by id loop
      v_ended := enqueue_what_fits(v_tenant_id,
        array(select j from unnest(v_others) j where p_tenant_ids[j.ord] = v_tenant_id order by j.ord), v_now, v_notify);
      v_ords := v_ords || v_ended.ords;
      v_ids := v_ids || v_ended.ids;
      v_outcomes := v_outcomes || v_ended.outcomes;
    end loop;
  end if;

  -- 4. Return them ----------------------------------------------------------------------------------------------------
  -- Created jobs are not read again. Only one with a dedupe key may have been changed by a later job of this call. All
  -- of it is parsed once: to put documents into a jsonb takes three times as long.
  return coalesce((
    with policy as materialized (
      select t.type, p.max_attempts, p.max_priority, is_by_hand(p, 'max_attempts') as by_hand
      from (select distinct j.type from unnest(v_jobs) j) t
      cross join lateral policy_of(t.type) p
    ), created as materialized (
      select e.ord, created_document(j, p_tenant_ids[j.ord],
        (select t.label from tenants t where t.tenant_id = p_tenant_ids[j.ord]),
        rank_of(j.priority, p.max_priority),
        attempts_for(j.max_attempts, j.default_attempts, p.max_attempts, p.by_hand), v_now, null) as document
      from unnest(v_ords, v_outcomes) e(ord, outcome)
      join unnest(v_jobs) j on j.ord = e.ord
      join policy p on p.type = j.type
      where e.outcome = 'created' and j.dedupe_key is null
    )
    select concat('[', string_agg(coalesce(
      c.document,
      existing_document(p_tenant_ids[o.ord], p_jobs -> (o.ord - 1), e.id, e.outcome)::text,
      '{"outcome": "rejected"}'), ',' order by o.ord), ']')::json
    from generate_series(1, jsonb_array_length(p_jobs)) o(ord)
    left join unnest(v_ords, v_ids, v_outcomes) e(ord, id, outcome) on e.ord = o.ord
    left join created c on c.ord = o.ord
  ), '[]');
end $$;

-- Enqueues those of the jobs of one tenant for which its quotas have room, whose keys are free, and that notify
-- endpoints which the tenant has. Registers their types. Returns their places, ids and outcomes.
create or replace function jobforge.enqueue_what_fits(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz, p_notify boolean,
  out ords integer[], out ids uuid[], out outcomes text[]
)
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_jobs new_job[] := p_jobs;
  v_has_notices constant boolean := exists (select from unnest(p_jobs) j where j.notify is not null);
  v_unknown uuid[];
  v_types text[];
  v_fitting_types text[];
  v_room bigint;
  v_free record;
begin
  if v_has_notices then
    v_unknown := array(select e from unknown_endpoints(p_tenant_id, v_jobs) e);
    v_jobs := array(
      select j
      from unnest(v_jobs) j
      where ((j.notify ->> 'endpoint_id')::uuid = any (v_unknown)) is not true
      order by j.ord);
  end if;
  v_types := array(select j.type from unnest(v_jobs) j group by j.type order by min(j.ord));
  v_fitting_types := types_that_fit(p_tenant_id, v_types);
  if v_fitting_types is not null then
    v_jobs := array(select j from unnest(v_jobs) j where j.type = any (v_fitting_types) order by j.ord);
  end if;
  perform register_types(p_tenant_id, coalesce(v_fitting_types, v_types), p_now);
  v_room := room_of(p_tenant_id);
  if v_room < cardinality(v_jobs) then
    v_jobs := array(
      select j
      from unnest(v_jobs) j
      where j.ord = any (jobs_that_fit(p_tenant_id, v_jobs, v_room))
      order by j.ord);
  end if;
  v_free := enqueue_free(p_tenant_id, v_jobs, p_now, p_notify);
  -- A key may lead to a job that was there when the room was counted, and has finished meanwhile.
  if v_room is not null and 'created' = any (v_free.outcomes) then
    perform require_room(p_tenant_id, 0);
  end if;
  if v_has_notices then
    perform keep_notices(p_tenant_id, v_jobs);
  end if;
  ords := v_free.ords;
  ids := v_free.ids;
  outcomes := v_free.outcomes;
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
    perform jobforge.enqueue_new_jobs(p_tenant_id, null, p_jobs, p_now, p_notify);
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
