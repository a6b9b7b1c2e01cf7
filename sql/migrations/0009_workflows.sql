-- Workflows: named graphs of jobs. functions/workflows/advance.sql draws how they move on.

-- The status of a workflow.
create domain jobforge.workflow_status as text collate "C"
  constraint workflow_status_is_known check (value in ('running', 'succeeded', 'failed', 'canceled'));

-- What a node of a graph is. A root is the workflow itself. A job is one job; a map is one job for each item of a list;
-- a group is a sub-workflow; a signal waits for a message from outside.
create domain jobforge.step_kind as text collate "C"
  constraint step_kind_is_known check (value in ('root', 'job', 'map', 'group', 'signal'));

-- Workflows. Every transaction that updates a row here has locked the row of its root in jobforge.steps before.
--   id         also the id of its root step
--   version    the version of its definition, for people
--   reason     why it ended: done, failed, canceled, deadline or output_too_large
--   rank       -priority, for the steps that have none of their own
--   deadline   if the workflow has not ended by then, it ends as failed
--   on_failure finish: the steps that do not depend on a failed step run on · cancel: a failure stops the rest
--   cancel_at  from then on no step starts, except cleanup steps. stop_reason says why: canceled, failed, deadline
--   keep_days  for how many days the workflow and its jobs are kept after its end
--   parent_id  the job whose handler started it and waits for it
create table jobforge.workflows (
  id              uuid primary key,
  tenant_id       uuid not null,
  name            jobforge.type_name not null,
  version         text,
  status          jobforge.workflow_status not null,
  reason          text,
  input           jsonb,
  output          jsonb,
  idempotency_key jobforge.key_text,
  dedupe_key      jobforge.key_text,
  subject         jobforge.key_text,
  tags            jobforge.tag_list not null default '{}',
  rank            integer not null default 0,
  created_at      timestamptz not null,
  finished_at     timestamptz,
  deadline        timestamptz,
  on_failure      text not null default 'finish'
    constraint on_failure_is_known check (on_failure in ('finish', 'cancel')),
  cancel_at       timestamptz,
  cancel_by       text,
  cancel_reason   text,
  stop_reason     text,
  keep_days       integer not null constraint keep_days_are_known check (keep_days between 1 and 3650),
  traceparent     text,
  step_count      integer not null,
  parent_id       uuid
) with (fillfactor = 70);

create unique index workflows_key on jobforge.workflows (tenant_id, name, idempotency_key)
  where idempotency_key is not null;
create unique index workflows_dedupe on jobforge.workflows (tenant_id, name, dedupe_key)
  where dedupe_key is not null and status = 'running';
create index workflows_tenant on jobforge.workflows (tenant_id, id);
create index workflows_name on jobforge.workflows (name, tenant_id, id);
create index workflows_subject on jobforge.workflows (subject, tenant_id, id) where subject is not null;
create index workflows_ended on jobforge.workflows (finished_at) where finished_at is not null;

