-- The installation itself: what is installed, which files migrate() has applied, and when maintenance ran; and the
-- domains that several topics share.
--
-- All tables belong to jobforge_owner and are closed to every other role. Clients reach them only through the
-- functions and views of the API schema.

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
  name       text collate "C" not null,
  checksum   text collate "C" not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- The files of functions, views and grants as they were last applied. All of them are applied again when one has
-- changed.
create table jobforge.repeatables (
  name       text collate "C" primary key,
  checksum   text collate "C" not null,
  applied_at timestamptz not null default clock_timestamp()
);

-- When each maintenance task last ran. The row limits how often its task runs, and its lock keeps two workers from
-- running the same task at the same time.
--   place     where the task goes on, for a task that does a part of its work in each run
--   failures  how often the task has failed in a row; 0 after a success
--   failed_at when it last failed, and error says why; null while failures is 0
create table jobforge.maintenance (
  task      text collate "C" primary key,
  ran_at    timestamptz not null,
  place     text collate "C" not null default '',
  failures  integer not null default 0,
  failed_at timestamptz,
  error     text,
  constraint failures_have_a_time_and_an_error check (
    (failures = 0) = (failed_at is null) and (failures = 0) = (error is null))
) with (fillfactor = 50);

insert into jobforge.maintenance (task, ran_at)
values
  ('jobs', '-infinity'),
  ('leaves', '-infinity'),
  ('retire', '-infinity'),
  ('forget', '-infinity'),
  ('usage', '-infinity'),
  ('quota', '-infinity'),
  ('limits', '-infinity'),
  ('samples', '-infinity');

-- Domains: kinds of values, with their rule and their collation. Postgres caches the check of a domain, but parses a
-- check of a table again for each statement. One update of a row of jobs took 63 µs with 16 checks and 23 µs without.
--   * A kind of value that several columns share, and every list of words, is a domain.
--   * The range of a single setting is a check of its column. jobforge_set_policy reads the name of such a check to say
--     which setting is out of range.
--   * A rule about several columns is a constraint of the table, and its name is a sentence.
--   * Identifiers have the collation "C": it is the fastest, and a new version of the system's collations cannot break
--     their indexes. Texts that people write and read keep the collation of the database.
-- Views and functions of the API show the base types: a view casts each column, and `return query` needs the cast too.

-- The type of a job: see jobforge.is_type. Where a table says so, '*' stands for any type.
create domain jobforge.type_name as text collate "C"
  constraint type_name_is_a_name check (
    value ~ '^([A-Za-z0-9_][A-Za-z0-9_.:/@-]*|[*])$' and length(value) <= 200);

-- A text by which callers identify something: idempotency, dedupe and concurrency keys, subjects, keys of schedules
-- and limits.
create domain jobforge.key_text as text collate "C"
  constraint key_text_has_1_to_1024_bytes check (value <> '' and octet_length(value) <= 1024);

-- The name by which a worker claims and settles.
create domain jobforge.worker_name as text collate "C"
  constraint worker_name_has_1_to_1024_bytes check (value <> '' and octet_length(value) <= 1024);

-- The tags of a job.
create domain jobforge.tag_list as text[] collate "C";

-- A time that is neither infinity nor -infinity.
create domain jobforge.finite_time as timestamptz
  constraint finite_time_is_finite check (isfinite(value));

-- A number of runs.
create domain jobforge.run_count as integer
  constraint run_count_is_not_negative check (value >= 0);
