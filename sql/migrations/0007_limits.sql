-- Limits at claim time.

-- At most so many running at once, and at most so many starts in a time. A row counts for each type, tenant, type of a tenant or
-- concurrency key by itself; '*' is the default of those that have no row of their own.
--   key      type: a type · tenant: a tenant's id · type_tenant: TYPE:TENANT, or TYPE:* for every tenant of a type ·
--            key: a concurrency key, which belongs to its tenant and type
--   rate     so many starts in each `per`, and up to `burst` at once after a rest
--   in_force whether every job that runs is counted in the indexes below. The runs from before the first limit are not, until
--            a claim has marked them
create table jobforge.limits (
  scope       text not null check (scope in ('type', 'tenant', 'type_tenant', 'key')),
  key         text not null check (key <> '' and octet_length(key) <= 1024),
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

-- What limits have to know of a job.
create type jobforge.slot as (
  type            text,
  tenant_id       uuid,
  concurrency_key text
);

-- One thing that a limit counts, and the limit: a type, a tenant, a tenant's type, or a concurrency key of those. What is not part
-- of the scope is null. id is a hash of what it is.
create type jobforge.bucket as (
  id              bigint,
  scope           text,
  type            text,
  tenant_id       uuid,
  concurrency_key text,
  max_running     integer,
  rate            integer,
  per             interval,
  burst           integer,
  set_at          timestamptz,
  in_force        boolean
);

-- A job that a claim has locked and wants to start.
create type jobforge.candidate as (
  place           tid,
  id              uuid,
  type            text,
  tenant_id       uuid,
  concurrency_key text,
  rank            integer,
  run_at          timestamptz,
  seq             bigint
);

-- Token buckets that are not full. One time says it all: the starts so far are spread, one every per / rate, up to empty_until.
-- Written by whoever holds the bucket's lock, and nobody else. A limit that was set anew starts with a full bucket.
create table jobforge.limit_rates (
  bucket      bigint primary key,
  empty_until timestamptz not null,
  set_at      timestamptz not null
) with (fillfactor = 50);

create index limit_rates_time on jobforge.limit_rates (empty_until);

-- Buckets whose parked jobs have to be looked at from due_at on: the next token comes, or a slot became free while somebody
-- else held the bucket's lock. Appended, so that nobody waits. Without a bucket: all of them, from `after` on, because a limit
-- was changed.
create table jobforge.unpark_requests (
  id     bigint generated always as identity primary key,
  bucket bigint,
  after  bigint,
  due_at timestamptz not null
);

create index unpark_requests_due on jobforge.unpark_requests (due_at, id);
create index unpark_requests_bucket on jobforge.unpark_requests (bucket);

-- What a claim has to mind beside gates: limits, the marks that they need on jobs that run, and weights.
create type jobforge.claim_rules as (
  limited  boolean,
  counted  boolean,
  early    boolean,
  weighted boolean
);

-- parked: it could be claimed, but its bucket parked_in has no room. Out of the index that claims walk, so it costs them nothing.
-- counted: it runs while there are limits. Constraints are not checked against the rows there are, which obey stricter ones.
alter table jobforge.jobs
  add column parked_in bigint,
  add column counted boolean not null default false,
  drop constraint jobs_state_check,
  add constraint jobs_state_check check (state in ('ready', 'waiting', 'parked', 'running')) not valid,
  add constraint parked_in_a_bucket check (state <> 'parked' or parked_in is not null) not valid,
  add constraint what_counts_runs check (not counted or state = 'running') not valid;

create index jobs_parked on jobforge.jobs (parked_in, type, rank, run_at, seq) where state = 'parked';
create index jobs_counted on jobforge.jobs (type, tenant_id) where counted;
create index jobs_counted_tenant on jobforge.jobs (tenant_id) where counted;
-- Who is first of a concurrency key, and who of it has begun: a retry keeps its place.
create index jobs_key_queue on jobforge.jobs (type, tenant_id, concurrency_key, rank, run_at, seq)
  where concurrency_key is not null and state in ('ready', 'parked');
create index jobs_key_begun on jobforge.jobs (type, tenant_id, concurrency_key)
  where concurrency_key is not null and attempts > 0;

-- Tenants that take more turns than one, by their lane.
create index tenants_lane on jobforge.tenants (uuid_hash_extended(tenant_id, 0)) where weight > 1;
