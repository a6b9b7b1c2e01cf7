-- Queued and running jobs, everything that belongs to a job but not to its row, and the workers that run jobs.

-- A job to enqueue, as the caller asked for it. ord is its position in the call. bytes is the length of the payload as
-- text. Its values have not been checked, so their types are not domains. Keys have the collation of the tables'
-- columns: transactions must take keys in one order, whether they sort new jobs or rows.
--   max_attempts     what the caller asked for with this job
--   default_attempts what the job's definition says; see jobforge.attempts_for
--   notify           whom to tell about its end; see functions/webhooks/notices.sql
create type jobforge.new_job as (
  ord              integer,
  id               uuid,
  type             text collate "C",
  payload          jsonb,
  idempotency_key  text collate "C",
  run_at           timestamptz,
  max_attempts     integer,
  priority         integer,
  dedupe_key       text collate "C",
  dedupe_mode      text,
  tags             text[] collate "C",
  subject          text collate "C",
  concurrency_key  text collate "C",
  expires_at       timestamptz,
  traceparent      text,
  bytes            integer,
  default_attempts integer,
  notify           jsonb
);

-- How one run ended. ord is its position in the call.
--   status      succeeded, failed, deferred or released, as the worker reports it; or lost
--   retry       false: a failure is final
--   run_at      when a failed or deferred job is due again; null: after its backoff
--   counts      false: a deferral uses up no attempt
--   children    jobs to enqueue with a success
--   next_run_at when the schedule of the run is due next, as its handler says
--   logs        what the handler has logged: an array of lines, or {lines, dropped}
--   wait        what the job of a suspended run waits for
--   not_before  a failed job is due after its backoff, but not before this time
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
  children     jobforge.new_job[],
  next_run_at  timestamptz,
  logs         jsonb,
  wait         jsonb,
  not_before   timestamptz
);

-- The result of settling one run.
--   outcome ok: settled now · already: this run was settled before · stale: the fence refused it
--   status, run_at, tenant_id and type describe the job after ok and are null otherwise
create type jobforge.run_outcome as (
  ord       integer,
  id        uuid,
  attempt   integer,
  outcome   text,
  status    text,
  run_at    timestamptz,
  tenant_id uuid,
  type      text collate "C"
);

-- The jobs that a list or a bulk change selects. A null attribute does not filter. error_group: see
-- jobforge.error_group.
--   phase        of a queued job: due, scheduled (its first run is due later) or retrying (its next run is due later)
--   at           the time at which the phase counts
--   after_id     only jobs with larger ids, so newer ones
--   id_from, to  bounds of the id, both inclusive
--   worker       of a run, or of the run that finished the job
--   trace_id     of the job's last run, or of the request that enqueued it
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
  row_offset      integer,
  error_group     text,
  phase           text,
  at              timestamptz,
  ids             uuid[],
  after_id        uuid,
  id_from         uuid,
  id_to           uuid,
  worker          text,
  schedule_id     uuid,
  concurrency_key text,
  idempotency_key text,
  trace_id        text,
  reasons         text[],
  priority        integer,
  attempts_min    integer,
  tags_any        text[],
  payload         jsonb
);

-- The state of a queued job: see jobforge.queue.
create domain jobforge.job_state as text collate "C"
  constraint job_state_is_known check (value in ('ready', 'waiting', 'parked', 'suspended'));

-- A number of runs that a job has been granted.
create domain jobforge.run_budget as integer
  constraint run_budget_is_positive check (value >= 1);

-- The number of a run of a job.
create domain jobforge.attempt_number as integer
  constraint attempt_number_is_positive check (value >= 1);

-- A job moves through three rooms: the queue, the runs and the archive (0003_archive.sql). It is in exactly one of them
-- at any commit. A claim deletes it from the queue and inserts it into the runs. The end of its run deletes it from the
-- runs and inserts it into the archive, or into the queue again. So a claim and a settle never meet on a row, and no
-- settle waits for a claim. A statement that looks for a job in two rooms must read both, because each statement of a
-- function has its own snapshot: see jobforge.live_rows in views/jobs.sql.
--
-- Queue and runs are small and hot. Claims, settles and enqueues write to them all the time, so every further column
-- and index has a price.

