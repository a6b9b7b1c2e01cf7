-- Webhooks: which events go where, and what is known about the receivers. The deliveries themselves are jobs of the
-- type connector.webhook.deliver. The end of a job enqueues them in the same transaction
-- (functions/webhooks/emit_events.sql).

-- A list of texts that a tenant writes for its endpoint, such as event types.
create domain jobforge.word_list as text[] collate "C"
  constraint word_list_is_short check (
    cardinality(value) <= 50 and octet_length(array_to_string(value, '')) <= 4000
    and array_position(value, null) is null and array_position(value, '') is null);

-- The receivers of a tenant.
--   events         the types of events that it gets, such as job.dead, job.* or invoice.*; * is everything
--   job_types      if there are any, only events of jobs of these types; mail.* is a prefix
--   tags           only events of jobs that have all of these tags
--   include        payload, result: what the events of jobs contain in addition
--   format         how the body is written
--   signature      standard: HMAC; both: with the header of older versions as well; ed25519: a public key verifies
--   headers        sent with each delivery; values may be references to secrets
--   ordered        one delivery at a time, in the order of the events
--   retry_schedule the waits after each failure in seconds; null: the policy of the type
--   keys           the versions of its signing key, the newest first: {version, master_key, until}. Keys are derived
--                  from a master key that workers have, so nothing here is a secret. until: when an older one ends
--   state          disabled: deliveries wait in the queue until it is enabled again, or until they expire
--   reason         why it is disabled
create table jobforge.webhook_endpoints (
  id             uuid primary key,
  tenant_id      uuid not null,
  url            text not null check (octet_length(url) <= 8192),
  description    text check (octet_length(description) <= 1024),
  events         jobforge.word_list not null,
  job_types      jobforge.word_list not null default '{}',
  tags           jobforge.word_list not null default '{}',
  include        text[] not null default '{}' check (include <@ array['payload', 'result']),
  format         text not null default 'standard' check (format in ('standard', 'cloudevents', 'legacy', 'raw')),
  signature      text not null default 'standard' check (signature in ('standard', 'both', 'ed25519')),
  headers        jsonb not null default '{}' check (jsonb_typeof(headers) = 'object'),
  ordered        boolean not null default false,
  retry_schedule integer[] check (cardinality(retry_schedule) between 1 and 50),
  keys           jsonb not null check (jsonb_array_length(keys) between 1 and 3),
  state          text not null default 'enabled' check (state in ('enabled', 'disabled')),
  reason         text,
  disabled_at    timestamptz,
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  updated_by     text not null,
  constraint disabled_has_a_time_and_a_reason check (
    (state = 'disabled') = (disabled_at is not null) and (state = 'disabled') = (reason is not null))
);

create index webhook_endpoints_tenant on jobforge.webhook_endpoints (tenant_id, id);
create index webhook_endpoints_disabled on jobforge.webhook_endpoints (tenant_id) where state = 'disabled';

-- How the deliveries of an endpoint go: the circuit breaker. Only the ends of deliveries and the functions of the
-- endpoint write it. An end that finds the row locked leaves a row in webhook_ends, so no settle waits.
--   unreached       deliveries in a row that no server responded to
--   window_at       when the count of runs and failures began
--   opened          how often in a row the breaker has opened; 0: it is closed
--   first_failed_at the first failure after the last success, and last_failed_at the last one
create table jobforge.webhook_health (
  endpoint_id     uuid primary key,
  unreached       integer not null default 0,
  window_at       timestamptz,
  window_runs     integer not null default 0,
  window_failures integer not null default 0,
  opened          integer not null default 0,
  first_failed_at timestamptz,
  last_failed_at  timestamptz
) with (fillfactor = 50);

-- Ends of deliveries that are not part of webhook_health yet.
--   outcome delivered · failed: the receiver responded with another status · unreached · gone: with status 410
create table jobforge.webhook_ends (
  id          bigint generated always as identity primary key,
  endpoint_id uuid not null,
  at          timestamptz not null,
  outcome     text not null check (outcome in ('delivered', 'failed', 'unreached', 'gone'))
);

create index webhook_ends_endpoint on jobforge.webhook_ends (endpoint_id, id);

-- Whom to tell about the end of one job, as its enqueue asked for. The row stays as long as the job is remembered, so
-- that a job that is rescheduled tells again.
--   target {url, secret} or {endpoint_id}
--   events the types of events
--   live   the job has not finished. A database without live rows pays one look for each settle
create table jobforge.job_notices (
  job_id    uuid primary key,
  tenant_id uuid not null,
  target    jsonb not null,
  events    text[] collate "C" not null,
  live      boolean not null
);

create index job_notices_live on jobforge.job_notices (job_id) where live;

-- A job whose run has ended, or that has finished without a run, as events describe it.
--   status the status that it has now; queued: it will run again
--   ended  how its run ended; null without a run
create type jobforge.ended_job as (
  id           uuid,
  tenant_id    uuid,
  type         text collate "C",
  status       text,
  ended        text,
  reason       text,
  attempts     integer,
  subject      text,
  tags         text[],
  created_at   timestamptz,
  started_at   timestamptz,
  error        jsonb,
  payload      jsonb,
  result       jsonb,
  artifact_ref text,
  schedule_id  uuid,
  traceparent  text
);

-- Holds: jobs of a concurrency key do not start before a time. Rows are appended, so that no transaction waits; the
-- latest time counts.
--   until   infinity: until the hold is lifted; -infinity: it stops nothing
--   probes  afterwards one job of the key runs at a time, until the hold is lifted
--   ordered one job of the key runs at a time, in their order. This is a limit of one for a single key. A row in limits
--           would make every settle of the installation count slots
create table jobforge.key_holds (
  id              bigint generated always as identity primary key,
  tenant_id       uuid not null,
  type            jobforge.type_name not null,
  concurrency_key jobforge.key_text not null,
  until           timestamptz not null,
  probes          boolean not null default false,
  ordered         boolean not null default false,
  reason          text not null check (octet_length(reason) <= 1024),
  set_at          timestamptz not null,
  set_by          text not null
);

create index key_holds_key on jobforge.key_holds (type, tenant_id, concurrency_key, until);
create index key_holds_until on jobforge.key_holds (until);

-- What connectors may reach in addition to public addresses: for one tenant, or with the id of all tenants for the
-- installation. Only operators write it, because every key widens.
create table jobforge.egress_policies (
  tenant_id  uuid primary key,
  policy     jsonb not null check (jsonb_typeof(policy) = 'object'),
  updated_at timestamptz not null,
  updated_by text not null
);