-- Steps: the nodes of graphs. A step is not a job: it becomes one when nothing is left that it must wait for. So a
-- blocked step costs the queue nothing, and may run after all when the workflow is retried.
--   id          its first job has the same id
--   workflow_id the root
--   group_id    what it is part of: the root, a group, a map, or the node of the job that waits for it. Of a root only
--               the last one; else null
--   name        unique in its group; null for an item of a map
--   path        its name for people, from the root on: extract, sub/send or each[17]
--   ord         its place in the list that it came in; the index of an item
--   rank        -priority; null: that of the workflow
--   spec        what was asked for: {needs: [{step, policy}], refs: [names], over, steps, signal, timeout_ms,
--               on_timeout, output, expires_at, levels}
--   input       of a group that is open: its payload with all references filled in
--   optional    its bad end does not fail what it is part of
--   cleanup     it also starts after the workflow was stopped
--   job_id      its current job
--   opened_at   group, map, signal: nothing is left that it must wait for
--   decided_at  its job was enqueued, or it ended without one. A group and a map are decided when they end
--   status      null until it has ended
-- No index may mention a column that changes, not even in its predicate: then no update would be HOT.
create table jobforge.steps (
  id              uuid primary key,
  workflow_id     uuid not null,
  group_id        uuid,
  tenant_id       uuid not null,
  kind            jobforge.step_kind not null,
  name            text collate "C",
  path            text collate "C" not null,
  ord             integer not null,
  type            jobforge.type_name,
  payload         jsonb,
  rank            integer,
  max_attempts    integer,
  delay_ms        bigint,
  subject         jobforge.key_text,
  tags            text[] collate "C",
  concurrency_key jobforge.key_text,
  spec            jsonb,
  input           jsonb,
  optional        boolean not null default false,
  cleanup         boolean not null default false,
  job_id          uuid,
  opened_at       timestamptz,
  decided_at      timestamptz,
  status          jobforge.finished_status,
  reason          text,
  ended_at        timestamptz,
  result          jsonb,
  error           jsonb,
  cost_cents      integer
) with (
  fillfactor = 60,
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_analyze_threshold = 20000,
  autovacuum_analyze_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

create unique index steps_name on jobforge.steps (group_id, name) where name is not null;
create index steps_item on jobforge.steps (group_id, ord) where name is null;
create index steps_signal on jobforge.steps (workflow_id) where kind = 'signal';
create index steps_workflow on jobforge.steps (workflow_id, id);

-- What must end before a node may be decided: one row for each need that has not ended, and nothing else. A row is
-- inserted and deleted, and never updated or locked: a row whose xmax is not zero is being deleted at this moment, and
-- that is how the end of a need knows whether it is the last one. So no foreign key may lead here.
--   policy what a bad end of the need means: c cancel, r run, w wait, f compensate
create table jobforge.edges (
  dependent_id uuid not null,
  need_id      uuid not null,
  policy       "char" not null,
  primary key (dependent_id, need_id)
) with (
  autovacuum_vacuum_threshold = 20000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

create index edges_need on jobforge.edges (need_id);

-- Why a node will not run, or why a group has failed, until it is decided. Mostly empty.
create table jobforge.dooms (
  node_id uuid not null,
  need_id uuid not null,
  skipped boolean not null
);

create index dooms_node on jobforge.dooms (node_id);
create index dooms_need on jobforge.dooms (need_id);

-- What to do from due_at on. Claims look here.
--   node_id a step or a workflow
--   what    look: decide the node if nothing is left that it waits for · rest: release what still waits for the node,
--           which has ended · end: record the end of the step (data) · begin: the node's own hold is over · expand:
--           make further items of a map · mail: a signal was sent · timeout: a signal step has waited long enough ·
--           stop: stop the workflow (data: why) · deadline: stop it unless it has ended
--   tries   how many looks at it could do nothing
create table jobforge.wakeups (
  id        bigint generated always as identity primary key,
  tenant_id uuid not null,
  node_id   uuid not null,
  what      text collate "C" not null constraint wakeup_is_known
    check (what in ('look', 'rest', 'end', 'begin', 'expand', 'mail', 'timeout', 'stop', 'deadline')),
  data      jsonb,
  due_at    timestamptz not null,
  tries     integer not null default 0
) with (
  autovacuum_vacuum_threshold = 1000,
  autovacuum_vacuum_scale_factor = 0,
  autovacuum_vacuum_cost_delay = 0
);

create index wakeups_due on jobforge.wakeups (due_at, id);
create index wakeups_tenant on jobforge.wakeups (tenant_id, due_at, id);

-- Mailboxes. A signal is kept until a step takes it.
--   target_id the workflow or the job
--   key       makes sending idempotent
--   taken_by  the step or job that took it
--   taken_as  the wait of the job that it ended
create table jobforge.signals (
  id        bigint generated always as identity primary key,
  tenant_id uuid not null,
  target_id uuid not null,
  name      text collate "C" not null,
  key       jobforge.key_text,
  payload   jsonb,
  sent_at   timestamptz not null,
  sent_by   text not null,
  taken_by  uuid,
  taken_as  text
);

create index signals_box on jobforge.signals (target_id, name, id) where taken_by is null;
create index signals_target on jobforge.signals (target_id, id);
create unique index signals_key on jobforge.signals (target_id, name, key) where key is not null;

-- What the steps in the code of a handler returned, and what its job waits for.
--   kind     step: a value or an error · sleep, wait: what a suspended job waits for · version: the code it began with
--   attempt  the execution that wrote it
--   signals  wait: the names of the signals that end it
--   children wait: it ends with the children of the job, which are steps
--   due_at   sleep: its end · wait: when it times out · step: when it is tried again
--   done     it never changes again
create table jobforge.checkpoints (
  job_id    uuid not null,
  name      text collate "C" not null,
  tenant_id uuid not null,
  kind      text not null constraint checkpoint_kind_is_known check (kind in ('step', 'sleep', 'wait', 'version')),
  attempt   integer not null,
  value     jsonb,
  error     jsonb,
  signals   text[] collate "C",
  children  boolean not null default false,
  due_at    timestamptz,
  tries     integer not null default 0,
  done      boolean not null,
  at        timestamptz not null,
  primary key (job_id, name)
);

-- A step to insert, as the caller asked for it. ord is its position in the call, bytes the length of its payload.
create type jobforge.new_step as (
  ord             integer,
  id              uuid,
  kind            text,
  name            text collate "C",
  type            text collate "C",
  payload         jsonb,
  bytes           integer,
  priority        integer,
  max_attempts    integer,
  delay_ms        bigint,
  subject         text collate "C",
  tags            text[] collate "C",
  concurrency_key text collate "C",
  expires_at      timestamptz,
  needs           jsonb,
  spec            jsonb,
  optional        boolean,
  cleanup         boolean
);

-- How a step ended.
create type jobforge.step_end as (
  id         uuid,
  status     text,
  reason     text,
  result     jsonb,
  error      jsonb,
  cost_cents integer
);
