-- Recurring work: one row per task, and the ties between a schedule and its runs.

-- One row per task. Nothing accumulates here: a run is a job, and its end is written back.
--   kind     cron: cron and timezone · every: every, counted from anchor, up to jitter later · dynamic: the handler says when
--   next_run_at  the next due time; null while a dynamic schedule waits for its handler to say it, and when there is none
--   due_at   when a claim has to look at the row; null: not at all. It is next_run_at or later while the schedule is enabled, the
--            time of the request when a run was asked for, and null while the row waits for a run to end. Later than
--            next_run_at means: one run, whatever was missed
--   overlap  what becomes of a due time that comes while a run is live: skip it, queue one, or allow both
--   missed   what becomes of due times that no worker was there for: skip, run once, or run all, the last missed_limit of them
--   last_*   of the last run that succeeded or failed; last_run_at is when it ended
create table jobforge.schedules (
  id                   uuid primary key,
  tenant_id            uuid not null,
  type                 text not null check (btrim(type) <> '' and length(type) <= 200),
  key                  text not null check (key <> '' and octet_length(key) <= 1024),
  kind                 text not null check (kind in ('cron', 'every', 'dynamic')),
  cron                 text,
  timezone             text,
  every                interval,
  anchor               timestamptz check (isfinite(anchor)),
  jitter               interval,
  enabled              boolean not null,
  next_run_at          timestamptz check (isfinite(next_run_at)),
  due_at               timestamptz check (isfinite(due_at)),
  run_requested        boolean not null default false,
  last_run_at          timestamptz,
  last_scheduled_for   timestamptz,
  last_status          text check (last_status in ('succeeded', 'failed')),
  last_error           text,
  consecutive_failures integer not null default 0 check (consecutive_failures >= 0),
  overlap              text not null check (overlap in ('skip', 'queue', 'allow')),
  missed               text not null check (missed in ('skip', 'once', 'all')),
  missed_limit         integer not null check (missed_limit between 1 and 100),
  starts_at            timestamptz check (isfinite(starts_at)),
  ends_at              timestamptz check (isfinite(ends_at)),
  retry_runs           boolean not null,
  priority             integer not null check (priority between -1000000 and 1000000),
  max_attempts         integer check (max_attempts between 1 and 100000),
  payload              jsonb not null,
  tags                 text[] not null,
  subject              text,
  concurrency_key      text,
  created_at           timestamptz not null,
  updated_at           timestamptz not null,
  constraint a_cron_has_a_zone check ((kind = 'cron') = (cron is not null) and (kind = 'cron') = (timezone is not null)),
  constraint an_interval_has_an_anchor check (
    (kind = 'every') = (every is not null) and (kind = 'every') = (anchor is not null)),
  constraint an_interval_is_not_too_short check (every between interval '1 second' and interval '366 days'),
  constraint jitter_is_part_of_an_interval check (jitter is null or (kind = 'every' and jitter > interval '0' and jitter < every)),
  constraint it_starts_before_it_ends check (starts_at < ends_at),
  constraint no_run_is_due_after_the_end check (next_run_at <= ends_at),
  constraint only_what_may_run_is_due check (due_at is null or run_requested or (enabled and next_run_at is not null)),
  constraint it_is_not_due_too_early check (run_requested or due_at >= next_run_at),
  constraint failures_have_an_error check (consecutive_failures = 0 or last_error is not null)
) with (
  fillfactor = 80,
  autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_scale_factor = 0.05
);

create unique index schedules_key on jobforge.schedules (tenant_id, type, key);
create index schedules_due on jobforge.schedules (type, due_at) where due_at is not null;

-- How a run of a schedule ended: status is succeeded, failed or canceled. next_run_at is the handler's time when it is exact,
-- else what is to be when there is no other.
create type jobforge.schedule_end as (
  schedule_id   uuid,
  tenant_id     uuid,
  scheduled_for timestamptz,
  ended_at      timestamptz,
  status        text,
  error         text,
  next_run_at   timestamptz,
  exact         boolean
);

-- Ends of runs whose schedule an application's open transaction held: folded in a little later, so that no settle waits. The
-- columns are those of schedule_end.
create table jobforge.schedule_ends (
  id            bigint generated always as identity primary key,
  schedule_id   uuid not null,
  tenant_id     uuid not null,
  scheduled_for timestamptz not null,
  ended_at      timestamptz not null,
  status        text not null check (status in ('succeeded', 'failed', 'canceled')),
  error         text,
  next_run_at   timestamptz,
  exact         boolean not null check (not exact or next_run_at is not null)
);

create index schedule_ends_schedule on jobforge.schedule_ends (schedule_id, id);

-- A run is a job that knows its schedule and the due time it is for.
alter table jobforge.jobs
  add column schedule_id uuid,
  add column scheduled_for timestamptz,
  add constraint a_run_has_a_due_time check ((schedule_id is null) = (scheduled_for is null));

create index jobs_schedule on jobforge.jobs (schedule_id) where schedule_id is not null;

alter table jobforge.archive
  add column schedule_id uuid,
  add column scheduled_for timestamptz;

-- The history of a schedule's runs. Other jobs are not in it.
create index archive_schedule on jobforge.archive (schedule_id, id) where schedule_id is not null;

-- One reason more: failed, of a run whose schedule goes on. Not checked against the rows there are, which obey a stricter rule.
alter table jobforge.archive
  drop constraint archive_reason_check,
  add constraint archive_reason_check
    check (reason in ('done', 'refused', 'failed', 'exhausted', 'crashed', 'canceled', 'expired')) not valid;

-- The next time that the handler of a run says.
alter type jobforge.run_end add attribute next_run_at timestamptz;
