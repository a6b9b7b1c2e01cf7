-- Raises JF002 unless the worker names itself.
create or replace function jobforge.require_worker_id(p_worker_id text) returns void
language plpgsql immutable as $$
begin
  if p_worker_id is null or btrim(p_worker_id) = '' or octet_length(p_worker_id) > 1024 then
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
