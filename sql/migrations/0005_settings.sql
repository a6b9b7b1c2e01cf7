-- What operators set: policies of types, gates, limits, and settings of tenants; and the state that limits and quotas
-- keep.

-- How the jobs of a type behave. The row '*' is the policy of every type that has none of its own.
--   base_ms, cap_ms, factor, jitter the backoff: see jobforge.backoff
--   lease_ms     how long a worker may be silent before its run is lost
--   audit_action the action that a success writes to the audit log
--   max_priority a higher priority that a caller asks for counts as this one; null: any priority
--   redact       further keys whose values are masked in errors and kept logs
--   keep_logs    the runs whose logs are kept: none, those that failed, or all
--   by_hand      the keys that an operator has set with jobforge_set_policy. Definitions do not replace these values
--                until they change themselves: see functions/operate/sync_policies.sql
create table jobforge.policies (
  type           jobforge.type_name primary key,
  base_ms        bigint not null default 1000 check (base_ms between 0 and 31536000000),
  cap_ms         bigint default 3600000 check (cap_ms between 0 and 31536000000),
  factor         double precision not null default 2 check (factor between 1 and 100),
  jitter         double precision not null default 0 check (jitter between 0 and 1),
  max_attempts   integer not null default 5 check (max_attempts between 1 and 100000),
  timeout_ms     bigint check (timeout_ms between 1 and 31536000000),
  lease_ms       bigint check (lease_ms between 1000 and 31536000000),
  audit_action   text collate "C" check (audit_action <> '' and length(audit_action) <= 200),
  keep_history   boolean not null default true,
  retention_days integer check (retention_days between 1 and 3650),
  max_priority   integer default 100 check (max_priority between -1000000 and 1000000),
  redact         text[] not null default '{}',
  keep_logs      text collate "C" not null default 'off' check (keep_logs in ('off', 'failed', 'all')),
  by_hand        text[] not null default '{}',
  updated_at     timestamptz not null default clock_timestamp(),
  updated_by     text not null default session_user
);

insert into jobforge.policies (type) values ('*');

-- The policies that the short path of a settle has to know: see functions/settle/end_plain_runs.sql.
create index policies_special on jobforge.policies (type)
  where audit_action is not null or not keep_history or retention_days is not null;

-- What the definitions of a type have said about its policy: one row for each version of the application. The row with
-- the highest seq is in force. Only the newest versions are kept: see functions/operate/sync_policies.sql.
--   version  the version of the application; '' if it gave none
--   settings the keys of the policy that the definition names, with their values
create table jobforge.declarations (
  type        jobforge.type_name not null,
  version     text collate "C" not null check (length(version) <= 200),
  seq         bigint generated always as identity,
  settings    jsonb not null,
  declared_at timestamptz not null,
  declared_by text not null,
  primary key (type, version)
);

-- A key in which a policy differs from a definition. kept: why it stays so; null: the definition is applied.
create type jobforge.policy_key as (
  key     text collate "C",
  current jsonb,
  wanted  jsonb,
  kept    text
);

-- What a gate pauses.
create domain jobforge.gate_scope as text collate "C"
  constraint gate_scope_is_known check (value in ('all', 'type', 'tenant'));

-- Gates that are closed: each pauses everything, a type or a tenant. The row ('all', '') pauses everything.
create table jobforge.gates (
  scope  jobforge.gate_scope not null,
  key    text collate "C" not null,
  reason text,
  until  timestamptz,
  set_at timestamptz not null,
  set_by text not null,
  primary key (scope, key),
  constraint all_has_no_key check ((scope = 'all') = (key = ''))
);

-- What a limit counts by.
create domain jobforge.limit_scope as text collate "C"
  constraint limit_scope_is_known check (value in ('type', 'tenant', 'type_tenant', 'key'));

-- Limits at claim time: how many jobs run at once, and how many start in a time. A row applies to one type, tenant,
-- type of a tenant or concurrency key. The key '*' is the default of those without a row of their own, each of which
-- counts by itself.
--   key      scope type: a type · tenant: a tenant's id · type_tenant: TYPE:TENANT, or TYPE:* for every tenant of a
--            type · key: a concurrency key, which belongs to its tenant and type
--   rate     up to this many starts in each `per`, and up to `burst` at once after a rest
--   in_force whether the indexes of counted jobs hold every run. The runs that began before the first limit are not in
--            them until a claim has marked those runs
create table jobforge.limits (
  scope       jobforge.limit_scope not null,
  key         jobforge.key_text not null,
  max_running integer check (max_running >= 0),
  rate        integer check (rate between 1 and 1000000),
  per         interval check (per between interval '1 millisecond' and interval '366 days'),
  burst       integer check (burst between 1 and 1000000),
  in_force    boolean not null,
  set_at      timestamptz not null,
  set_by      text not null,
  primary key (scope, key),
  constraint a_rate_has_a_time_and_a_burst check (num_nulls(rate, per, burst) in (0, 3))
);

