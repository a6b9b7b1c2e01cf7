-- Records the heartbeat of one run, for workers that do not heartbeat as workers. It renews the lease. Returns
-- {cancel_requested, heartbeat_at}: the lease counts from heartbeat_at.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt). Locks the run.
create or replace function :"api_schema".jobforge_heartbeat_job(
  p_job_id uuid,
  p_worker_id text,
  p_attempt integer default null
) returns jsonb
language sql
security definer
set search_path = jobforge, pg_temp as $$
  select heartbeat_run(p_job_id, p_worker_id, p_attempt, null)
$$;

-- Renews the lease of one run, and stores its progress unless that is null. JF003 when the fence refuses it.
create or replace function jobforge.heartbeat_run(p_job_id uuid, p_worker_id text, p_attempt integer, p_progress jsonb)
returns jsonb
language plpgsql
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := jobforge.claimable_tenant(null);
begin
  update jobforge.runs j
  set heartbeat_at = v_now, updated_at = v_now, progress = coalesce(p_progress, j.progress)
  where j.id = p_job_id
    -- "is not distinct from" keeps the index on worker_id out of the plan: the row must be found by id, not among all
    -- that run.
    and j.worker_id is not distinct from p_worker_id
    and (p_attempt is null or j.attempts = p_attempt)
    and (v_tenant_id is null or (j.tenant_id = v_tenant_id and j.bound));
  if not found then
    perform jobforge.fail_not_held(p_job_id);
  end if;
  return jsonb_build_object(
    'cancel_requested', exists (select from jobforge.cancel_requests c where c.job_id = p_job_id),
    'heartbeat_at', v_now);
end $$;
