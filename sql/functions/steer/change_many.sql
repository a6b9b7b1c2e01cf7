-- Locks those of the jobs that are queued, in id order and without waiting, and returns them. A job that starts to run
-- leaves the queue, so the caller's transaction never holds a lock on a run.
create or replace function jobforge.lock_queued_jobs(p_job_ids uuid[]) returns uuid[]
language plpgsql as $$
begin
  return array(
    select j.id from jobforge.queue j
    where j.id = any (p_job_ids)
    order by j.id
    for update skip locked);
end $$;

-- Requests cancellation of those jobs that are running, and notifies their workers. Returns the number of requests. A
-- job whose request another transaction has just written is skipped, not waited for.
create or replace function jobforge.request_cancels(p_job_ids uuid[], p_now timestamptz) returns integer
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
  v_count integer;
begin
  perform set_config('lock_timeout', jobforge.brief_lock_timeout(), true);
  with requested as (
    insert into jobforge.cancel_requests (job_id, tenant_id, worker_id, requested_at, requested_by)
    select j.id, j.tenant_id, j.worker_id, p_now, jobforge.actor()
    from jobforge.runs j
    where j.id = any (p_job_ids)
    order by j.id
    on conflict do nothing
    returning worker_id
  ), told as (
    select count(jobforge.notify('jobforge_cancel', left(r.worker_id, 1000)))
      from (select distinct worker_id from requested) r
  )
  select count(*) into v_count from requested, told;
  perform set_config('lock_timeout', v_before, true);
  return v_count;
exception when lock_not_available then
  if cardinality(p_job_ids) = 1 then
    return 0;
  end if;
  return (select sum(jobforge.request_cancels(array[i], p_now)) from unnest(p_job_ids) i);
end $$;

-- Reads the filter of a bulk change of at most p_limit jobs. Options for pages are refused, because a page is not
-- what the filter selects. p_cursor: only jobs with smaller ids.
create or replace function jobforge.read_bulk_filters(
  p_filters jsonb, p_limit integer, p_cursor uuid default null
) returns jobforge.job_filter
language plpgsql stable as $$
declare
  v_filter jobforge.job_filter := jobforge.read_filters(p_filters, jobforge.search_filters());
begin
  -- Check the parsed filter: a key whose value is null does not count, or such a client would change every job.
  if num_nonnulls(v_filter.statuses, v_filter.types, nullif(v_filter.tags, '{}'), v_filter.subject,
    v_filter.error_contains, v_filter.error_group, v_filter.created_after, v_filter.created_before,
    v_filter.finished_after, v_filter.finished_before, v_filter.phase, v_filter.ids, v_filter.id_from, v_filter.worker,
    v_filter.schedule_id, v_filter.concurrency_key, v_filter.idempotency_key, v_filter.trace_id, v_filter.reasons,
    v_filter.priority, v_filter.attempts_min, v_filter.tags_any, v_filter.payload) = 0
  then
    perform jobforge.fail_argument('filters', 'a bulk change needs a filter', 'Name at least a status or a type.');
  elsif p_filters ?| array['limit', 'offset', 'cursor'] then
    perform jobforge.fail_argument('filters', 'limit, offset and cursor are for lists', 'Use p_limit and call again.');
  elsif p_limit is null or p_limit not between 1 and 10000 then
    perform jobforge.fail_argument('limit', 'limit must be between 1 and 10000');
  end if;
  v_filter.row_limit := p_limit;
  v_filter.before_id := p_cursor;
  return v_filter;
end $$;

-- Returns the statuses of the jobs that a bulk change can affect. Raises JF002 for an unknown change.
create or replace function jobforge.changeable(p_change text) returns text[]
language plpgsql immutable as $$
begin
  case p_change
    when 'cancel' then return jobforge.live_statuses();
    when 'reschedule' then return array['queued', 'failed', 'dead'];
    when 'purge' then return jobforge.finished_statuses();
    else perform jobforge.fail_argument('change', 'change must be cancel, reschedule or purge');
  end case;
end $$;

