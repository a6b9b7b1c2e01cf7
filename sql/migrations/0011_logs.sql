-- What handlers have logged. Only runs whose handler logged something, of types whose policy keeps logs, have a row.

-- The log of a run. It belongs to the attempt of the same number, whether that is a row of jobforge.attempts or the
-- last run of a job in the archive, and is deleted with its job.
--   lines   [{at, level, message, fields}] in the order in which they were written: see functions/settle/keep_logs.sql
--   dropped how many earlier lines of the run were not kept
create table jobforge.job_logs (
  job_id     uuid not null,
  attempt_no jobforge.attempt_number not null,
  tenant_id  uuid not null,
  lines      jsonb not null,
  dropped    integer not null default 0 check (dropped >= 0),
  primary key (job_id, attempt_no)
);