-- The attributes of a job that limits look at.
create type jobforge.slot as (
  type            text collate "C",
  tenant_id       uuid,
  concurrency_key text collate "C"
);

-- One thing that a limit counts in, and that limit: a type, a tenant, a type of a tenant, or a concurrency key of a
-- type and tenant. Attributes that are not part of the scope are null. id is a hash of scope, type, tenant and
-- concurrency key with the installation's secret (jobforge.bucket_id).
create type jobforge.bucket as (
  id              bigint,
  scope           text collate "C",
  type            text collate "C",
  tenant_id       uuid,
  concurrency_key text collate "C",
  max_running     integer,
  rate            integer,
  per             interval,
  burst           integer,
  set_at          timestamptz,
  in_force        boolean
);

-- A job that a claim has locked and wants to start. place is the ctid of its row.
create type jobforge.candidate as (
  place           tid,
  id              uuid,
  type            text collate "C",
  tenant_id       uuid,
  concurrency_key text collate "C",
  rank            integer,
  run_at          timestamptz,
  seq             bigint
);

-- How much room a bucket has. mine: this transaction decides about it; otherwise the rest is not known. room: how many
-- jobs may start (null: any number). only_id: the only job that may start. next_at: when it is worth asking again.
create type jobforge.room as (
  mine    boolean,
  room    integer,
  only_id uuid,
  next_at timestamptz
);

-- What a claim must respect in addition to gates.
--   limited  there are limits, or requests to unpark
--   counted  a limit counts running jobs, so runs must be marked as counted
--   early    there are runs from before the first limit, which are not marked yet
--   weighted a tenant has a weight over one
--   scopes   the scopes that have limits
--   rated    a limit counts starts in a time
create type jobforge.claim_rules as (
  limited  boolean,
  counted  boolean,
  early    boolean,
  weighted boolean,
  scopes   text[],
  rated    boolean
);

-- The secret of this installation that goes into the ids of buckets. Callers choose types and concurrency keys, so
-- without a secret they could choose some whose bucket has the id of another one. No function and no view shows the
-- secret or an id. The table has exactly one row, and no index: reading it reads one page.
create table jobforge.bucket_secret (
  secret bytea not null check (length(secret) = 32)
);

insert into jobforge.bucket_secret (secret)
values (uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()));

-- The locks of buckets. A bucket's lock is the lock of the row whose number is the last bits of its id; see
-- jobforge.lock_buckets. Rows are locked and never changed. An advisory lock would not do: every login can take any.
-- Types have locks of their own, because a claim of any tenant needs those. The tables have no index: their five pages
-- are read faster than ten entries of an index. There is nothing to vacuum, and on pages without the marks that vacuum
-- sets, a lock reads one page less.
create table jobforge.bucket_locks (no integer not null) with (autovacuum_enabled = false);
create table jobforge.type_locks (no integer not null) with (autovacuum_enabled = false);

insert into jobforge.bucket_locks (no) select n from generate_series(0, 1023) n;
insert into jobforge.type_locks (no) select n from generate_series(0, 1023) n;

-- Work on limits that only one transaction does at a time, which holds the lock of the row. Rows are never changed.
--   settings    an operator sets or removes a limit
--   early_runs  a claim marks runs that began before the first limit
create table jobforge.limit_tasks (
  task text collate "C" primary key
);

insert into jobforge.limit_tasks (task) values ('settings'), ('early_runs');

-- Token buckets that are not full. One time describes the bucket: its starts so far are spread, one every per / rate,
-- up to empty_until. Only a transaction that holds the bucket's lock writes the row. A limit that is set again, so that
-- its set_at is another, starts with a full bucket.
create table jobforge.limit_rates (
  bucket      bigint primary key,
  empty_until timestamptz not null,
  set_at      timestamptz not null
) with (fillfactor = 50);

create index limit_rates_time on jobforge.limit_rates (empty_until);

