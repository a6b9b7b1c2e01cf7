-- The archive: finished jobs, and the partitions that hold them.

-- The status of a finished job.
create domain jobforge.finished_status as text collate "C"
  constraint finished_status_is_known check (value in ('succeeded', 'failed', 'dead', 'canceled'));

-- Why a job finished, in one word: succeeded because it was done; failed because its handler refused a retry, or
-- because a run of a schedule failed and the schedule goes on; dead because its attempts were exhausted or its workers
-- crashed; canceled because a caller canceled it or it expired.
create domain jobforge.finish_reason as text collate "C"
  constraint finish_reason_is_known
  check (value in ('done', 'refused', 'failed', 'exhausted', 'crashed', 'canceled', 'expired'));

-- A shelf of the archive: for how many days its jobs are kept.
create domain jobforge.shelf_days as integer
  constraint shelf_days_is_positive check (value >= 1);

-- A branch of the archive: the name of its partition.
create domain jobforge.archive_branch as text collate "C"
  constraint archive_branch_is_known check (value in ('finished_jobs', 'dead_jobs'));

-- Finished jobs. Rows are only added, and leave with their partition. The archive has two branches: finished_jobs holds
-- successes and cancellations; dead_jobs holds failures, which are few, are searched most and may return to the queue.
-- A branch has a shelf for every retention in use, and a shelf has leaves by finished_at. So retention drops whole
-- leaves and deletes no rows.
--   last_run  how the run ended that finished the job; null when no run did, because the job was canceled or expired in
--             the queue
--   payload   null when the payload is in jobforge.payloads
--   step_id   the step of a workflow that the job ran
--   keep_days the shelf: for how many days the job is kept
create table jobforge.archive (
  id              uuid not null,
  seq             bigint not null,
  tenant_id       uuid not null,
  type            jobforge.type_name not null,
  status          jobforge.finished_status not null,
  reason          jobforge.finish_reason not null,
  last_run        jobforge.run_status,
  rank            integer not null,
  attempts        jobforge.run_count not null,
  uncounted       jobforge.run_count not null,
  failures        jobforge.run_count not null,
  max_attempts    jobforge.run_budget not null,
  budget          jobforge.run_budget not null,
  run_at          jobforge.finite_time not null,
  created_at      timestamptz not null,
  started_at      timestamptz,
  finished_at     timestamptz not null,
  expires_at      jobforge.finite_time,
  worker_id       jobforge.worker_name,
  payload         jsonb,
  idempotency_key jobforge.key_text,
  dedupe_key      jobforge.key_text,
  concurrency_key jobforge.key_text,
  subject         jobforge.key_text,
  tags            jobforge.tag_list not null,
  traceparent     text,
  progress        jsonb,
  error           jsonb,
  result_id       uuid,
  result          jsonb,
  artifact_ref    text,
  cost_cents      integer,
  schedule_id     uuid,
  scheduled_for   timestamptz,
  step_id         uuid,
  keep_days       jobforge.shelf_days not null,
  handed          boolean not null default false,
  constraint a_run_has_a_worker check (last_run is null or (worker_id is not null and started_at is not null)),
  constraint a_result_has_an_id check (result_id is not null or (result is null and artifact_ref is null))
) partition by list (status);

create table jobforge.finished_jobs partition of jobforge.archive
  for values in ('succeeded', 'canceled') partition by list (keep_days);
create table jobforge.dead_jobs partition of jobforge.archive
  for values in ('failed', 'dead') partition by list (keep_days);

-- A default partition always exists, so that no settle fails because a partition is missing.
create table jobforge.finished_jobs_default partition of jobforge.finished_jobs default;
create table jobforge.dead_jobs_default partition of jobforge.dead_jobs default;

-- Not unique: an id comes from the queue or the runs, where it was unique, and every settle pays for the width of this
-- index.
create index archive_id on jobforge.archive (id);
create index archive_type on jobforge.archive (type, tenant_id, id);
create index archive_subject on jobforge.archive (subject, tenant_id, id) where subject is not null;
create index archive_schedule on jobforge.archive (schedule_id, id) where schedule_id is not null;
create index archive_canceled on jobforge.archive (id) where status = 'canceled';
create index archive_error on jobforge.archive (id) where error is not null;
create index archive_tags on jobforge.archive using gin (jobforge.tag_keys(tenant_id, tags)) where tags <> '{}';
-- Rows arrive in the order of finished_at, so a summary of a few pages finds a span of time.
create index archive_time on jobforge.archive using brin (finished_at) with (pages_per_range = 16);

-- The leaves that maintenance has made: what they hold, and how far their retirement has come.
--   cleared_to the last row whose key, payload and attempts are deleted
--   emptied_at when the leaf was truncated
create table jobforge.leaves (
  name       text collate "C" primary key,
  branch     jobforge.archive_branch not null,
  keep_days  jobforge.shelf_days not null,
  from_at    timestamptz not null,
  to_at      timestamptz not null,
  cleared_to tid not null default '(0,0)',
  emptied_at timestamptz,
  unique (branch, keep_days, from_at),
  constraint a_leaf_ends_after_its_start check (to_at > from_at)
);
