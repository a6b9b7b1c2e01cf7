-- The installation itself: what is installed, which files migrate() has applied, and when maintenance ran.
--
-- All tables belong to jobforge_owner and are closed to every other role. Clients reach them only through the functions
-- and views of the API schema.

-- The version of JobForge in this database. The table has exactly one row.
--   min_client  the oldest client that works with this schema
--   time_travel whether sessions may move JobForge's clock; for tests
create table jobforge.installation (
  only_row     boolean primary key default true check (only_row),
  version      text not null,
  api_schema   text not null,
  min_client   text not null,
  time_travel  boolean not null default false,
  installed_at timestamptz not null default clock_timestamp(),
  updated_at   timestamptz not null default clock_timestamp()
);

-- The numbered files that have been applied. Each is applied once and never changes after its release.
create table jobforge.migrations (
  number     integer primary key check (number > 0),
  name       text not null,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- The files of functions, views and grants as they were last applied. All of them are applied again when one has
-- changed.
create table jobforge.repeatables (
  name       text primary key,
  checksum   text not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- When each maintenance task last ran. The row limits how often its task runs, and its lock keeps two workers from
-- running the same task at the same time.
create table jobforge.maintenance (
  task   text primary key,
  ran_at timestamptz not null
) with (fillfactor = 50);

insert into jobforge.maintenance (task, ran_at)
values
  ('jobs', '-infinity'),
  ('leaves', '-infinity'),
  ('retire', '-infinity'),
  ('forget', '-infinity'),
  ('usage', '-infinity'),
  ('quota', '-infinity');
