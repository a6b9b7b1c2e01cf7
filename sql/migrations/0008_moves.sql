-- Jobs between two stores. A job that leaves for another store, such as Redis, is here until the other store has it; a
-- job that arrives is here until the other store has let it go. So a move that is interrupted at any point goes on
-- where it was, and no job is in both stores or in none. See functions/move/move_jobs.sql for the steps.
create table jobforge.moves (
  id        uuid primary key,
  tenant_id uuid not null,
  type      jobforge.type_name not null,
  step      text collate "C" not null constraint move_step_is_known check (step in ('taken', 'sent', 'arriving')),
  document  jsonb not null
);
create index moves_step on jobforge.moves (type, step);

-- The last move of each type that has begun. Only this one may go on: an older one, such as a second run of the command
-- at the same time, has read what may no longer be true.
create table jobforge.movers (
  type jobforge.type_name primary key,
  move uuid not null
);
