-- What tenants use and may use: metering, quotas, settings of a tenant.

-- What the runs of one call that ended them add to the usage of a tenant and type, until maintenance merges it: appended, so
-- that no two workers wait for each other, and written with the ends, so that each counts once. Columns as in usage; waits
-- and lengths have one number for each run, in milliseconds.
create table jobforge.usage_deltas (
  id         bigint generated always as identity primary key,
  tenant_id  uuid not null,
  type       text not null,
  hour       timestamptz not null,
  runs       integer not null,
  succeeded  integer not null,
  failed     integer not null,
  lost       integer not null,
  deferred   integer not null,
  retries    integer not null,
  dead       integer not null,
  cost_cents bigint not null,
  waits      bigint[] not null,
  lengths    bigint[] not null
) with (
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

-- Usage per tenant, type and hour (of the runs' ends). It outlives the jobs.
--   runs      executions that ended; those handed back unstarted are none
--   failed    runs that reported a failure · lost: whose worker fell silent · deferred: that put themselves off
--   retries   failed and lost runs after which the job was queued again · dead: jobs that their run ended as failed or dead
--   wait_ms   from being due to the start, of all runs · run_ms: from the start to the end, of all but the lost
--   *_histogram how many runs by their length, from bucket 0 on: see jobforge.bin_of
create table jobforge.usage (
  tenant_id      uuid not null,
  hour           timestamptz not null,
  type           text not null,
  runs           bigint not null,
  succeeded      bigint not null,
  failed         bigint not null,
  lost           bigint not null,
  deferred       bigint not null,
  retries        bigint not null,
  dead           bigint not null,
  cost_cents     bigint not null,
  wait_ms        bigint not null,
  run_ms         bigint not null,
  wait_histogram integer[] not null,
  run_histogram  integer[] not null,
  primary key (tenant_id, hour, type),
  constraint every_run_ended_somehow check (runs = succeeded + failed + lost + deferred)
) with (fillfactor = 80);

create index usage_hour on jobforge.usage (hour);

-- How many jobs a tenant has live of a type; exact unless it is an estimate.
create type jobforge.live_count as (
  tenant_id     uuid,
  type          text,
  queued        bigint,
  scheduled     bigint,
  running       bigint,
  oldest_run_at timestamptz,
  exact         boolean
);

-- What operators have set for a tenant.
--   max_pending    how many jobs it may have queued and running; null: any number
--   weight         how many turns it gets where others get one
--   counting_since the first transaction after which every change of the tenant's jobs is noted in pending_deltas
--   counted_at     when those were last made to add up to the jobs there are; null: they do not yet
create table jobforge.tenants (
  tenant_id      uuid primary key,
  max_pending    integer check (max_pending between 0 and 1000000000),
  weight         integer not null default 1 check (weight between 1 and 100),
  counting_since xid8,
  counted_at     timestamptz,
  updated_at     timestamptz not null,
  updated_by     text not null,
  constraint only_a_quota_is_counted check (max_pending is not null or (counting_since is null and counted_at is null))
);

-- How the number of pending jobs of tenants with a quota changed. Appended by whoever changes it and added up by maintenance: a
-- counter would be a row that applications lock.
create table jobforge.pending_deltas (
  tenant_id uuid not null,
  delta     bigint not null
) with (
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

create index pending_deltas_tenant on jobforge.pending_deltas (tenant_id) include (delta);

insert into jobforge.maintenance (task, ran_at)
values ('usage', '-infinity'), ('quota', '-infinity');