-- Queued jobs. Most of the indexes are partial: a row has an entry only in those of its state, and in those of keys
-- that it has.
--   seq           the order of enqueueing; breaks ties of run_at
--   lane          a 64-bit hash of the tenant. Lanes take turns; a hash gives no tenant a better place than another
--   state         ready: may be claimed · waiting: run_at is in the future · parked: may be claimed, but a limit has no
--                 room for it · suspended: its handler waits for a signal or for children, without a time
--   rank          -priority, so that the most urgent job is the first in every ascending index
--   attempts      the number of runs so far
--   uncounted     runs that used up no attempt, because they were released or deferred without counting
--   failures      runs that failed or were lost: the n of the backoff
--   losses        runs that were lost in a row
--   max_attempts  the number of counted runs after which the job is dead
--   budget        the number of runs granted at enqueue, and again by a reschedule
--   started_at    when the last run started
--   payload       null when the payload is in jobforge.payloads
--   dedupe_key    has a row in jobforge.dedupe_keys as long as the job is queued or runs
--   scheduled_for the due time that a run of a schedule is for
--   parked_in     the bucket that had no room for the job. It means something only while the job is parked
--   step_id       the step of a workflow that the job runs (0009_workflows.sql)
--   keep_days     for how many days the finished job is kept, because its workflow is; null: as the policy says
create table jobforge.queue (
  id              uuid primary key,
  seq             bigint generated always as identity,
  tenant_id       uuid not null,
  lane            bigint not null,
  type            jobforge.type_name not null,
  state           jobforge.job_state not null,
  rank            integer not null default 0,
  attempts        jobforge.run_count not null default 0,
  uncounted       jobforge.run_count not null default 0,
  failures        jobforge.run_count not null default 0,
  losses          jobforge.run_count not null default 0,
  max_attempts    jobforge.run_budget not null,
  budget          jobforge.run_budget not null,
  run_at          jobforge.finite_time not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  expires_at      jobforge.finite_time,
  started_at      timestamptz,
  payload         jsonb,
  idempotency_key jobforge.key_text,
  dedupe_key      jobforge.key_text,
  concurrency_key jobforge.key_text,
  subject         jobforge.key_text,
  tags            jobforge.tag_list not null default '{}',
  traceparent     text,
  progress        jsonb,
  error           jsonb,
  cost_cents      integer,
  schedule_id     uuid,
  scheduled_for   timestamptz,
  parked_in       bigint,
  step_id         uuid,
  keep_days       integer,
  -- Checked instead of generated: every update would parse the expression of a generated column again for each row.
  constraint lane_is_the_tenants check (lane = uuid_hash_extended(tenant_id, 0)),
  constraint uncounted_runs_are_attempts check (uncounted <= attempts),
  constraint a_run_has_a_due_time check ((schedule_id is null) = (scheduled_for is null)),
  constraint parked_in_a_bucket check (state <> 'parked' or parked_in is not null)
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

-- By state: what claims walk, what becomes due (for claims for every tenant, and for one), what waits for room in a
-- bucket. queue_ready has THE CLAIM ORDER of functions/claim/claim.sql for each type.
create index queue_ready on jobforge.queue (type, rank, lane, run_at, seq) where state = 'ready';
create index queue_waiting on jobforge.queue (type, run_at) where state = 'waiting';
create index queue_waiting_tenant on jobforge.queue (tenant_id, type, run_at) where state = 'waiting';
create index queue_parked on jobforge.queue (parked_in, type, rank, run_at, seq) where state = 'parked';

-- A tenant's jobs. The condition is always true, and statements that want this index repeat it. It keeps the index away
-- from lookups by id alone: in a plan that was made while the queue was empty, it looks as cheap as the primary key.
create index queue_tenant on jobforge.queue (tenant_id, id) where state <> '';
create index queue_subject on jobforge.queue (tenant_id, subject, id) where subject is not null;
create index queue_schedule on jobforge.queue (schedule_id) where schedule_id is not null;
create index queue_expiry on jobforge.queue (expires_at) where expires_at is not null;

-- The queued jobs of a concurrency key: the first one, and those that have had a run. A retry keeps its place.
create index queue_key_order on jobforge.queue (type, tenant_id, concurrency_key, rank, run_at, seq)
  where concurrency_key is not null and state in ('ready', 'parked');
create index queue_key_begun on jobforge.queue (type, tenant_id, concurrency_key)
  where concurrency_key is not null and attempts > 0;

-- Running jobs: a worker holds the lease of each. Columns are those of the queue, and their values come from there, so
-- that the queue's rules about several columns are not checked again.
--   attempts the number of this run, which is part of the fence
--   counted  limits find the run through the indexes below
--   bound    a role that is bound to the job's tenant has claimed it. A bound role cannot touch other runs: its open
--            transaction would make the settles of a worker that is not bound wait
--   handed   its enqueue has handed the job to the worker, which learns of it by a notification or its next heartbeat
create table jobforge.runs (
  id              uuid primary key,
  seq             bigint not null,
  tenant_id       uuid not null,
  type            jobforge.type_name not null,
  rank            integer not null,
  attempts        jobforge.attempt_number not null,
  uncounted       jobforge.run_count not null,
  failures        jobforge.run_count not null,
  losses          jobforge.run_count not null,
  max_attempts    jobforge.run_budget not null,
  budget          jobforge.run_budget not null,
  run_at          jobforge.finite_time not null,
  created_at      timestamptz not null,
  updated_at      timestamptz not null,
  expires_at      jobforge.finite_time,
  started_at      timestamptz not null,
  heartbeat_at    timestamptz,
  worker_id       jobforge.worker_name not null,
  payload         jsonb,
  idempotency_key jobforge.key_text,
  dedupe_key      jobforge.key_text,
  concurrency_key jobforge.key_text,
  subject         jobforge.key_text,
  tags            jobforge.tag_list not null,
  traceparent     text,
  progress        jsonb,
  error           jsonb,
  cost_cents      integer,
  schedule_id     uuid,
  scheduled_for   timestamptz,
  step_id         uuid,
  keep_days       integer,
  counted         boolean not null,
  bound           boolean not null,
  handed          boolean not null default false
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

-- What a worker holds. There is no index by tenant: runs are few at any time, and a claim has one index less to write.
create index runs_worker on jobforge.runs (worker_id, started_at);
create index runs_schedule on jobforge.runs (schedule_id) where schedule_id is not null;

-- The runs that limits count.
create index runs_counted on jobforge.runs (type, tenant_id) where counted;
create index runs_counted_tenant on jobforge.runs (tenant_id) where counted;
create index runs_key on jobforge.runs (type, tenant_id, concurrency_key) where concurrency_key is not null;

-- The dedupe keys of live jobs. A key stays while its job moves between the queue and the runs, and goes when the job
-- finishes. Only jobs that have a dedupe key pay for this table. No transaction locks a row without deleting it, so
-- the end of a run never waits for an application here.
create table jobforge.dedupe_keys (
  tenant_id  uuid not null,
  type       jobforge.type_name not null,
  dedupe_key jobforge.key_text not null,
  job_id     uuid not null,
  primary key (tenant_id, type, dedupe_key)
) with (
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

-- A dedupe key of a live job.
create type jobforge.live_key as (
  tenant_id  uuid,
  type       text collate "C",
  dedupe_key text collate "C"
);

-- Payloads over about 1.5 kB. They are written once and do not move with their job.
--   bytes   the length of the payload, by which claims and pages are bounded
--   payload the payload as jsonb is printed. It is claimed as text: jsonb would be printed again for every run
create table jobforge.payloads (
  job_id    uuid primary key,
  tenant_id uuid not null,
  bytes     integer not null,
  payload   text not null
);

-- Idempotency keys. A key outlives the live row and goes when its job is forgotten.
--   forget_at set for a job whose type keeps no history
create table jobforge.job_keys (
  tenant_id       uuid not null,
  type            jobforge.type_name not null,
  idempotency_key jobforge.key_text not null,
  job_id          uuid not null,
  forget_at       timestamptz,
  primary key (tenant_id, type, idempotency_key)
);

create index job_keys_job on jobforge.job_keys (job_id);
create index job_keys_forget on jobforge.job_keys (forget_at) where forget_at is not null;

-- The registry: which types a tenant uses. Claims for any type, lists and quotas go from type to type of one tenant
-- here, so the types of another tenant cost them nothing. A tenant that has a live job, an archived job or a schedule
-- of a type has a row for it. The index is not unique, so that no enqueue waits for another transaction: a pair may
-- have several rows. See functions/enqueue/register_types.sql.
--   seen_at when the pair was last registered or found in use
create table jobforge.tenant_types (
  tenant_id uuid not null,
  type      jobforge.type_name not null,
  seen_at   timestamptz not null
);

create index tenant_types_type on jobforge.tenant_types (tenant_id, type, seen_at);
create index tenant_types_seen on jobforge.tenant_types (seen_at);
-- By hashes, in which claims find a random tenant or type. Ids and names may be close together.
create index tenant_types_hash on jobforge.tenant_types (uuid_hash_extended(tenant_id, 0), hashtextextended(type, 0));

-- Requests to cancel a running job. A request is a row of its own and no update of the run, so that an
-- application transaction that stays open after a cancel delays no settle.
create table jobforge.cancel_requests (
  job_id       uuid primary key,
  tenant_id    uuid not null,
  worker_id    jobforge.worker_name not null,
  requested_at timestamptz not null,
  requested_by text not null
);

create index cancel_requests_worker on jobforge.cancel_requests (worker_id);

-- How a run ended.
create domain jobforge.run_status as text collate "C"
  constraint run_status_is_known check (value in ('succeeded', 'failed', 'lost', 'deferred', 'released'));

-- Runs that did not finish their job. The run that did is part of the job's row in the archive.
create table jobforge.attempts (
  job_id      uuid not null,
  attempt_no  jobforge.attempt_number not null,
  tenant_id   uuid not null,
  status      jobforge.run_status not null,
  worker_id   jobforge.worker_name not null,
  started_at  timestamptz not null,
  finished_at timestamptz not null,
  error       jsonb,
  handed      boolean not null default false,
  primary key (job_id, attempt_no)
);

create index attempts_tenant on jobforge.attempts (tenant_id, job_id);

-- Jobs that a client waits for. When such a job finishes, the settle sends a notification.
create table jobforge.watches (
  job_id uuid primary key,
  until  timestamptz not null
);

-- Children of a run whose keys were held by an application's open transaction when the run ended. They are enqueued a
-- little later, so that no settle waits.
create table jobforge.outbox (
  id        bigint generated always as identity primary key,
  tenant_id uuid not null,
  jobs      jobforge.new_job[] not null
);

-- Maintenance goes from tenant to tenant.
create index outbox_by_tenant on jobforge.outbox (tenant_id, id);

-- Workers that heartbeat as workers. A job's lease lives as long as the worker that holds it.
--   scope      the tenant that the worker's role is bound to, or all ones. A bound worker keeps no other tenant's lease
--              alive
--   stopped_at when the worker said that it stops. Null while it runs, and after it crashed
create table jobforge.workers (
  id         jobforge.worker_name not null,
  scope      uuid not null,
  instance   text collate "C",
  started_at timestamptz not null,
  seen_at    timestamptz not null,
  stopped_at timestamptz,
  info       jsonb not null default '{}',
  primary key (id, scope)
) with (fillfactor = 50);

create index workers_scope on jobforge.workers (scope);

-- Requests of operators that a process of a worker stops. A request is a row of its own, so that no heartbeat waits for
-- the transaction that makes it.
create table jobforge.stop_requests (
  worker_id    jobforge.worker_name not null,
  scope        uuid not null,
  instance     text collate "C",
  requested_at timestamptz not null,
  requested_by text not null,
  primary key (worker_id, scope)
);

-- Idle workers that want a wake-up for jobs of a type. '*' stands for any type. The scope is that of the worker: two
-- workers of one name, of which one is bound to a tenant, have rows of their own and never wait for each other.
--   takes whether an enqueue may hand jobs of the type to the worker, within its offers
create table jobforge.idle_workers (
  type      jobforge.type_name not null,
  scope     uuid not null,
  worker_id jobforge.worker_name not null,
  since     timestamptz not null,
  takes     boolean not null,
  primary key (type, scope, worker_id)
);

create index idle_workers_worker on jobforge.idle_workers (worker_id, scope);

-- The slots that idle workers offer to enqueues. An enqueue that hands a job over locks an offer until it commits, so
-- that as many enqueues as there are offers do so at the same time. An offer stays when it was used: whether a slot is
-- free is decided by the worker's runs.
--   slots       how many jobs the worker runs at once
--   rests_until no enqueue uses the offer before, because finding out whether it may was costly
create table jobforge.offers (
  worker_id   jobforge.worker_name not null,
  scope       uuid not null,
  slot        integer not null,
  slots       integer not null,
  rests_until timestamptz not null,
  primary key (worker_id, scope, slot)
) with (fillfactor = 50);

-- Whose turn it is: counts the claims that came without a hint while more tenants waited than the claim had places.
create sequence jobforge.turns minvalue 0 start 0 cycle;

-- The ready jobs of one type, rank and lane, from (from_at, from_seq) on. Claims take jobs from streams.
create type jobforge.stream as (
  type     text collate "C",
  rank     integer,
  lane     bigint,
  from_at  timestamptz,
  from_seq bigint
);

-- What a worker passes from claim to claim: see functions/claim/hint.sql.
create type jobforge.hint as (
  key     text,
  at      timestamptz,
  lane    bigint,
  due     timestamptz,
  streams jobforge.stream[],
  types   text[],
  ask     timestamptz,
  many    timestamptz,
  costly  boolean
);

-- A page of jobs in some order: their ids, when they finished (null: live), the cursor of the next page, and how far a
-- search came that stopped early. See functions/read/browse_jobs.sql.
create type jobforge.job_page as (
  ids            uuid[],
  ends           timestamptz[],
  next           text,
  searched_after timestamptz
);

-- A place in an order by time: the last job before it.
create type jobforge.time_cursor as (
  at timestamptz,
  id uuid
);
