-- How the archive is partitioned: a branch by status (finished_jobs, dead_jobs), in it a shelf by retention, in the
-- shelf leaves by time of finish. Retention drops whole leaves.

-- Returns the shelf for a retention, in days: the smallest that is long enough, so that a handful of shelves serve
-- every retention. 30 days unless a policy says otherwise; 3650 is the longest.
create or replace function jobforge.shelf_for(p_retention_days integer) returns integer
language sql immutable as $$
  select case
    when p_retention_days is null then 30
    when p_retention_days <= 1 then 1
    when p_retention_days <= 3 then 3
    when p_retention_days <= 7 then 7
    when p_retention_days <= 14 then 14
    when p_retention_days <= 30 then 30
    when p_retention_days <= 90 then 90
    when p_retention_days <= 365 then 365
    else 3650
  end
$$;

-- Returns how many days one leaf of a shelf covers: a fifth of its retention, or half of it for failures, which are
-- few. So a shelf has about a dozen leaves whatever the retention; a search for a job reads each of them.
create or replace function jobforge.leaf_days(p_branch text, p_keep_days integer) returns integer
language sql immutable as $$
  select ceil(p_keep_days / case p_branch when 'dead_jobs' then 2.0 else 5.0 end)::integer
$$;

-- Returns a time as text for DDL. It does not depend on the settings TimeZone and DateStyle, and is read in the same
-- way under all of them. Not at time zone 'UTC': that name may be an abbreviation of the session's own zone.
create or replace function jobforge.bound_text(p_at timestamptz) returns text
language sql immutable as $$
  select to_char(p_at at time zone interval '0', 'YYYY-MM-DD HH24:MI:SS.US') || '+00'
$$;

-- Adds a leaf to a shelf. p_is_open: rows for its time span may be on their way. Returns false, and changes nothing,
-- when it would have to wait longer than the lock timeout. Returns null, and changes nothing, when a table of that name
-- or a partition with a part of the time span exists already.
create or replace function jobforge.add_leaf(
  p_name text, p_shelf text, p_from timestamptz, p_to timestamptz, p_is_open boolean
) returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', jobforge.ddl_lock_timeout(), true);
  perform jobforge.create_partition(p_name, false);
  if p_is_open then
    perform jobforge.wait_for_archive_writers();
  end if;
  execute format('alter table jobforge.%I attach partition jobforge.%I for values from (%L) to (%L)',
    p_shelf, p_name, jobforge.bound_text(p_from), jobforge.bound_text(p_to));
  perform set_config('lock_timeout', v_before, true);
  return true;
exception
  when lock_not_available or check_violation then
    return false;
  when duplicate_table or invalid_object_definition then
    return null;
end $$;

-- Adds a shelf with its leaves, and moves the rows that belong to it from the default shelf. Returns how many leaves it
-- made, and whether it gave up, with nothing changed, because it would have to wait longer than the lock timeout.
create or replace function jobforge.add_shelf(
  p_branch text, p_keep_days integer, p_now timestamptz, out made integer, out gave_up boolean
)
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
  v_name text := p_branch || '_' || p_keep_days;
begin
  gave_up := false;
  perform set_config('lock_timeout', jobforge.ddl_lock_timeout(), true);
  perform jobforge.create_partition(v_name, true);
  made := (jobforge.add_leaves(p_branch, p_keep_days, p_now, false)).made;
  perform jobforge.wait_for_archive_writers();
  execute format(
    'with moved as (delete from jobforge.%I d where d.keep_days = $1 returning d.*)
     insert into jobforge.%I select * from moved',
    p_branch || '_default', v_name) using p_keep_days;
  execute format('alter table jobforge.%I attach partition jobforge.%I for values in (%s)',
    p_branch, v_name, p_keep_days);
  perform set_config('lock_timeout', v_before, true);
exception when lock_not_available or check_violation then
  made := 0;
  gave_up := true;
end $$;

-- Makes the leaves of a shelf for the next seven days. A leaf is known by its bounds, not by its name. A time span that
-- already has rows in the default leaf, or of which another leaf has a part, gets no leaf of its own; its rows go to
-- the default leaf. p_is_open: the shelf is in use. Returns how many leaves it made, and whether it gave up at one for
-- which it would have to wait longer than the lock timeout. Independent of all settings of the session.
create or replace function jobforge.add_leaves(
  p_branch text, p_keep_days integer, p_now timestamptz, p_is_open boolean, out made integer, out gave_up boolean
)
language plpgsql as $$
declare
  v_shelf text := p_branch || '_' || p_keep_days;
  -- In hours: a day that is added to a time is not always 24 hours long in the session's time zone.
  v_width interval := make_interval(hours => 24 * jobforge.leaf_days(p_branch, p_keep_days));
  -- Leaves start at multiples of their width since 2000 in UTC, so that every worker makes the same ones.
  v_from timestamptz := date_bin(v_width, p_now, '2000-01-01 00:00:00+00');
  v_to timestamptz;
  v_name text;
  v_filled boolean;
  v_added boolean;
