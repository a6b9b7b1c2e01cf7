-- Schedules: recurring work, and the ends of its runs.

-- A cron expression that was parsed: one bit for each value that a field allows.
--   days     bit 32 stands for the last day of the month
--   weekdays six weeks of weekdays, each from Sunday on: the first, second, third, fourth, fifth and last of each in a
--            month
--   every    the interval of an @every expression, whose other attributes are null
-- Days and weekdays are alternatives: the expression allows a day when one of the two does.
create type jobforge.cron as (
  seconds  bit(60),
  minutes  bit(60),
  hours    bit(24),
  days     bit(32),
  months   bit(12),
  weekdays bit(42),
  every    interval
);

-- What decides when a schedule is due: see jobforge.schedules.
create domain jobforge.schedule_kind as text collate "C"
  constraint schedule_kind_is_known check (value in ('cron', 'every', 'dynamic'));

-- What happens to a due time that comes while a run is live: skip it, queue one run, or allow both.
create domain jobforge.overlap_rule as text collate "C"
  constraint overlap_rule_is_known check (value in ('skip', 'queue', 'allow'));

-- What happens to due times that passed without a worker: skip them, run once, or run all of them.
create domain jobforge.missed_rule as text collate "C"
  constraint missed_rule_is_known check (value in ('skip', 'once', 'all'));

-- How the last run of a schedule ended. A canceled run says nothing about the schedule.
create domain jobforge.schedule_status as text collate "C"
  constraint schedule_status_is_known check (value in ('succeeded', 'failed'));

-- How a run of a schedule ended.
create domain jobforge.schedule_run_status as text collate "C"
  constraint schedule_run_status_is_known check (value in ('succeeded', 'failed', 'canceled'));

-- Schedules, one row each. Nothing accumulates here: a run of a schedule is a job, and its end is written back to this
-- row.
--   kind         cron: by cron and timezone · every: by an interval, counted from anchor and up to jitter later ·
--                dynamic: the handler says when
--   next_run_at  the next due time; null when there is none, or while a dynamic schedule waits for its handler
--   due_at       when a claim has to look at the row; null: never. While the schedule is enabled it is next_run_at or
--                later. After a request to run it is the time of the request. It is null while the schedule waits for a
--                run to end. When it is later than next_run_at, the schedule runs once, however many due times it has
--                missed
--   last_*       describe the last run that succeeded or failed; last_run_at is when it ended
--   max_attempts     executions of each run, as the caller that made the schedule wants; null: not given
--   default_attempts the same, as the definition of the job says; it counts unless an operator has set the number by
--                    hand for the type
--   missed_limit the most runs that the rule `all` makes up for
--   declared_by  the application that declares the schedule in its code. When it stops declaring the schedule, the
--                schedule is disabled. Null when the schedule was created at run time
create table jobforge.schedules (
  id                   uuid primary key,
  tenant_id            uuid not null,
  type                 jobforge.type_name not null,
  key                  jobforge.key_text not null,
  kind                 jobforge.schedule_kind not null,
  cron                 text,
  timezone             text,
  every                interval,
  anchor               jobforge.finite_time,
  jitter               interval,
  enabled              boolean not null,
  next_run_at          jobforge.finite_time,
  due_at               jobforge.finite_time,
  run_requested        boolean not null default false,
  last_run_at          timestamptz,
  last_scheduled_for   timestamptz,
  last_status          jobforge.schedule_status,
  last_error           text,
  consecutive_failures jobforge.run_count not null default 0,
  overlap              jobforge.overlap_rule not null,
  missed               jobforge.missed_rule not null,
  missed_limit         integer not null check (missed_limit between 1 and 100),
  starts_at            jobforge.finite_time,
  ends_at              jobforge.finite_time,
  retry_runs           boolean not null,
  priority             integer not null check (priority between -1000000 and 1000000),
  max_attempts         integer check (max_attempts between 1 and 100000),
  payload              jsonb not null,
  tags                 jobforge.tag_list not null,
  subject              jobforge.key_text,
  concurrency_key      jobforge.key_text,
  declared_by          text collate "C" check (declared_by <> '' and octet_length(declared_by) <= 200),
  created_at           timestamptz not null,
  updated_at           timestamptz not null,
  default_attempts     integer check (default_attempts between 1 and 100000),
  constraint a_cron_has_a_zone check (
    (kind = 'cron') = (cron is not null) and (kind = 'cron') = (timezone is not null)),
  constraint an_interval_has_an_anchor check (
    (kind = 'every') = (every is not null) and (kind = 'every') = (anchor is not null)),
  constraint an_interval_is_not_too_short check (every between interval '1 second' and interval '366 days'),
  constraint jitter_is_part_of_an_interval check (
    jitter is null or (kind = 'every' and jitter > interval '0' and jitter < every)),
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
create index schedules_due_tenant on jobforge.schedules (tenant_id, type, due_at) where due_at is not null;
create index schedules_failing on jobforge.schedules (tenant_id, type) where consecutive_failures > 0;
create index schedules_declared_by on jobforge.schedules (declared_by) where declared_by is not null;

-- How a run of a schedule ended.
--   status      succeeded, failed or canceled
--   next_run_at when exact: the time that the handler named, which always counts. Otherwise it counts only when the
--               schedule has no next time
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

-- Ends of runs whose schedule was locked by an application's open transaction. They are written to the schedule a
-- little later, so that no settle waits. The columns are those of schedule_end.
create table jobforge.schedule_ends (
  id            bigint generated always as identity primary key,
  schedule_id   uuid not null,
  tenant_id     uuid not null,
  scheduled_for timestamptz not null,
  ended_at      timestamptz not null,
  status        jobforge.schedule_run_status not null,
  error         text,
  next_run_at   jobforge.finite_time,
  exact         boolean not null,
  constraint an_exact_end_has_a_time check (not exact or next_run_at is not null)
);

create index schedule_ends_schedule on jobforge.schedule_ends (schedule_id, id);
create index schedule_ends_tenant on jobforge.schedule_ends (tenant_id);

-- The filters of a list of schedules; null: not given.
create type jobforge.schedule_filter as (
  types          text[],
  enabled        boolean,
  failing        boolean,
  due            boolean,
  overdue        boolean,
  running        boolean,
  tags           text[],
  subject        text,
  key_prefix     text,
  updated_before timestamptz
);

-- How many schedules of a type are due, and when the first of them became due. tenant_id is null if tenants were not
-- asked for.
create type jobforge.due_count as (
  tenant_id uuid,
  type      text collate "C",
  due       bigint,
  oldest_at timestamptz
);
