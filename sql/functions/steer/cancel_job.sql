-- Cancels a job. A queued job is canceled at once. A running job stays running with cancel_requested until its run
-- ends, and is canceled then, however the run ends. A step of a workflow that is blocked, by its own id, is canceled
-- when the steps that it needs have ended. Repeating the call is not an error. Returns {id, status, cancel_requested}.
-- Who: the tenant itself, operators. JF005 if there is no such job or it is finished. Locks a queued row. For a
-- running job it appends a request, so no settle waits for the caller's transaction.
create or replace function :"api_schema".jobforge_cancel_job(p_job_id uuid, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_worker_id text;
begin
  perform require_tenant(p_tenant_id);
  -- A run that ends between the two reads puts its job back into the queue. In that case, read again.
  loop
    if lock_queued(p_job_id, p_tenant_id) then
      perform finish_queued(array[p_job_id], 'canceled', v_now);
      perform audit(p_tenant_id, 'JOB_CANCELED', p_job_id);
      return jsonb_build_object('id', p_job_id, 'status', 'canceled', 'cancel_requested', false);
    end if;
    select j.worker_id into v_worker_id
    from runs j
    where j.id = p_job_id and j.tenant_id = p_tenant_id;
    exit when found;
    if cancel_blocked(p_job_id, p_tenant_id) then
      perform audit(p_tenant_id, 'JOB_CANCEL_REQUESTED', p_job_id);
      return jsonb_build_object('id', p_job_id, 'status', 'queued', 'cancel_requested', true);
    elsif not exists (select from live_rows j where j.id = p_job_id and j.tenant_id = p_tenant_id) then
      perform fail('JF005', 'Job not found or cannot be canceled', 'not_cancelable', 'job_id',
        'Only queued and running jobs of the tenant can be canceled.');
    end if;
  end loop;
  insert into cancel_requests (job_id, tenant_id, worker_id, requested_at, requested_by)
  values (p_job_id, p_tenant_id, v_worker_id, v_now, actor())
  on conflict do nothing;
  if found then
    perform audit(p_tenant_id, 'JOB_CANCEL_REQUESTED', p_job_id);
    perform notify('jobforge_cancel', left(v_worker_id, 1000));
  end if;
  return jsonb_build_object('id', p_job_id, 'status', 'running', 'cancel_requested', true);
end $$;

-- Records who did what to a job, in the same transaction.
create or replace function jobforge.audit(p_tenant_id uuid, p_action text, p_job_id uuid, p_meta jsonb default '{}')
returns void
language sql as $$
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (jobforge.now(), p_tenant_id, jobforge.actor(), p_action, 'job', p_job_id::text, p_meta)
$$;