begin
  made := 0;
  gave_up := false;
  while v_from < p_now + interval '7 days' loop
    v_to := v_from + v_width;
    v_name := v_shelf || to_char(v_from at time zone interval '0', '"_"YYYYMMDD');
    if not exists (
      select from jobforge.leaves l
      where l.branch = p_branch and l.keep_days = p_keep_days and l.from_at < v_to and l.to_at > v_from
    ) then
      execute format('select exists (select from jobforge.%I where finished_at >= $1 and finished_at < $2)',
        v_shelf || '_default') into v_filled using v_from, v_to;
      if not v_filled then
        -- Workers use the clock of the database. The minute covers transactions that began earlier.
        v_added := jobforge.add_leaf(
          v_name, v_shelf, v_from, v_to, p_is_open and v_from < p_now + interval '1 minute');
        gave_up := v_added is false;
        exit when gave_up;
        if v_added then
          insert into jobforge.leaves (name, branch, keep_days, from_at, to_at)
          values (v_name, p_branch, p_keep_days, v_from, v_to);
          made := made + 1;
        end if;
      end if;
    end if;
    v_from := v_to;
  end loop;
end $$;

-- Returns whether a policy needs a shelf that has not been made yet.
create or replace function jobforge.lacks_shelf() returns boolean
language sql stable as $$
  select exists (
    select from jobforge.policies p
    where to_regclass('jobforge.finished_jobs_' || jobforge.shelf_for(p.retention_days)) is null
      or to_regclass('jobforge.dead_jobs_' || jobforge.shelf_for(p.retention_days)) is null)
$$;

-- Returns the shelves that policies need, made or not.
create or replace function jobforge.wanted_shelves() returns table (branch text, keep_days integer)
language sql stable as $$
  select b.branch, s.keep_days
  from (values ('finished_jobs'), ('dead_jobs')) b(branch)
  cross join (select distinct jobforge.shelf_for(p.retention_days) as keep_days from jobforge.policies p) s
  order by 1, 2
$$;

-- Makes a shelf that does not exist yet, or the leaves of one that does, for the next seven days. A shelf is not made
-- if more than 10,000 rows would have to be moved into it. Returns how many leaves it made, and whether it gave up
-- because it would have to wait longer than the lock timeout.
create or replace function jobforge.maintain_shelf(
  p_branch text, p_keep_days integer, p_now timestamptz, out made integer, out gave_up boolean
)
language plpgsql as $$
declare
  v_filled boolean;
begin
  if to_regclass(format('jobforge.%I', p_branch || '_' || p_keep_days)) is not null then
    select l.made, l.gave_up into made, gave_up from jobforge.add_leaves(p_branch, p_keep_days, p_now, true) l;
    return;
  end if;
  execute format('select count(*) > 10000 from (select from jobforge.%I where keep_days = %s limit 10001) s',
    p_branch || '_default', p_keep_days) into v_filled;
  if v_filled then
    made := 0;
    gave_up := false;
  else
    select a.made, a.gave_up into made, gave_up from jobforge.add_shelf(p_branch, p_keep_days, p_now) a;
  end if;
end $$;

-- Maintains all shelves, up to the first at which it gives up. Returns how many leaves it made. Only for a new
-- installation: every partition that is attached keeps readers and writers out until the transaction ends.
create or replace function jobforge.maintain_leaves(p_now timestamptz) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_shelf record;
  v_made integer := 0;
  v_step record;
begin
  for v_shelf in select * from wanted_shelves() loop
    v_step := maintain_shelf(v_shelf.branch, v_shelf.keep_days, p_now);
    v_made := v_made + v_step.made;
    exit when v_step.gave_up;
  end loop;
  return v_made;
end $$;

-- Maintains shelves up to the first that needs something, and leaves the others to the next call. A transaction that
-- held the locks of one shelf and waited for those of the next would wait long enough to meet others in a deadlock.
-- Returns how many leaves it made. The caller holds the task "leaves", and ends its transaction soon.
create or replace function jobforge.maintain_next_leaves(p_now timestamptz) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_shelf record;
  v_step record;
begin
  for v_shelf in select * from wanted_shelves() loop
    v_step := maintain_shelf(v_shelf.branch, v_shelf.keep_days, p_now);
    exit when v_step.made > 0 or v_step.gave_up;
  end loop;
  return coalesce(v_step.made, 0);
end $$;
