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

-- How many days one leaf of a shelf covers: an eighth of the time of keeping (a third for failures, which are few), so
-- that the archive has a dozen or two leaves whatever the retention.
create or replace function jobforge.leaf_days(p_branch text, p_keep_days integer) returns integer
language sql immutable as $$
  select ceil(p_keep_days / case p_branch when 'dead_jobs' then 3.0 else 8.0 end)::integer
$$;

-- Runs one statement of maintenance DDL, and gives up after 50 ms: behind a long reader it would make everybody else wait.
-- False when it gave up.
create or replace function jobforge.try_ddl(p_statement text) returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', '50ms', true);
  execute p_statement;
  perform set_config('lock_timeout', v_before, true);
  return true;
exception when lock_not_available then
  return false;
end $$;

-- Adds a partition to the archive the gentle way: made on its own, then attached, so that settles go on meanwhile.
create or replace function jobforge.add_partition(
  p_name text, p_parent text, p_bound text, p_partition_by text default ''
) returns boolean
language plpgsql as $$
declare
  v_own_shelf constant boolean := p_partition_by <> '';
begin
  execute format('create table jobforge.%I (like jobforge.archive including all) %s', p_name, p_partition_by);
  execute format('alter table jobforge.%I enable row level security', p_name);
  if v_own_shelf then
    execute format('create table jobforge.%I partition of jobforge.%I default', p_name || '_default', p_name);
    execute format('alter table jobforge.%I enable row level security', p_name || '_default');
  end if;
  if not jobforge.try_ddl(format('alter table jobforge.%I attach partition jobforge.%I for values %s', p_parent, p_name, p_bound))
  then
    execute format('drop table jobforge.%I', p_name);
    return false;
  end if;
  return true;
end $$;

-- Makes the shelves that policies ask for and their leaves for the next seven days. What cannot be done without waiting is
-- left for the next time; a range that already has rows in the default leaf stays there. Answers how many leaves it made.
create or replace function jobforge.tend_leaves(p_now timestamptz) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_shelf record;
  v_from timestamptz;
  v_to timestamptz;
  v_width interval;
  v_name text;
  v_filled boolean;
  v_made integer := 0;
begin
  for v_shelf in
    select b.branch, s.keep_days, b.branch || '_' || s.keep_days as name
    from (values ('finished_jobs'), ('dead_jobs')) b(branch)
    cross join (select distinct shelf(p.retention_days) as keep_days from policies p) s
    order by 1, 2
  loop
    if to_regclass(format('jobforge.%I', v_shelf.name)) is null then
      execute format('select exists (select from %I where keep_days = %s)', v_shelf.branch || '_default', v_shelf.keep_days)
      into v_filled;
      continue when v_filled or not add_partition(
        v_shelf.name, v_shelf.branch, format('in (%s)', v_shelf.keep_days), 'partition by range (finished_at)');
    end if;
    v_width := make_interval(days => leaf_days(v_shelf.branch, v_shelf.keep_days));
    -- Leaves start at multiples of their width since 2000, in UTC, so that every worker means the same ones.
    v_from := date_bin(v_width, p_now, '2000-01-01T00:00:00Z');
    while v_from < p_now + interval '7 days' loop
      v_to := v_from + v_width;
      v_name := v_shelf.name || to_char(v_from at time zone 'UTC', '"_"YYYYMMDD');
      if not exists (select from leaves l where l.name = v_name) then
        execute format('select exists (select from %I where finished_at >= %L and finished_at < %L)',
          v_shelf.name || '_default', v_from, v_to) into v_filled;
        if not v_filled and add_partition(v_name, v_shelf.name, format('from (%L) to (%L)', v_from, v_to)) then
          insert into leaves (name, branch, keep_days, from_at, to_at)
          values (v_name, v_shelf.branch, v_shelf.keep_days, v_from, v_to);
          v_made := v_made + 1;
        end if;
      end if;
      v_from := v_to;
    end loop;
  end loop;
  return v_made;
end $$;

-- Forgets what is older than its time of keeping, a bounded slice a call: first the keys, large payloads and attempts of the
-- jobs of one leaf, then the leaf, which is emptied and then dropped, each as soon as no reader is in the way. Answers how
-- many jobs it went through.
create or replace function jobforge.retire_leaves(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_leaf leaves;
  v_jobs uuid[];
  v_last tid;
begin
  select l.* into v_leaf
  from leaves l
  where l.to_at + make_interval(days => l.keep_days) <= p_now
  order by l.emptied_at nulls first, l.to_at
  limit 1
  for update skip locked;
  if not found then
    return 0;
  end if;
  if v_leaf.emptied_at is null then
    execute format('select array_agg(s.id), max(s.ctid) from (select f.id, f.ctid from %I f where f.ctid > $1 limit $2) s',
      v_leaf.name) into v_jobs, v_last using v_leaf.cleared_to, p_limit;
    if v_jobs is not null then
      perform forget_traces(v_jobs);
      update leaves l set cleared_to = v_last where l.name = v_leaf.name;
      return cardinality(v_jobs);
    end if;
    if try_ddl(format('truncate %I', v_leaf.name)) then
      update leaves l set emptied_at = p_now where l.name = v_leaf.name;
    end if;
  elsif try_ddl(format('drop table %I', v_leaf.name)) then
    delete from leaves l where l.name = v_leaf.name;
  end if;
  return 0;
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
