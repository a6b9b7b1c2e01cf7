-- Locks a queued job for a change by the caller's transaction; false when it is not queued any more. A row that turned
-- running between the look and the lock must not stay locked by an application, so the attempt is undone: the lock lives
-- in a subtransaction that is rolled back.
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

-- Gives a queued job that the caller has locked a new payload.
create or replace function jobforge.replace_payload(p_job_id uuid, p_payload jsonb) returns void
language plpgsql as $$
begin
  update jobforge.jobs set payload = jobforge.inline_payload(p_payload) where id = p_job_id;
  delete from jobforge.payloads where job_id = p_job_id;
  insert into jobforge.payloads (job_id, tenant_id, payload)
  select j.id, j.tenant_id, p_payload
  from jobforge.jobs j
  where j.id = p_job_id and j.payload is null;
end $$;

-- What becomes of a job whose dedupe key is taken by a live one: that one answers, changed first when the mode says so and
-- it has not started. Null when the other one ended meanwhile.
create or replace function jobforge.merge_duplicate(
  p_tenant_id uuid, p_job jobforge.new_job, p_now timestamptz, out id uuid, out outcome text
)
language plpgsql as $$
declare
  v_run_at timestamptz := coalesce(p_job.run_at, p_now);
begin
  select j.id into merge_duplicate.id
  from jobforge.jobs j
  where j.tenant_id = p_tenant_id and j.type = p_job.type and j.dedupe_key = p_job.dedupe_key;
  if not found then
    return;
  end if;
  outcome := 'existing';
  if p_job.dedupe_mode <> 'skip' and jobforge.lock_queued(merge_duplicate.id, p_tenant_id) then
    outcome := 'replaced';
    perform jobforge.replace_payload(merge_duplicate.id, p_job.payload);
    update jobforge.jobs j
    set rank = jobforge.rank_for(p_job.type, p_job.priority),
      tags = p_job.tags,
      run_at = case p_job.dedupe_mode when 'debounce' then v_run_at else j.run_at end,
      state = case p_job.dedupe_mode when 'debounce' then jobforge.queued_state(v_run_at, p_now) else j.state end,
      updated_at = p_now
    where j.id = merge_duplicate.id;
    perform jobforge.leave_slots(array(
      select row(j.type, j.tenant_id, j.concurrency_key)::jobforge.slot
      from jobforge.jobs j
      where j.id = merge_duplicate.id), p_now);
  end if;
  -- A key of ours that promised a new job now leads to the one that answers. That one may end before we commit, and would not
  -- see this key: where nothing is kept of it, the key gets its date at once.
  update jobforge.job_keys k
  set job_id = merge_duplicate.id,
    forget_at = (select p_now + jobforge.key_retention() from jobforge.policy_of(p_job.type) p where not p.keep_history)
  where k.tenant_id = p_tenant_id and k.type = p_job.type and k.idempotency_key = p_job.idempotency_key
    and k.job_id = p_job.id;
end $$;

-- Whether the idempotency key of a job of this call leads to another job.
create or replace function jobforge.leads_to_another_job(p_tenant_id uuid, p_job jobforge.new_job) returns boolean
language plpgsql stable as $$
begin
  return p_job.idempotency_key is not null and exists (
    select from jobforge.job_keys k
    where k.tenant_id = p_tenant_id and k.type = p_job.type and k.idempotency_key = p_job.idempotency_key
      and k.job_id <> p_job.id);
end $$;
