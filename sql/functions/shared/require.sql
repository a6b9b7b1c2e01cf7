-- Returns whether a text may be the id of a worker. One expression, so that Postgres inlines it.
create or replace function jobforge.is_worker_id(p_worker_id text) returns boolean
language sql immutable parallel safe as $$
  select coalesce(btrim(p_worker_id) <> '' and octet_length(p_worker_id) <= 1024, false)
$$;

-- Raises JF002 unless the worker names itself. The calls for single jobs ask is_worker_id first, because a perform
-- takes as long as a small statement.
create or replace function jobforge.require_worker_id(p_worker_id text) returns void
language plpgsql immutable as $$
begin
  if not jobforge.is_worker_id(p_worker_id) then
    perform jobforge.fail_argument('worker_id', 'worker_id must have 1 to 1024 bytes');
  end if;
end $$;

-- Raises JF002 in a transaction whose isolation level is above READ COMMITTED.
create or replace function jobforge.require_read_committed() returns void
language plpgsql stable as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    perform jobforge.fail('JF002', 'Invalid argument: claiming needs READ COMMITTED, this transaction is '
      || upper(current_setting('transaction_isolation')), 'isolation_level', null,
      'Call it in its own transaction, or start the transaction with ISOLATION LEVEL READ COMMITTED.');
  end if;
end $$;
