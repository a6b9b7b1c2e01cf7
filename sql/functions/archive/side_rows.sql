-- Deletes what jobs have outside their own row: idempotency keys, large payloads, earlier attempts, logs, checkpoints
-- and whom to tell. Their artifacts can be deleted when the jobs are gone: see functions/artifacts/.
create or replace function jobforge.delete_side_rows(p_job_ids uuid[]) returns void
language plpgsql as $$
begin
  delete from jobforge.job_keys k where k.job_id = any (p_job_ids);
  delete from jobforge.payloads p where p.job_id = any (p_job_ids);
  delete from jobforge.attempts a where a.job_id = any (p_job_ids);
  delete from jobforge.job_logs l where l.job_id = any (p_job_ids);
  perform jobforge.forget_checkpoints(p_job_ids);
  delete from jobforge.job_notices n where n.job_id = any (p_job_ids);
  perform jobforge.release_artifacts(p_job_ids, jobforge.now());
end $$;

-- The same for jobs of types that keep no history, except that their keys stay for the time of key_retention. It does
-- not look for artifacts, because every settle of such a type would pay for it: their own check finds out within hours.
create or replace function jobforge.keep_only_keys(p_job_ids uuid[], p_now timestamptz) returns void
language plpgsql as $$
begin
  update jobforge.job_keys k set forget_at = p_now + jobforge.key_retention() where k.job_id = any (p_job_ids);
  delete from jobforge.payloads p where p.job_id = any (p_job_ids);
  delete from jobforge.attempts a where a.job_id = any (p_job_ids);
  delete from jobforge.job_logs l where l.job_id = any (p_job_ids);
  perform jobforge.forget_checkpoints(p_job_ids);
  delete from jobforge.job_notices n where n.job_id = any (p_job_ids);
end $$;

-- Deletes the checkpoints of jobs, the signals in their mailboxes, and what is known of their children.
create or replace function jobforge.forget_checkpoints(p_job_ids uuid[]) returns void
language plpgsql as $$
begin
  if exists (select from jobforge.checkpoints) or exists (select from jobforge.signals) then
    delete from jobforge.checkpoints c where c.job_id = any (p_job_ids);
    delete from jobforge.signals g where g.target_id = any (p_job_ids);
    delete from jobforge.steps s where s.workflow_id = any (p_job_ids) and s.kind = 'job';
  end if;
end $$;