-- Buckets whose parked jobs must be looked at from due_at on: the next token comes, or a slot became free while another
-- transaction held the bucket's lock, or jobs of the bucket were parked in a narrower one and did not use its room.
-- Rows are appended, so that no transaction waits. tenant_id is the bucket's tenant: no job is parked in the bucket of
-- a type. A null bucket stands for all buckets from `after` on, because a limit was changed. If there is room, up to
-- `extra` jobs of the type are unparked in addition to those that have room (see jobforge.request_wider).
create table jobforge.unpark_requests (
  id        bigint generated always as identity primary key,
  tenant_id uuid,
  bucket    bigint,
  after     bigint,
  type      text collate "C",
  extra     integer,
  due_at    timestamptz not null,
  constraint a_bucket_has_a_tenant check ((bucket is null) = (tenant_id is null)),
  constraint extra_jobs_have_a_type check ((extra is null) = (type is null))
);

create index unpark_requests_due on jobforge.unpark_requests (due_at, id);
create index unpark_requests_bucket on jobforge.unpark_requests (bucket);
create index unpark_requests_tenant on jobforge.unpark_requests (tenant_id, due_at, id);

-- What limits need where roles are bound to tenants. Such a role may be in the hands of its tenant and leave its
-- transaction open, so it holds no lock that claims of other tenants need; see limits/bound.sql.

-- Tenants to which a role is or was bound. The lock of the row protects the tenant's own buckets. Rows are locked and
-- never changed.
create table jobforge.bound_tenants (
  tenant_id uuid primary key
);

-- Marks of a tenant in a type that has a limit. A claim of a role that is bound to the tenant changes one mark for
-- every job of the type that it starts. While its transaction is open, other claims cannot lock the changed marks and
-- count them as runs.
--   used_by the transaction that changed the mark last. The same transaction does not use it again
create table jobforge.type_marks (
  id        bigint generated always as identity primary key,
  type      jobforge.type_name not null,
  tenant_id uuid not null,
  used_by   xid8 not null,
  made_at   timestamptz not null
) with (fillfactor = 50);

create index type_marks_type on jobforge.type_marks (type, tenant_id);
create index type_marks_age on jobforge.type_marks (made_at);

-- Starts of a type with a rate by claims of bound roles, which are not in limit_rates yet. Rows are appended, because
-- the row in limit_rates is shared by all tenants.
--   token_us the time between two tokens
create table jobforge.type_starts (
  id       bigint generated always as identity primary key,
  bucket   bigint not null,
  set_at   timestamptz not null,
  at       timestamptz not null,
  starts   integer not null,
  token_us bigint not null
);

create index type_starts_bucket on jobforge.type_starts (bucket, at);

-- Settings of tenants.
--   label          what people call the tenant, such as the id that the application uses; null: only its uuid
--   max_pending    the quota: how many jobs the tenant may have queued and running; null: any number
--   max_types      how many different types the tenant may use; null: jobforge.default_max_types()
--   max_schedules  how many schedules the tenant may have; null: jobforge.default_max_schedules()
--   weight         how many turns the tenant gets for every turn of the others
--   counting_since the transaction from which on every change of the tenant's jobs is noted in pending_deltas
--   counted_at     when pending_deltas was last corrected to add up to the jobs that exist; null: not yet
create table jobforge.tenants (
  tenant_id      uuid primary key,
  label          text check (octet_length(label) between 1 and 1024),
  max_pending    integer check (max_pending between 0 and 1000000000),
  max_types      integer check (max_types between 1 and 1000000),
  max_schedules  integer check (max_schedules between 0 and 1000000),
  weight         integer not null default 1 check (weight between 1 and 100),
  counting_since xid8,
  counted_at     timestamptz,
  updated_at     timestamptz not null,
  updated_by     text not null,
  constraint only_a_quota_is_counted check (max_pending is not null or (counting_since is null and counted_at is null))
);

-- Tenants with a quota.
create index tenants_quota on jobforge.tenants (tenant_id) where max_pending is not null;

-- Tenants with more than one turn, by their lane.
create index tenants_lane on jobforge.tenants (uuid_hash_extended(tenant_id, 0)) where weight > 1;

-- Changes of the number of pending jobs of tenants with a quota. The transaction that makes a change appends it, and
-- maintenance adds the rows up. A counter instead would be a row that application transactions lock.
create table jobforge.pending_deltas (
  tenant_id uuid not null,
  delta     bigint not null
) with (
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

create index pending_deltas_tenant on jobforge.pending_deltas (tenant_id) include (delta);
