-- The shelf of the archive for a time of keeping: the smallest one that is long enough, so that a handful of shelves serve
-- every retention. 30 days unless a policy says otherwise. 3650 is the longest.
create or replace function jobforge.shelf(p_retention_days integer) returns integer
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

-- How many days one leaf of a shelf covers: a fifth of the time of keeping (half for failures, which are few), so that a shelf
-- has a dozen leaves whatever the retention: a job is looked up in each.
create or replace function jobforge.leaf_days(p_branch text, p_keep_days integer) returns integer
language sql immutable as $$
  select ceil(p_keep_days / case p_branch when 'dead_jobs' then 2.0 else 5.0 end)::integer
$$;

-- Says how long maintenance DDL of this transaction waits for a lock. Not at all when the transaction has changed jobs: others may wait for
-- those, with locks that the DDL waits for. Two waits of a moment each make no deadlock, but a busy machine makes them long.
create or replace function jobforge.set_patience(p_holds_jobs boolean) returns void
language plpgsql as $$
begin
  perform set_config('jobforge.patience', case when p_holds_jobs then '1ms' else '50ms' end, true);
end $$;

-- So long, as lock_timeout has it: 50 ms unless set_patience said otherwise.
create or replace function jobforge.patience() returns text
language sql stable as $$
  select case when current_setting('jobforge.patience', true) = '1ms' then '1ms' else '50ms' end
$$;

-- Runs one statement of maintenance DDL, and gives up soon: behind a long reader it would make everybody else wait. False when it
-- gave up.
create or replace function jobforge.try_ddl(p_statement text) returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', jobforge.patience(), true);
  execute p_statement;
  perform set_config('lock_timeout', v_before, true);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Closes a new table to everybody but its owner, also where default privileges have opened it.
create or replace function jobforge.close_table(p_name text) returns void
language plpgsql as $$
declare
  v_table regclass := format('jobforge.%I', p_name)::regclass;
  v_grantee oid;
begin
  execute format('alter table %s enable row level security', v_table);
  for v_grantee in
    select distinct x.grantee
    from pg_class c
    cross join lateral aclexplode(c.relacl) x
    where c.oid = v_table and x.grantee <> c.relowner
  loop
    execute format('revoke all on %s from %s', v_table, case v_grantee when 0 then 'public' else v_grantee::regrole::text end);
  end loop;
end $$;

-- Makes a table for a part of the archive, on its own, so that settles go on meanwhile: nobody sees it before it is attached.
create or replace function jobforge.make_part(p_name text, p_is_shelf boolean) returns void
language plpgsql as $$
begin
  execute format('create table jobforge.%I (like jobforge.archive including all) %s', p_name,
    case when p_is_shelf then 'partition by range (finished_at)' end);
  perform jobforge.close_table(p_name);
  if p_is_shelf then
    execute format('create table jobforge.%I partition of jobforge.%I default', p_name || '_default', p_name);
    perform jobforge.close_table(p_name || '_default');
  end if;
end $$;

-- Waits for whoever is writing to the archive. A row that is on its way into a default part, when a part is attached that it
-- belongs to, would fail. Short, because it keeps settles waiting until the transaction ends, and gives up with the lock timeout.
create or replace function jobforge.let_writers_pass() returns void
language plpgsql as $$
begin
  lock table jobforge.archive in share row exclusive mode;
end $$;

-- Adds a leaf to a shelf. p_is_open: rows may be on their way to its time. False, and nothing done, when that would wait for
-- somebody.
create or replace function jobforge.add_leaf(
  p_name text, p_shelf text, p_from timestamptz, p_to timestamptz, p_is_open boolean
) returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', jobforge.patience(), true);
  perform jobforge.make_part(p_name, false);
  if p_is_open then
    perform jobforge.let_writers_pass();
  end if;
  execute format('alter table jobforge.%I attach partition jobforge.%I for values from (%L) to (%L)', p_shelf, p_name, p_from, p_to);
  perform set_config('lock_timeout', v_before, true);
  return true;
exception when lock_not_available or check_violation then
  return false;
end $$;

-- Adds a shelf with its leaves. It takes along what waits for it in the default one. Answers how many leaves it made, and whether
-- it gave up, with nothing done, because it would have to wait for somebody.
create or replace function jobforge.add_shelf(
  p_branch text, p_keep_days integer, p_now timestamptz, out made integer, out gave_up boolean
)
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
  v_name text := p_branch || '_' || p_keep_days;
