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
    select j.id, j.tenant_id, j.worker_id, p_now, jobforge.caller()
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
-- what the filter selects.
create or replace function jobforge.read_bulk_filters(p_filters jsonb, p_limit integer) returns jobforge.job_filter
language plpgsql stable as $$
declare
  v_filter jobforge.job_filter := jobforge.read_filters(p_filters);
begin
  -- Check the parsed filter: a key whose value is null does not count, or such a client would change every job.
  if num_nonnulls(v_filter.statuses, v_filter.types, nullif(v_filter.tags, '{}'), v_filter.subject,
    v_filter.error_contains,
    v_filter.error_group, v_filter.created_after, v_filter.created_before, v_filter.finished_after,
      v_filter.finished_before) = 0
  then
    perform jobforge.fail_argument('filters', 'a bulk change needs a filter', 'Name at least a status or a type.');
  elsif p_filters ?| array['limit', 'offset', 'cursor'] then
    perform jobforge.fail_argument('filters', 'limit, offset and cursor are for lists', 'Use p_limit and call again.');
  elsif p_limit is null or p_limit not between 1 and 10000 then
    perform jobforge.fail_argument('limit', 'limit must be between 1 and 10000');
  end if;
  v_filter.row_limit := p_limit;
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

-- Records a bulk change in the audit log: the filter and the result.
create or replace function jobforge.audit_bulk(p_tenant_id uuid, p_action text, p_filters jsonb, p_result jsonb)
returns void
language sql as $$
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (jobforge.now(), p_tenant_id, jobforge.caller(), p_action, 'jobs', p_tenant_id::text,
    p_result || jsonb_build_object('filters', p_filters))
$$;
