-- Stores jobs that arrive from another store. They are not in the queue yet. Returns how many are new: a job that was
-- received before is left as it is.
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
  insert into jobforge.moves (id, tenant_id, type, step, document)
  select (e ->> 'id')::uuid, (e ->> 'tenant_id')::uuid, e ->> 'type', 'arriving', e
  from jsonb_array_elements(p_jobs) e
  where e ->> 'type' = any (p_types)
  order by 1
  on conflict do nothing;
  get diagnostics v_new = row_count;
  return v_new;
end $$;

-- Puts up to p_limit received jobs into the queue, with the id, the due time and the counts of runs that they came
-- with. A key that another job has taken meanwhile is dropped: the job must run. Returns how many were put.
create or replace function jobforge.release_moved(p_types text[], p_limit integer, p_now timestamptz) returns integer
language plpgsql as $$
declare
  v_document jsonb;
  v_released integer := 0;
begin
  for v_document in
    delete from jobforge.moves m
    where m.id in (
      select i.id from jobforge.moves i
      where i.step = 'arriving' and i.type = any (p_types)
      order by i.id
      limit p_limit
      for update skip locked)
    returning m.document
  loop
    perform jobforge.put_moved(v_document, p_now);
    v_released := v_released + 1;
  end loop;
  return v_released;
end $$;

-- Puts one job into the queue.
create or replace function jobforge.put_moved(p_document jsonb, p_now timestamptz) returns void
language plpgsql as $$
declare
  d jsonb := p_document;
  v_id uuid := d ->> 'id';
  v_tenant_id uuid := d ->> 'tenant_id';
  v_key text := d ->> 'idempotency_key';
  v_dedupe_key text := d ->> 'dedupe_key';
begin
  if exists (
    select from jobforge.job_keys k
    where k.tenant_id = v_tenant_id and k.type = d ->> 'type' and k.idempotency_key = v_key and k.job_id <> v_id
  ) then
    v_key := null;
  end if;
  if exists (
    select from jobforge.dedupe_keys k
    where k.tenant_id = v_tenant_id and k.type = d ->> 'type' and k.dedupe_key = v_dedupe_key
  ) then
    v_dedupe_key := null;
  end if;
  perform jobforge.register_types(v_tenant_id, array[d ->> 'type'], p_now);
  perform jobforge.enqueue(v_tenant_id, array[jobforge.new_job(
    p_type => d ->> 'type',
    p_id => v_id,
    p_payload => d -> 'payload',
    p_idempotency_key => v_key,
    p_run_at => (d ->> 'run_at')::timestamptz,
    p_max_attempts => (d ->> 'max_attempts')::integer,
    p_priority => (d ->> 'priority')::integer,
    p_dedupe_key => v_dedupe_key,
    p_tags => array(select jsonb_array_elements_text(coalesce(d -> 'tags', '[]'))),
    p_subject => d ->> 'subject',
    p_expires_at => (d ->> 'expires_at')::timestamptz,
    p_traceparent => d ->> 'traceparent')], p_now, true);
  update jobforge.job_keys k set forget_at = null where k.job_id = v_id;
  update jobforge.queue j
  set attempts = coalesce((d ->> 'attempts')::integer, 0),
    uncounted = coalesce((d ->> 'uncounted')::integer, 0),
    failures = coalesce((d ->> 'failures')::integer, 0),
    created_at = coalesce((d ->> 'created_at')::timestamptz, j.created_at),
    error = d -> 'error',
    cost_cents = (d ->> 'cost_cents')::integer
  where j.id = v_id;
end $$;
