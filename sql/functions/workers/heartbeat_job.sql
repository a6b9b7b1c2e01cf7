-- Says that a run is alive, for workers that do not heartbeat as workers. Answers {cancel_requested}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt).
create or replace function :"api_schema".jobforge_heartbeat_job(
  p_job_id uuid,
  p_worker_id text,
  p_attempt integer default null
) returns jsonb
language sql
security definer
set search_path = jobforge, pg_temp as $$
  select beat(p_job_id, p_worker_id, p_attempt, null)
$$;

-- A sign of life of one run, with its progress when it has some to tell. JF003 when the fence refuses.
create or replace function jobforge.beat(p_job_id uuid, p_worker_id text, p_attempt integer, p_progress jsonb) returns jsonb
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := jobforge.claimable_tenant(null);
begin
  update jobforge.jobs j
  set heartbeat_at = v_now, updated_at = v_now, progress = coalesce(p_progress, j.progress)
  where j.id = p_job_id
    -- Set while a job runs and at no other time. Compared in a way that no index serves: the way in is the id, not everything
    -- that runs.
    and j.worker_id is not distinct from p_worker_id
    and (p_attempt is null or j.attempts = p_attempt)
    and (v_tenant_id is null or j.tenant_id = v_tenant_id);
  if not found then
    perform jobforge.fail_not_held(p_job_id);
  end if;
  return jsonb_build_object(
    'cancel_requested', exists (select from jobforge.cancel_requests c where c.job_id = p_job_id));
end $$;

-- JF003: the fence refused the write.
create or replace function jobforge.fail_not_held(p_job_id uuid) returns void
language sql as $$
  select jobforge.fail('JF003', 'Job not found or not locked by worker', 'not_held', null,
    format('Job %s: the lease was lost, the job is finished, or another worker holds it. Drop the result.', p_job_id))
$$;
