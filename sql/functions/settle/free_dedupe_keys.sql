-- Frees the dedupe keys of jobs that this transaction has finished. Only the transaction that finishes a job deletes
-- its key, and no transaction locks the row of a key, so this never waits.
create or replace function jobforge.free_dedupe_keys(p_keys jobforge.live_key[]) returns void
language plpgsql
-- Keys are found one by one, whatever the table looked like when the plan was made.
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_nestloop = on as $$
begin
  delete from jobforge.dedupe_keys d
  using unnest(p_keys) k
  where d.tenant_id = k.tenant_id and d.type = k.type and d.dedupe_key = k.dedupe_key;
end $$;
