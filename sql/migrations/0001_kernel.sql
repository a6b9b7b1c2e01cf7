-- The tables of the kernel. Everything here is owned by jobforge_owner and closed to everybody else: clients
-- reach it through the functions and views of the API schema only.

-- One row: which JobForge this database holds.
create table jobforge.installation (
  only_row     boolean primary key default true check (only_row),
  version      text not null,
  api_schema   text not null,
  min_client   text not null,
  time_travel  boolean not null default false,
  installed_at timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp()
);

-- What the kernel's functions hand to each other. One job to enqueue, as asked for; ord is its place in the call.
create type jobforge.new_job as (
  ord             integer,
  id              uuid,
  type            text,
  payload         jsonb,
  idempotency_key text,
  run_at          timestamptz,
  max_attempts    integer,
  priority        integer,
  dedupe_key      text,
  dedupe_mode     text,
  tags            text[],
  subject         text,
  concurrency_key text,
  expires_at      timestamptz,
  traceparent     text
);

-- How one run ended: status is succeeded, failed, deferred or released as a worker reports it, or lost.
create type jobforge.run_end as (
  ord          integer,
  id           uuid,
  attempt      integer,
  status       text,
  error        jsonb,
  result       jsonb,
  artifact_ref text,
  retry        boolean,
  run_at       timestamptz,
  counts       boolean,
  cost_cents   integer,
  children     jobforge.new_job[]
);

-- What became of one run's end: outcome is ok, already or stale; status, run_at, tenant_id and type are the job's, after ok.
create type jobforge.run_outcome as (
  ord       integer,
  id        uuid,
  attempt   integer,
  outcome   text,
  status    text,
  run_at    timestamptz,
  tenant_id uuid,
  type      text
);

-- The ready jobs of one type, rank and lane, from (from_at, from_seq) on: what claim takes from.
create type jobforge.stream as (
  type     text,
  rank     integer,
  lane     bigint,
  from_at  timestamptz,
  from_seq bigint
);

-- What a worker remembers of its last claims: see repeatable/085_hint.sql.
create type jobforge.hint as (
  key     text,
  at      timestamptz,
  lane    bigint,
  due     timestamptz,
  streams jobforge.stream[],
  types   text[],
  ask     timestamptz,
  many    timestamptz
);

-- A cron expression that was read: one bit for each value that a field allows. The 32nd of days is the last day of the month.
-- Six weeks of weekdays from Sunday on: the first, second, third, fourth, fifth and last of each in a month. Days and weekdays
-- are one choice: a day runs when either allows it. @every has an interval and nothing else.
create type jobforge.cron as (
  seconds  bit(60),
  minutes  bit(60),
  hours    bit(24),
  days     bit(32),
  months   bit(12),
  weekdays bit(42),
  every    interval
);

-- Which jobs a list or a bulk change means; null is any.
create type jobforge.job_filter as (
  statuses        text[],
  types           text[],
  tags            text[],
  subject         text,
  error_contains  text,
  created_after   timestamptz,
  created_before  timestamptz,
  finished_after  timestamptz,
  finished_before timestamptz,
  before_id       uuid,
  row_limit       integer,
  row_offset      integer
);

-- What migrate() has applied: numbered files once, repeatable ones again whenever their text changes.
create table jobforge.migrations (
  number     integer primary key check (number > 0),
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
);