-- Restricts a filter to those of its statuses that are in p_statuses. The list is empty if there are none.
create or replace function jobforge.narrowed(p_filter jobforge.job_filter, p_statuses text[])
returns jobforge.job_filter
language plpgsql immutable as $$
begin
  p_filter.statuses := array(
    select s from unnest(p_statuses) s where p_filter.statuses is null or s = any (p_filter.statuses));
  return p_filter;
end $$;

-- Returns the page of jobs that a filter selects; no job if the filter was restricted to no status.
create or replace function jobforge.find_narrowed(p_tenant_id uuid, p_filter jobforge.job_filter)
returns table (id uuid, finished_at timestamptz)
language plpgsql stable as $$
begin
  if p_filter.statuses is distinct from '{}' then
    return query select p.id, p.finished_at from jobforge.find_page(p_tenant_id, p_filter) p;
  end if;
end $$;

-- Records a bulk change in the audit log: the filter and the result. Returns the result. The calls of one operation
-- have one entry, which adds up what they matched and changed. The result then also has the id of the entry as
-- audit_id, the sums as total, and as cursor the last job that was looked at; null if there are no more. JF002 if the
-- entry of the operation is of another caller or another change.
create or replace function jobforge.audit_bulk(
  p_tenant_id uuid, p_action text, p_filters jsonb, p_result jsonb, p_operation uuid default null,
  p_cursor uuid default null
) returns jsonb
language plpgsql as $$
declare
  v_tenant uuid := coalesce(p_tenant_id, jobforge.all_tenants());
  v_entity text := coalesce(p_operation, v_tenant)::text;
  v_type text := case when p_operation is null then 'jobs' else 'bulk' end;
  v_entry jobforge.audit_log;
begin
  if p_operation is not null then
    select * into v_entry from jobforge.audit_log a 
    where a.tenant_id = v_tenant and a.entity_type = v_type and a.entity_id = v_entity
    for update;
  end if;
  if v_entry.id is null then
    insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
    values (jobforge.now(), v_tenant, jobforge.actor(), p_action, v_type, v_entity,
      p_result || jsonb_build_object('filters', p_filters))
    returning * into v_entry;
  elsif (v_entry.tenant_id, v_entry.actor, v_entry.action) is distinct from (v_tenant, jobforge.actor(), p_action)
    or v_entry.meta -> 'filters' <> p_filters
  then
    perform jobforge.fail_argument('operation', 'this operation is another change', 'Use a new id for each operation.');
  else
    update jobforge.audit_log a
    set meta = a.meta || jsonb_build_object(
      'matched', (a.meta ->> 'matched')::bigint + (p_result ->> 'matched')::bigint,
      'changed', (a.meta ->> 'changed')::bigint + (p_result ->> 'changed')::bigint)
    where a.id = v_entry.id
    returning * into v_entry;
  end if;
  return p_result || case when p_operation is null then '{}' else jsonb_build_object('audit_id', v_entry.id,
    'cursor', p_cursor, 'total', jsonb_build_object('matched', v_entry.meta -> 'matched',
      'changed', v_entry.meta -> 'changed')) end;
end $$;

-- Returns the last job of a page of a bulk change; null if the page is not full, so that no more jobs match.
create or replace function jobforge.bulk_cursor(p_found uuid[], p_limit integer) returns uuid
language sql immutable as $$
  -- There is no minimum of uuids before Postgres 18.
  select case when cardinality(p_found) >= p_limit then (select f from unnest(p_found) f order by f limit 1) end
$$;

-- Raises an error unless the caller may change the jobs of the tenant. Operators may change those of all tenants
-- (null), but only in an operation: a client that forgets the tenant must not change every tenant's jobs.
create or replace function jobforge.require_bulk(p_tenant_id uuid, p_operation uuid) returns void
language plpgsql stable as $$
begin
  if p_operation is null then
    perform jobforge.require_tenant(p_tenant_id);
  else
    perform jobforge.require_tenant_or_operator(p_tenant_id);
  end if;
end $$;