begin
  gave_up := false;
  perform set_config('lock_timeout', jobforge.patience(), true);
  perform jobforge.make_part(v_name, true);
  made := (jobforge.add_leaves(p_branch, p_keep_days, p_now, false)).made;
  perform jobforge.let_writers_pass();
  execute format(
    'with moved as (delete from jobforge.%I d where d.keep_days = $1 returning d.*) insert into jobforge.%I select * from moved',
    p_branch || '_default', v_name) using p_keep_days;
  execute format('alter table jobforge.%I attach partition jobforge.%I for values in (%s)', p_branch, v_name, p_keep_days);
  perform set_config('lock_timeout', v_before, true);
exception when lock_not_available or check_violation then
  made := 0;
  gave_up := true;
end $$;

-- Makes the leaves of a shelf for the next seven days; a range that already has rows in the default leaf stays there. p_is_open:
-- the shelf is in use. Answers how many it made, and whether it gave up at one that cannot be made without waiting.
create or replace function jobforge.add_leaves(
  p_branch text, p_keep_days integer, p_now timestamptz, p_is_open boolean, out made integer, out gave_up boolean
)
language plpgsql as $$
declare
  v_shelf text := p_branch || '_' || p_keep_days;
  v_width interval := make_interval(days => jobforge.leaf_days(p_branch, p_keep_days));
  -- Leaves start at multiples of their width since 2000, in UTC, so that every worker means the same ones.
  v_from timestamptz := date_bin(v_width, p_now, '2000-01-01T00:00:00Z');
  v_to timestamptz;
  v_name text;
  v_filled boolean;
begin
  made := 0;
  gave_up := false;
  while v_from < p_now + interval '7 days' loop
    v_to := v_from + v_width;
    v_name := v_shelf || to_char(v_from at time zone 'UTC', '"_"YYYYMMDD');
    if not exists (select from jobforge.leaves l where l.name = v_name) then
      execute format('select exists (select from jobforge.%I where finished_at >= %L and finished_at < %L)',
        v_shelf || '_default', v_from, v_to) into v_filled;
      if not v_filled then
        -- Workers' clocks are the database's; a minute is for transactions that began before.
        gave_up := not jobforge.add_leaf(v_name, v_shelf, v_from, v_to, p_is_open and v_from < p_now + interval '1 minute');
        exit when gave_up;
        insert into jobforge.leaves (name, branch, keep_days, from_at, to_at) values (v_name, p_branch, p_keep_days, v_from, v_to);
        made := made + 1;
      end if;
    end if;
    v_from := v_to;
  end loop;
end $$;

-- Whether a policy asks for a shelf that has not been made yet.
create or replace function jobforge.lacks_shelf() returns boolean
language sql stable as $$
  select exists (
    select from jobforge.policies p
    where to_regclass('jobforge.finished_jobs_' || jobforge.shelf(p.retention_days)) is null
      or to_regclass('jobforge.dead_jobs_' || jobforge.shelf(p.retention_days)) is null)
$$;

-- The shelves that policies ask for, made or not.
create or replace function jobforge.wanted_shelves() returns table (branch text, keep_days integer)
language sql stable as $$
  select b.branch, s.keep_days
  from (values ('finished_jobs'), ('dead_jobs')) b(branch)
  cross join (select distinct jobforge.shelf(p.retention_days) as keep_days from jobforge.policies p) s
  order by 1, 2
$$;

