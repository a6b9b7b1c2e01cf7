-- Stores jobs that arrive from another store. They are not in the queue yet. Returns how many are new. A job that was
-- received before gets its newer document: the other store may have changed it before it let it go.
create or replace function jobforge.receive_moved(p_types text[], p_jobs jsonb) returns integer
language plpgsql as $$
declare
  v_new integer;
begin
  if exists (
    select from jobforge.moves m
    where m.step <> 'arriving' and m.id in (select (e ->> 'id')::uuid from jsonb_array_elements(p_jobs) e)
  ) then
    perform jobforge.fail_argument('jobs', 'a job is still on its way out',
      'Finish the move to the other store first: run it again.');
  end if;
  with stored as (
    insert into jobforge.moves as m (id, tenant_id, type, step, document)
    select (e ->> 'id')::uuid, (e ->> 'tenant_id')::uuid, e ->> 'type', 'arriving', e
    from jsonb_array_elements(p_jobs) e
    where e ->> 'type' = any (p_types)
    order by 1
    on conflict (id) do update set document = excluded.document
    returning m.xmax = 0 as is_new
  )
  select count(*) filter (where s.is_new) into v_new from stored s;
  return v_new;
end $$;

-- Puts received jobs into the queue, with the id, the due time and the counts of runs that they came with: those with
-- the given ids, or up to p_limit if there are none. Returns how many.
create or replace function jobforge.release_moved(
  p_types text[], p_ids uuid[], p_limit integer, p_now timestamptz
) returns integer
language plpgsql as $$
declare
  v_documents jsonb[];
  v_tenant_id uuid;
begin
  with gone as (
    delete from jobforge.moves m
    where m.id in (
      select i.id from jobforge.moves i
      where i.step = 'arriving' and i.type = any (p_types) and (cardinality(p_ids) = 0 or i.id = any (p_ids))
      order by i.id
      limit p_limit
      for update skip locked)
    returning m.id, m.document
  )
  select array_agg(g.document order by g.id) into v_documents from gone g;
  for v_tenant_id in
    select distinct (d ->> 'tenant_id')::uuid from unnest(v_documents) d order by 1
  loop
    perform jobforge.put_moved(
      v_tenant_id, array(select d from unnest(v_documents) d where (d ->> 'tenant_id')::uuid = v_tenant_id), p_now);
  end loop;
  return coalesce(cardinality(v_documents), 0);
end $$;

-- Puts jobs of one tenant into the queue. A key that another job has is dropped, because the job must run. A job that
-- the database knows by its id is here already: its key was used again in the other store, and leads to the same id.
create or replace function jobforge.put_moved(p_tenant_id uuid, p_documents jsonb[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_documents jsonb[];
  v_keyless text[] := '{}';
  v_jobs jobforge.new_job[];
begin
  v_documents := array(select d from unnest(p_documents) d where not jobforge.is_remembered((d ->> 'id')::uuid));
  perform jobforge.register_types(p_tenant_id, array(select distinct d ->> 'type' from unnest(v_documents) d), p_now);
  -- Another transaction may take a key between the look at it and the enqueue. Then the job comes again without keys.
  loop
    select array_agg(jobforge.moved_job(p_tenant_id, d, d ->> 'id' <> all (v_keyless)) order by d ->> 'id') into v_jobs
    from unnest(v_documents) d
    where not exists (select from jobforge.queue j where j.id = (d ->> 'id')::uuid);
    exit when v_jobs is null;
    select array_agg(j.id::text) into v_keyless from unnest(v_jobs) j;
    perform jobforge.enqueue(p_tenant_id, v_jobs, p_now, true);
  end loop;
  update jobforge.job_keys k set forget_at = null
  where k.job_id in (select (d ->> 'id')::uuid from unnest(v_documents) d);
  update jobforge.queue j
  set attempts = coalesce((d ->> 'attempts')::integer, 0),
    uncounted = coalesce((d ->> 'uncounted')::integer, 0),
    failures = coalesce((d ->> 'failures')::integer, 0),
    losses = coalesce((d ->> 'losses')::integer, 0),
    created_at = coalesce((d ->> 'created_at')::timestamptz, j.created_at),
    progress = d -> 'progress',
    error = d -> 'error',
    cost_cents = (d ->> 'cost_cents')::integer
  from unnest(v_documents) d
  where j.id = (d ->> 'id')::uuid;
  perform jobforge.finish_queued(
    array(select (d ->> 'id')::uuid from unnest(v_documents) d where d -> 'canceled' = 'true'), 'canceled', p_now);
end $$;

-- Returns the job to enqueue for a document; without its keys unless p_keys, and without those that other jobs have.
create or replace function jobforge.moved_job(p_tenant_id uuid, p_document jsonb, p_keys boolean)
returns jobforge.new_job
language plpgsql stable
set enable_seqscan = off as $$
declare
  d jsonb := p_document;
  v_key text := case when p_keys then d ->> 'idempotency_key' end;
  v_dedupe_key text := case when p_keys then d ->> 'dedupe_key' end;
begin
  if v_key is not null and exists (
    select from jobforge.job_keys k
    where k.tenant_id = p_tenant_id and k.type = d ->> 'type' and k.idempotency_key = v_key
      and k.job_id <> (d ->> 'id')::uuid
  ) then
    v_key := null;
  end if;
  if v_dedupe_key is not null and exists (
    select from jobforge.dedupe_keys k
    where k.tenant_id = p_tenant_id and k.type = d ->> 'type' and k.dedupe_key = v_dedupe_key
  ) then
    v_dedupe_key := null;
  end if;
  return jobforge.new_job(
    p_type => d ->> 'type',
    p_id => (d ->> 'id')::uuid,
    p_payload => d -> 'payload',
    p_idempotency_key => v_key,
    p_run_at => (d ->> 'run_at')::timestamptz,
    p_max_attempts => (d ->> 'max_attempts')::integer,
    p_priority => (d ->> 'priority')::integer,
    p_dedupe_key => v_dedupe_key,
    p_tags => array(select jsonb_array_elements_text(coalesce(d -> 'tags', '[]'))),
    p_subject => d ->> 'subject',
    p_expires_at => (d ->> 'expires_at')::timestamptz,
    p_traceparent => d ->> 'traceparent');
end $$;
