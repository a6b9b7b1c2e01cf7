-- Locks a queued job for a change by the caller's transaction, and waits for a transaction that has locked it. Returns
-- false when the job is no longer queued. A job that starts to run leaves the queue, so the caller's transaction never
-- holds a lock on a run.
create or replace function jobforge.lock_queued(p_job_id uuid, p_tenant_id uuid) returns boolean
language plpgsql as $$
begin
  perform from jobforge.queue j
  where j.id = p_job_id
    and j.tenant_id = p_tenant_id
  for update;
  return found;
end $$;