create table jobforge.repeatables (
  name       text primary key,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- Live jobs only: queued and running. Small and hot, so few columns are indexed and finished rows leave at once.
--   state   ready: may be claimed · waiting: run_at lies ahead · running: a worker holds the lease
--   rank    -priority, so that the best job is the first in every ascending index
--   lane    what takes turns: a 64-bit hash of the tenant, so that lanes are visited in no tenant's favour
--   failures executions that failed or were lost so far: the n of the backoff; losses: lost in a row
--   budget  executions granted at enqueue, and again by a reschedule
--   payload null when it lives in jobforge.payloads
create table jobforge.jobs (
  id              uuid primary key,
  seq             bigint generated always as identity,
  tenant_id       uuid not null,
  lane            bigint not null,
  type            text not null check (type <> '' and length(type) <= 200),
  state           text not null check (state in ('ready', 'waiting', 'running')),
  rank            integer not null default 0,
  attempts        integer not null default 0 check (attempts >= 0),
  uncounted       integer not null default 0 check (uncounted between 0 and attempts),
  failures        integer not null default 0 check (failures >= 0),
  losses          integer not null default 0 check (losses >= 0),
  max_attempts    integer not null check (max_attempts >= 1),
  budget          integer not null check (budget >= 1),
  run_at          timestamptz not null check (isfinite(run_at)),
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  expires_at      timestamptz check (isfinite(expires_at)),
  started_at      timestamptz,
  heartbeat_at    timestamptz,
  worker_id       text,
  payload         jsonb,
  idempotency_key text,
  dedupe_key      text,
  concurrency_key text,
  subject         text,
  tags            text[] not null default '{}',
  traceparent     text,
  progress        jsonb,
  error           jsonb,
  cost_cents      integer,
  -- Checked, not generated: for a generated column every update parses its expression again for each row.
  constraint lane_is_the_tenants check (lane = uuid_hash_extended(tenant_id, 0)),
  constraint running_has_a_worker check ((state = 'running') = (worker_id is not null)),
  constraint running_has_started check (state <> 'running' or (started_at is not null and attempts > 0))
) with (
  vacuum_truncate = off,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_insert_threshold = 100000,
  autovacuum_vacuum_insert_scale_factor = 0,
  autovacuum_analyze_threshold = 20000,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

create index jobs_ready on jobforge.jobs (type, rank, lane, run_at, seq) where state = 'ready';
create index jobs_waiting on jobforge.jobs (type, run_at) where state = 'waiting';
create index jobs_running on jobforge.jobs (worker_id, started_at) where state = 'running';
-- Queued jobs only: those that run are few, and a claim has one index less to write.
create index jobs_tenant on jobforge.jobs (tenant_id, id) where state <> 'running';
create unique index jobs_dedupe on jobforge.jobs (tenant_id, type, dedupe_key) where dedupe_key is not null;
create index jobs_subject on jobforge.jobs (tenant_id, subject, id) where subject is not null;
create index jobs_expiry on jobforge.jobs (expires_at) where expires_at is not null and state <> 'running';

-- Payloads over about 1.5 kB: written once, never moved with their job.
create table jobforge.payloads (
  job_id    uuid primary key,
  tenant_id uuid not null,
  payload   jsonb not null
);

-- Idempotency keys. They outlive the live row and go when the job is forgotten; forget_at is set for jobs
-- whose type keeps no history.
create table jobforge.job_keys (
  tenant_id       uuid not null,
  type            text not null,
  idempotency_key text not null,
  job_id          uuid not null,
  forget_at       timestamptz,
  primary key (tenant_id, type, idempotency_key)
);

create index job_keys_job on jobforge.job_keys (job_id);
create index job_keys_forget on jobforge.job_keys (forget_at) where forget_at is not null;

-- Requests to cancel a running job. Appended, never an update of the running row, so that an application
-- transaction left open after a cancel delays no settle.
create table jobforge.cancel_requests (
  job_id       uuid primary key,
  tenant_id    uuid not null,
  worker_id    text not null,
  requested_at timestamptz not null,
  requested_by text not null
);

create index cancel_requests_worker on jobforge.cancel_requests (worker_id);

-- Attempts that did not end their job. The one that did is part of the finished row.
create table jobforge.attempts (
  job_id      uuid not null,
  attempt_no  integer not null check (attempt_no > 0),
  tenant_id   uuid not null,
  status      text not null check (status in ('failed', 'lost', 'deferred', 'released', 'succeeded', 'canceled')),
  worker_id   text not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  error       jsonb,
  primary key (job_id, attempt_no)
);

create index attempts_tenant on jobforge.attempts (tenant_id, job_id);

-- Ended jobs, append-only, in two branches: successes and cancellations in finished_jobs; failures, which are few, are
-- searched most and may return, in dead_jobs. Each branch has a shelf for every time of keeping in use, and each shelf is
-- cut by finished_at, so retention drops whole leaves and deletes no rows.
--   last_run how the run ended that ended the job; null when no run did (canceled or expired while queued)
--   reason   why, in one word: done, refused, exhausted, crashed, canceled, expired
create table jobforge.archive (
  id              uuid not null,
  seq             bigint not null,
  tenant_id       uuid not null,
  type            text not null,
  status          text not null check (status in ('succeeded', 'failed', 'dead', 'canceled')),
  reason          text not null check (reason in ('done', 'refused', 'exhausted', 'crashed', 'canceled', 'expired')),
  last_run        text check (last_run in ('succeeded', 'failed', 'lost', 'deferred', 'released')),
  rank            integer not null,
  attempts        integer not null,
  uncounted       integer not null,
  failures        integer not null,
  max_attempts    integer not null,
  budget          integer not null,
  run_at          timestamptz not null,
  created_at      timestamptz not null,
  started_at      timestamptz,
  finished_at     timestamptz not null,
  expires_at      timestamptz,
  worker_id       text,
  payload         jsonb,
  idempotency_key text,
  dedupe_key      text,
  concurrency_key text,
  subject         text,
  tags            text[] not null,
  traceparent     text,
  progress        jsonb,
  error           jsonb,
  result_id       uuid,
  result          jsonb,
  artifact_ref    text,
  cost_cents      integer,
  keep_days       integer not null check (keep_days > 0),
  constraint a_run_has_a_worker check (last_run is null or (worker_id is not null and started_at is not null)),
  constraint a_result_has_an_id check (result_id is not null or (result is null and artifact_ref is null))
) partition by list (status);

create table jobforge.finished_jobs partition of jobforge.archive
  for values in ('succeeded', 'canceled') partition by list (keep_days);
create table jobforge.dead_jobs partition of jobforge.archive
  for values in ('failed', 'dead') partition by list (keep_days);

-- A default always exists, so no settle fails for want of a partition.
create table jobforge.finished_jobs_default partition of jobforge.finished_jobs default;
create table jobforge.dead_jobs_default partition of jobforge.dead_jobs default;

-- No unique index: an id comes from jobforge.jobs, where it was unique, and a narrow index is what every settle pays for.
create index archive_id on jobforge.archive (id);
create index archive_type on jobforge.archive (type, tenant_id, id);
create index archive_subject on jobforge.archive (subject, tenant_id, id) where subject is not null;
create index archive_canceled on jobforge.archive (id) where status = 'canceled';
create index archive_error on jobforge.archive (id) where error is not null;
create index archive_tags on jobforge.archive using gin (jobforge.tag_keys(tenant_id, tags)) where tags <> '{}';
-- Rows arrive in the order of finished_at, so a few pages of summary find a span of time.
create index archive_time on jobforge.archive using brin (finished_at) with (pages_per_range = 16);

-- The leaves of the archive that maintenance made: what they hold and how far their retirement has come.
--   cleared_to the last row whose key, payload and attempts are gone; emptied_at when the leaf was truncated
create table jobforge.leaves (
  name       text primary key,
  branch     text not null check (branch in ('finished_jobs', 'dead_jobs')),
  keep_days  integer not null,
  from_at    timestamptz not null,
  to_at      timestamptz not null check (to_at > from_at),
  cleared_to tid not null default '(0,0)',
  emptied_at timestamptz,
  unique (branch, keep_days, from_at)
);

-- How each type behaves. The row '*' is the policy of every type that has none of its own.
create table jobforge.policies (
  type           text primary key check (type <> '' and length(type) <= 200),
  base_ms        bigint not null default 1000 check (base_ms between 0 and 31536000000),
  cap_ms         bigint default 3600000 check (cap_ms between 0 and 31536000000),
  factor         double precision not null default 2 check (factor between 1 and 100),
  jitter         double precision not null default 0 check (jitter between 0 and 1),
  max_attempts   integer not null default 5 check (max_attempts between 1 and 100000),
  timeout_ms     bigint check (timeout_ms between 1 and 31536000000),
  lease_ms       bigint check (lease_ms between 1000 and 31536000000),
  audit_action   text check (audit_action <> '' and length(audit_action) <= 200),
  keep_history   boolean not null default true,
  retention_days integer check (retention_days between 1 and 3650),
  max_priority   integer check (max_priority between -1000000 and 1000000),
  redact         text[] not null default '{}',
  updated_at     timestamptz not null default clock_timestamp(),
  updated_by     text not null default session_user
);

insert into jobforge.policies (type) values ('*');

-- Counts claims that come without a hint and have more tenants waiting than places: whose turn it is.
create sequence jobforge.turns minvalue 0 start 0 cycle;

-- Pauses. The row ('all', '') is the gate of everything.
create table jobforge.gates (
  scope  text not null check (scope in ('all', 'type', 'tenant')),
  key    text not null,
  reason text,
  until  timestamptz,
  set_at timestamptz not null,
  set_by text not null,
  primary key (scope, key),
  constraint all_has_no_key check ((scope = 'all') = (key = ''))
);

-- Workers that heartbeat as workers. A job's lease lives as long as the worker that holds it.
--   scope the tenant that the worker's role is bound to, or all ones: a bound worker keeps no other tenant's lease alive
create table jobforge.workers (
  id         text not null,
  scope      uuid not null,
  instance   text,
  started_at timestamptz not null,
  seen_at    timestamptz not null,
  info       jsonb not null default '{}',
  primary key (id, scope)
) with (fillfactor = 50);

-- Workers that sleep and want to be woken for a type ('*': any).
create table jobforge.idle_workers (
  type      text not null,
  worker_id text not null,
  since     timestamptz not null,
  primary key (type, worker_id)
);

create index idle_workers_worker on jobforge.idle_workers (worker_id);

-- Jobs whose end somebody waits for.
create table jobforge.watches (
  job_id uuid primary key,
  until  timestamptz not null
);

-- Children of a run whose keys an application's open transaction held when the run ended: enqueued a little later, so
-- that no settle waits.
create table jobforge.outbox (
  id        bigint generated always as identity primary key,
  tenant_id uuid not null,
  jobs      jobforge.new_job[] not null
);

-- A login bound to one tenant. Nothing that the login sets overrides it.
create table jobforge.role_bindings (
  role      text primary key,
  tenant_id uuid not null,
  bound_at  timestamptz not null,
  bound_by  text not null
);

create table jobforge.connector_configs (
  tenant_id      uuid not null,
  connector_type text not null check (connector_type <> '' and length(connector_type) <= 200),
  config         jsonb not null default '{}',
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  primary key (tenant_id, connector_type)
);

create table jobforge.audit_log (
  id          bigint generated always as identity primary key,
  at          timestamptz not null,
  tenant_id   uuid not null,
  actor       text not null,
  action      text not null,
  entity_type text not null,
  entity_id   text not null,
  message     text,
  meta        jsonb not null default '{}'
);

create index audit_log_tenant on jobforge.audit_log (tenant_id, id);
create index audit_log_entity on jobforge.audit_log (entity_type, entity_id, id);

-- When each task of maintenance last ran: its throttle, and the lock that keeps two workers from the same task.
create table jobforge.maintenance (
  task   text primary key,
  ran_at timestamptz not null
) with (fillfactor = 50);

insert into jobforge.maintenance (task, ran_at)
values ('jobs', '-infinity'), ('leaves', '-infinity'), ('retire', '-infinity'), ('forget', '-infinity');
