-- Cancels up to p_limit jobs of a tenant that a filter selects: queued jobs at once, running jobs when their run ends.
-- Returns {matched, changed}. Fewer jobs change than match if another transaction holds some of them, or if their
-- cancellation was requested before. A change of many jobs is an operation: calls with one p_operation, an id that the
-- caller makes up, and as p_cursor the cursor of the previous answer, until that is null. They look at each job once,
-- and have one entry in the audit log; see jobforge.audit_bulk. With an operation and null as the tenant, jobs of all
-- tenants.
-- Who: the tenant itself; operators, also with null. Never waits, except for another call of the same operation.
create or replace function :"api_schema".jobforge_cancel_jobs(p_tenant_id uuid, p_filters jsonb,
  p_limit integer default 1000, p_operation uuid default null, p_cursor uuid default null)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_filter job_filter;
  v_found uuid[];
  v_result jsonb;
begin
  perform require_bulk(p_tenant_id, p_operation);
  v_filter := narrowed(read_bulk_filters(p_filters, p_limit, p_cursor), changeable('cancel'));
  v_found := array(select p.id from find_narrowed(p_tenant_id, v_filter) p);
  v_result := jsonb_build_object('matched', cardinality(v_found),
    'changed', request_cancels(v_found, v_now) + finish_queued(lock_queued_jobs(v_found), 'canceled', v_now));
  return audit_bulk(p_tenant_id, 'JOBS_CANCELED', p_filters, v_result, p_operation, bulk_cursor(v_found, p_limit));
end $$;
