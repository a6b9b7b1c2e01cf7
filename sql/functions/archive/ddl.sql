-- Says how long maintenance DDL of this transaction waits for a lock. Not at all when the transaction has changed jobs: others may wait for
-- those, with locks that the DDL waits for. Two waits of a moment each make no deadlock, but a busy machine makes them long.
create or replace function jobforge.set_ddl_lock_timeout(p_holds_jobs boolean) returns void
language plpgsql as $$
begin
  perform set_config('jobforge.ddl_lock_timeout', case when p_holds_jobs then '1ms' else '50ms' end, true);
end $$;

-- So long, as lock_timeout has it: 50 ms unless set_ddl_lock_timeout said otherwise.
create or replace function jobforge.ddl_lock_timeout() returns text
language sql stable as $$
  select case when current_setting('jobforge.ddl_lock_timeout', true) = '1ms' then '1ms' else '50ms' end
$$;

-- Runs one statement of maintenance DDL, and gives up soon: behind a long reader it would make everybody else wait. False when it
-- gave up.
create or replace function jobforge.try_ddl(p_statement text) returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', jobforge.ddl_lock_timeout(), true);
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
create or replace function jobforge.make_partition(p_name text, p_is_shelf boolean) returns void
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
