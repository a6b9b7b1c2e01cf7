-- Finds the live job that has the dedupe key of a job to enqueue. If the mode asks for it and the live job is queued,
-- the live job is changed; but not if durable steps of it are saved, because they belong to the payload that it has.
-- Returns its id, and whether it is existing or replaced. Null when it has finished meanwhile. Waits for a transaction
-- that has locked the live job, if it may be changed.
create or replace function jobforge.merge_duplicate(
  p_tenant_id uuid, p_job jobforge.new_job, p_now timestamptz, out id uuid, out outcome text
)
language plpgsql as $$
declare
  v_run_at timestamptz := coalesce(p_job.run_at, p_now);
begin
  select d.job_id into merge_duplicate.id
  from jobforge.dedupe_keys d
  where d.tenant_id = p_tenant_id and d.type = p_job.type and d.dedupe_key = p_job.dedupe_key;
  if not found then
    return;
  end if;
  outcome := 'existing';
  if p_job.dedupe_mode <> 'skip' and jobforge.lock_queued(merge_duplicate.id, p_tenant_id)
    and not exists (select from jobforge.checkpoints c where c.job_id = merge_duplicate.id)
  then
    outcome := 'replaced';
    perform jobforge.leave_slots(array(
      select row(j.type, j.tenant_id, j.concurrency_key)::jobforge.slot
      from jobforge.queue j
      where j.id = merge_duplicate.id), p_now);
    perform jobforge.replace_payload(merge_duplicate.id, p_job.payload);
    update jobforge.queue j
    set rank = jobforge.rank_for(p_job.type, p_job.priority),
      tags = p_job.tags,
      run_at = case p_job.dedupe_mode when 'debounce' then v_run_at else j.run_at end,
      state = case p_job.dedupe_mode when 'debounce' then jobforge.queued_state(v_run_at, p_now) else j.state end,
      updated_at = p_now
    where j.id = merge_duplicate.id;
  end if;
  -- An idempotency key that this call took for the new job now leads to the live job. That job may finish before this
  -- transaction commits, and its end would not see the key. So where no history is kept, the key gets its expiry at
  -- once.
  update jobforge.job_keys k
  set job_id = merge_duplicate.id,
    forget_at = (select p_now + jobforge.key_retention() from jobforge.policy_of(p_job.type) p where not p.keep_history)
  where k.tenant_id = p_tenant_id and k.type = p_job.type and k.idempotency_key = p_job.idempotency_key
    and k.job_id = p_job.id;
end $$;

-- Returns whether the idempotency key of a job to enqueue leads to another job.
create or replace function jobforge.leads_to_another_job(p_tenant_id uuid, p_job jobforge.new_job) returns boolean
language plpgsql stable as $$
begin
  return p_job.idempotency_key is not null and exists (
    select from jobforge.job_keys k
    where k.tenant_id = p_tenant_id and k.type = p_job.type and k.idempotency_key = p_job.idempotency_key
      and k.job_id <> p_job.id);
end $$;
