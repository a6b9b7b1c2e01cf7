-- Enqueues a new job like another one, whatever the status of that one: with its type, payload, priority, tags,
-- subject, concurrency key and number of attempts, and with the changes: payload, priority, tags, run_at, max_attempts.
-- Without run_at it is due now. The copy has no idempotency or dedupe key, no expiry, and belongs to no schedule and no
-- workflow. Returns the columns of the new job; null if the tenant has no such job.
-- Who: the tenant itself, operators. JF002 and JF008 as for an enqueue; JF007 when the tenant's quota is used up.
-- Locks nothing.
create or replace function :"api_schema".jobforge_copy_job(
  p_job_id uuid, p_tenant_id uuid, p_changes jsonb default '{}'
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_source all_jobs;
  v_budget integer;
  v_job new_job;
begin
  perform require_tenant(p_tenant_id);
  select j.* into v_source from find_job(p_job_id) j where j.tenant_id = p_tenant_id;
  if not found then
    return null;
  end if;
  -- A job that was run again may have had more attempts than it was made with.
  v_budget := coalesce(
    (select l.budget from live_rows l where l.id = p_job_id limit 1),
    (select a.budget from archive a where a.id = p_job_id and a.finished_at = v_source.finished_at limit 1));
  v_job := copied_job(v_source, v_budget, coalesce(p_changes, '{}'));
  perform require_valid(array[v_job], v_now, false);
  perform add_types(p_tenant_id, array[v_job.type], v_now, 'type');
  perform require_room(p_tenant_id, 1);
  perform enqueue_new_job(p_tenant_id, v_job, v_now, true, null);
  perform bind_payload(p_tenant_id, v_job.id, v_job.payload, v_now);
  perform audit(p_tenant_id, 'JOB_COPIED', v_job.id, jsonb_build_object('copied_from', p_job_id,
    'changes', array(select jsonb_object_keys(p_changes))));
  return (select to_jsonb(j) from live_jobs j where j.id = v_job.id);
end $$;

-- Returns the job to enqueue as a copy of another one, with p_max_attempts and with changes. Raises JF002 for an
-- unknown key, and for a value of the wrong kind.
create or replace function jobforge.copied_job(p_source jobforge.all_jobs, p_max_attempts integer, p_changes jsonb)
returns jobforge.new_job
language plpgsql as $$
declare
  v_known constant text[] := array['payload', 'priority', 'tags', 'run_at', 'max_attempts'];
  -- A change that is null does not count.
  v_changes jsonb := case when jsonb_typeof(p_changes) = 'object' then jsonb_strip_nulls(p_changes - 'payload') end;
begin
  if v_changes is null or p_changes - v_known <> '{}' then
    perform jobforge.fail_argument('changes',
      'changes must be an object of payload, priority, tags, run_at and max_attempts');
  end if;
  perform jobforge.require_printable(v_changes, 'changes');
  if jsonb_typeof(v_changes -> 'tags') <> 'array' then
    perform jobforge.fail_argument('tags', 'tags must be an array of texts');
  end if;
  return jobforge.new_job(
    p_id => jobforge.new_id(),
    p_type => p_source.type,
    p_payload => coalesce(p_changes -> 'payload', p_source.payload),
    p_priority => coalesce(jobforge.filter_text(v_changes, 'priority', 'number')::integer, p_source.priority),
    p_tags => coalesce(jobforge.filter_texts(v_changes, 'tags'), p_source.tags),
    p_run_at => jobforge.filter_text(v_changes, 'run_at', 'time')::timestamptz,
    p_max_attempts => coalesce(jobforge.filter_text(v_changes, 'max_attempts', 'number')::integer,
      p_max_attempts),
    p_subject => p_source.subject,
    p_concurrency_key => p_source.concurrency_key);
end $$;
