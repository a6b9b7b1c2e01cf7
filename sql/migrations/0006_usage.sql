-- What tenants use: metering, and counts of live jobs.

-- What one settle adds to the usage of a tenant and type, until maintenance merges it. Rows are appended, so that no
-- two workers wait for each other, and in the same transaction as the ends of the runs, so that each run counts once.
-- Columns are those of usage; waits and lengths hold one number of milliseconds for each run.
create table jobforge.usage_deltas (
  id         bigint generated always as identity primary key,
  tenant_id  uuid not null,
  type       jobforge.type_name not null,
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

-- Usage per tenant, type and hour in which the runs ended. It outlives the jobs.
--   runs        runs that ended, without those that were released
--   failed      runs that reported a failure · lost: runs whose worker fell silent · deferred: runs that deferred their
--               job
--   retries     failed and lost runs after which the job was queued again
--   dead        jobs that their run finished as failed or dead
--   wait_ms     from due to started, of all runs · run_ms: from started to ended, of all but the lost
--   *_histogram the number of runs in each bin of length, from bin 0 on: see jobforge.bin_of
create table jobforge.usage (
  tenant_id      uuid not null,
  hour           timestamptz not null,
  type           jobforge.type_name not null,
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

-- How many live jobs of a type a tenant has. exact is false for an estimate.
create type jobforge.live_count as (
  tenant_id     uuid,
  type          text collate "C",
  queued        bigint,
  scheduled     bigint,
  running       bigint,
  oldest_run_at timestamptz,
  exact         boolean
);

-- Something that needs attention: see functions/read/list_attention.sql.
create type jobforge.attention as (
  kind      text,
  severity  text,
  message   text,
  count     bigint,
  exact     boolean,
  since     timestamptz,
  target    text,
  type      text collate "C",
  tenant_id uuid,
  key       text collate "C"
);

-- What happened in each minute of the last seven days, by type, for charts: see functions/usage/samples.sql. The type
-- '' has the sums of all types; '*' has those of the types beyond the 200 busiest of a minute.
--   due, scheduled, running  live jobs when the minute was sampled; null if it was not. exact: see live_count
--   runs and what follows    runs whose ends maintenance has added up in this minute, a few seconds after they ended
create table jobforge.samples (
  type           text collate "C" not null,
  minute         timestamptz not null,
  due            bigint,
  scheduled      bigint,
  running        bigint,
  exact          boolean,
  runs           bigint not null default 0,
  succeeded      bigint not null default 0,
  failed         bigint not null default 0,
  dead           bigint not null default 0,
  wait_histogram integer[] not null default '{}',
  run_histogram  integer[] not null default '{}',
  primary key (type, minute)
) with (fillfactor = 80);

create index samples_minute on jobforge.samples (minute);
