-- Deletes up to p_limit finished jobs of a tenant that a filter selects, before their retention ends: rows, results,
-- attempts, large payloads and idempotency keys, which become free again. Returns {matched, changed}. Fewer jobs change
-- than match if another transaction is rescheduling some of them. A change of many jobs is an operation: calls with one
-- p_operation, an id that the caller makes up, and as p_cursor the cursor of the previous answer, until that is null.
-- They look at each job once, and have one entry in the audit log; see jobforge.audit_bulk. With an operation and null
-- as the tenant, jobs of all tenants.
-- Who: operators. Locks the rows it deletes; never waits, except for another call of the same operation.
create or replace function :"api_schema".jobforge_purge_jobs(p_tenant_id uuid, p_filters jsonb,
  p_limit integer default 1000, p_operation uuid default null, p_cursor uuid default null)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  v_filter job_filter;
  v_found uuid[];
  v_gone uuid[];
  v_result jsonb;
begin
  perform require_bulk(p_tenant_id, p_operation);
  v_filter := narrowed(read_bulk_filters(p_filters, p_limit, p_cursor), changeable('purge'));
  with page as materialized (
    select p.id, p.finished_at from find_narrowed(p_tenant_id, v_filter) p
  ), held as materialized (
    select f.id, f.finished_at
    from page p
    cross join lateral (
      select a.id, a.finished_at
      from archive a
      where a.id = p.id and a.finished_at = p.finished_at
        and (p_tenant_id is null or a.tenant_id = p_tenant_id)
      for update skip locked
    ) f
  ), gone as (
    delete from archive a
    using held h
    where a.id = h.id and a.finished_at = h.finished_at
    returning a.id
  )
  select array(select p.id from page p), array(select g.id from gone g) into v_found, v_gone;
  perform delete_side_rows(v_gone);
  v_result := jsonb_build_object('matched', cardinality(v_found), 'changed', cardinality(v_gone));
  return audit_bulk(p_tenant_id, 'JOBS_PURGED', p_filters, v_result, p_operation, bulk_cursor(v_found, p_limit));
end $$;
