-- Sets the lock timeout for maintenance DDL in this transaction. A transaction that has changed jobs waits only
-- briefly: another transaction may wait for those jobs while it holds a lock that the DDL needs. Both waits end, so
-- this is not a deadlock, but on a busy machine they become long.
create or replace function jobforge.set_ddl_lock_timeout(p_holds_jobs boolean) returns void
language plpgsql as $$
begin
  perform set_config('jobforge.ddl_lock_timeout', case when p_holds_jobs then '1ms' else '50ms' end, true);
end $$;

-- Returns the lock timeout for maintenance DDL: 50 ms unless set_ddl_lock_timeout has set another.
create or replace function jobforge.ddl_lock_timeout() returns text
language sql stable as $$
  select case when current_setting('jobforge.ddl_lock_timeout', true) = '1ms' then '1ms' else '50ms' end
$$;

-- Runs one statement of maintenance DDL, and gives up after the lock timeout: while it waits behind a long reader,
-- every other transaction would wait behind it. Returns false when it gave up.
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

-- Revokes every right on a new table from all roles but its owner, because default privileges may have granted some.
create or replace function jobforge.restrict_to_owner(p_name text) returns void
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
    execute format('revoke all on %s from %s',
      v_table, case v_grantee when 0 then 'public' else v_grantee::regrole::text end);
  end loop;
end $$;

-- Creates a table for a shelf or leaf of the archive, not yet attached: until then no other transaction sees it, and
-- settles go on. The caller's settings say nothing about where or how it is stored.
create or replace function jobforge.create_partition(p_name text, p_is_shelf boolean) returns void
language plpgsql
set default_tablespace = ''
set default_table_access_method = 'heap' as $$
begin
  execute format('create table jobforge.%I (like jobforge.archive including all) %s', p_name,
    case when p_is_shelf then 'partition by range (finished_at)' end);
  perform jobforge.restrict_to_owner(p_name);
  if p_is_shelf then
    execute format('create table jobforge.%I partition of jobforge.%I default', p_name || '_default', p_name);
    perform jobforge.restrict_to_owner(p_name || '_default');
  end if;
end $$;

-- Waits until no transaction writes to the archive. Otherwise a row on its way into a default partition would fail when
-- the partition that it belongs to is attached. The lock makes settles wait until the transaction ends, so that must be
-- soon. Raises lock_not_available after the lock timeout.
create or replace function jobforge.wait_for_archive_writers() returns void
language plpgsql as $$
begin
  lock table jobforge.archive in share row exclusive mode;
end $$;
