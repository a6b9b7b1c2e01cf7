-- Locks a queued job for a change by the caller's transaction, and waits for a transaction that has locked it. Returns
-- false when the job is no longer queued. An application must not keep a lock on a job that started to run between
-- the read and the lock. So the lock is taken in a subtransaction, which is rolled back in that case.
create or replace function jobforge.lock_queued(p_job_id uuid, p_tenant_id uuid) returns boolean
language plpgsql as $$
begin
  perform from jobforge.jobs j
  where j.id = p_job_id
    and j.tenant_id = p_tenant_id
    and j.state <> 'running'
  for update;
  if not found then
    raise exception using errcode = 'JF000';
  end if;
  return true;
exception when sqlstate 'JF000' then
  return false;
end $$;