-- Makes a shelf that is not there yet, and the leaves of one for the next seven days. A shelf for which more than 10,000 rows wait
-- is not made. Answers how many leaves it made, and whether it gave up because it would have to wait for somebody.
create or replace function jobforge.tend_shelf(
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

-- Tends all shelves, up to the first at which it gives up. Answers how many leaves it made. For installations that nobody uses yet:
-- every part that is attached keeps readers and writers out until the transaction ends.
create or replace function jobforge.tend_leaves(p_now timestamptz) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_shelf record;
  v_made integer := 0;
  v_step record;
begin
  for v_shelf in select * from wanted_shelves() loop
    v_step := tend_shelf(v_shelf.branch, v_shelf.keep_days, p_now);
    v_made := v_made + v_step.made;
    exit when v_step.gave_up;
  end loop;
  return v_made;
end $$;

-- Tends shelves up to the first for which there was something to do, and leaves the others to the next time. Whoever goes on with
-- the locks of one shelf, and waits for those of the next, in sum waits long enough to meet others in a deadlock. Answers how many
-- leaves it made. The caller holds the task "leaves", and ends its transaction soon.
create or replace function jobforge.tend_next_leaves(p_now timestamptz) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_shelf record;
  v_step record;
begin
  for v_shelf in select * from wanted_shelves() loop
    v_step := tend_shelf(v_shelf.branch, v_shelf.keep_days, p_now);
    exit when v_step.made > 0 or v_step.gave_up;
  end loop;
  return coalesce(v_step.made, 0);
end $$;

-- Forgets what is older than its time of keeping, a bounded slice a call: first the keys, large payloads and attempts of the
-- jobs of one leaf, then the leaf, which is emptied and then dropped, each as soon as no reader is in the way. Of the leaves
-- whose time is over any one may be next, so that one with a reader holds up no other. Answers how many jobs it went
-- through.
create or replace function jobforge.retire_leaves(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_leaf leaves;
  v_jobs uuid[];
  v_count integer;
  v_last tid;
begin
  select l.* into v_leaf
  from leaves l
  where l.to_at + make_interval(days => l.keep_days) <= p_now
  order by random()
  limit 1
  for update skip locked;
  if not found then
    return 0;
  elsif v_leaf.emptied_at is not null then
    if try_ddl(format('drop table %I', v_leaf.name)) then
      delete from leaves l where l.name = v_leaf.name;
    end if;
    return 0;
  end if;
  execute format(
    'select count(*), max(s.ctid) from (select f.ctid from %I f where f.ctid > $1 limit $2) s',
    v_leaf.name) into v_count, v_last using v_leaf.cleared_to, p_limit;
  if v_count > 0 then
    execute format('select array(select f.id from %I f where f.ctid > $1 and f.ctid <= $2 for update skip locked)',
      v_leaf.name) into v_jobs using v_leaf.cleared_to, v_last;
    perform forget_traces(v_jobs);
    -- A job that an open transaction is bringing back keeps what it has, and the slice is gone through again.
    if cardinality(v_jobs) < v_count then
      return 0;
    end if;
    update leaves l set cleared_to = v_last where l.name = v_leaf.name;
  elsif try_ddl(format('truncate %I', v_leaf.name)) then
    update leaves l set emptied_at = p_now where l.name = v_leaf.name;
  end if;
  return v_count;
end $$;

-- Forgets jobs in default leaves whose time is over: the few that ended before maintenance had made their leaf. Answers how
-- many.
create or replace function jobforge.empty_defaults(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_leaf regclass;
  v_gone uuid[];
  v_count integer := 0;
begin
  for v_leaf in
    select i.inhrelid::regclass
    from pg_partition_tree('archive') t
    join pg_inherits i on i.inhrelid = t.relid
    join pg_class c on c.oid = t.relid
    where t.isleaf and pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT'
  loop
    execute format(
      'with gone as (
         delete from %s f where f.ctid = any (array(
           select d.ctid from %s d where d.finished_at + make_interval(days => d.keep_days) <= $1 limit $2 for update skip locked))
         returning f.id
       )
       select array_agg(g.id) from gone g', v_leaf, v_leaf) into v_gone using p_now, p_limit;
    perform forget_traces(v_gone);
    v_count := v_count + coalesce(cardinality(v_gone), 0);
  end loop;
  return v_count;
end $$;

-- Deletes what jobs have outside their own row: keys, large payloads and earlier attempts.
create or replace function jobforge.forget_traces(p_job_ids uuid[]) returns void
language plpgsql as $$
begin
  delete from jobforge.job_keys k where k.job_id = any (p_job_ids);
  delete from jobforge.payloads p where p.job_id = any (p_job_ids);
  delete from jobforge.attempts a where a.job_id = any (p_job_ids);
end $$;

-- The same for jobs of types that keep no history, whose keys stand for another day.
create or replace function jobforge.keep_only_keys(p_job_ids uuid[], p_now timestamptz) returns void
language plpgsql as $$
begin
  update jobforge.job_keys k set forget_at = p_now + interval '24 hours' where k.job_id = any (p_job_ids);
  delete from jobforge.payloads p where p.job_id = any (p_job_ids);
  delete from jobforge.attempts a where a.job_id = any (p_job_ids);
end $$;
