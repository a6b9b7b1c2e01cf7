-- Changes a queued job: payload, priority, tags, run_at; only the given keys. Returns the job's columns.
-- Who: the tenant itself, operators. JF006 if there is no such job or it is not queued; JF002 and JF008 as for an
-- enqueue.
-- Locks the queued row.
create or replace function :"api_schema".jobforge_update_job(p_job_id uuid, p_tenant_id uuid, p_changes jsonb)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_known constant text[] := array['payload', 'priority', 'tags', 'run_at'];
  v_job queue;
  v_before slot;
  v_changed new_job;
begin
  perform require_tenant(p_tenant_id);
  if p_changes is null or jsonb_typeof(p_changes) <> 'object' or p_changes - v_known <> '{}' then
    perform fail_argument('changes', 'changes must be an object of payload, priority, tags and run_at');
  elsif not lock_queued(p_job_id, p_tenant_id) then
    perform fail('JF006', 'Job not found or cannot be updated', 'not_updatable', 'job_id',
      'Only queued jobs of the tenant can be changed.');
  end if;
  select j.* into v_job from queue j where j.id = p_job_id;
  v_before := row(v_job.type, v_job.tenant_id, v_job.concurrency_key);
  v_changed := changed_job(v_job, p_changes);
  perform require_valid(array[v_changed], v_now, false);
  if p_changes ? 'payload' then
    perform replace_payload(p_job_id, v_changed.payload);
    perform bind_payload(p_tenant_id, p_job_id, v_changed.payload, v_now);
  end if;
  update queue j
  set rank = case when p_changes ? 'priority' then rank_for(v_job.type, v_changed.priority) else j.rank end,
    tags = case when p_changes ? 'tags' then v_changed.tags else j.tags end,
    run_at = case when p_changes ? 'run_at' then coalesce(v_changed.run_at, v_now) else j.run_at end,
    updated_at = v_now
  where j.id = p_job_id
  returning * into v_job;
  -- A suspended job goes on waiting, unless the caller says when it is due.
  update queue j
  set state = queued_state(j.run_at, v_now)
  where j.id = p_job_id and (j.state <> 'suspended' or p_changes ? 'run_at');
  perform leave_slots(array[v_before], v_now);
  perform audit(p_tenant_id, 'JOB_UPDATED', p_job_id,
    jsonb_build_object('keys', array(select jsonb_object_keys(p_changes))));
  perform wake(v_job.type, v_job.run_at, v_now, array[p_tenant_id]);
  return (select to_jsonb(j) from live_jobs j where j.id = p_job_id);
end $$;

-- Gives a queued job that the caller has locked another payload, which must be valid as for an enqueue.
create or replace function jobforge.change_payload(p_job_id uuid, p_payload jsonb, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_job jobforge.queue;
begin
  select j.* into v_job from jobforge.queue j where j.id = p_job_id;
  perform jobforge.require_valid(
    array[jobforge.changed_job(v_job, jsonb_build_object('payload', p_payload))], p_now, false);
  perform jobforge.replace_payload(p_job_id, p_payload);
  perform jobforge.bind_payload(v_job.tenant_id, p_job_id, p_payload, p_now);
end $$;

-- Returns the job as it would be enqueued with the changes, so that a change allows nothing that an enqueue would
-- refuse. Raises JF002 for a value of the wrong kind.
create or replace function jobforge.changed_job(p_job jobforge.queue, p_changes jsonb) returns jobforge.new_job
language plpgsql as $$
begin
  perform jobforge.require_printable(p_changes - 'payload', 'changes');
  if jsonb_typeof(p_changes -> 'tags') not in ('array', 'null') then
    perform jobforge.fail_argument('tags', 'tags must be an array of texts');
  end if;
  return jobforge.new_job(
    p_type => p_job.type,
    p_expires_at => p_job.expires_at,
    p_payload => p_changes -> 'payload',
    p_priority => jobforge.filter_text(p_changes, 'priority', 'number')::integer,
    p_tags => jobforge.filter_texts(p_changes, 'tags'),
    p_run_at => coalesce(jobforge.filter_text(p_changes, 'run_at', 'time')::timestamptz,
      case when not p_changes ? 'run_at' then p_job.run_at end));
end $$;
