-- Artifacts: large contents in a store outside the database, such as reports, payloads and results.

-- The folders of the artifact store that may contain something. A client notes the folder before it stores an artifact
-- there, so that a crash leaves no unknown content behind. A folder is area/tenant_id/id, and has one row, however many
-- contents it has. Only jobs with artifacts have rows.
--   id       the job's; in the area payloads an id that was made before the job had one
--   job_id   the job whose contents these are; null: the payload of a job that has not been enqueued yet
--   check_at when to check whether the job is still remembered. If it is not, the contents can be deleted
--   released the job's other rows were deleted, so that it is forgotten soon, or already is
create table jobforge.artifacts (
  id        uuid not null,
  area      text collate "C" not null,
  tenant_id uuid not null,
  job_id    uuid,
  noted_at  timestamptz not null,
  check_at  timestamptz not null,
  released  boolean not null default false,
  primary key (id, area),
  constraint area_is_a_word check (area ~ '^[a-z]{1,32}$'),
  constraint contents_have_a_job check (job_id is not null or area = 'payloads')
);

create index artifacts_check on jobforge.artifacts (check_at);
create index artifacts_job on jobforge.artifacts (job_id) where job_id is not null;
create index artifacts_unbound on jobforge.artifacts (tenant_id) where job_id is null;
