-- Cancels up to p_limit jobs of a tenant that a filter selects: queued jobs at once, running jobs when their run
-- ends. Returns {matched, changed}. Fewer jobs change than match if another transaction holds some of them, or if
-- their cancellation was requested before.
-- Who: the tenant itself, operators. Never waits.
create or replace function :"api_schema".jobforge_cancel_jobs(p_tenant_id uuid, p_filters jsonb,
  p_limit integer default 1000)
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
  perform require_tenant(p_tenant_id);
  v_filter := narrowed(read_bulk_filters(p_filters, p_limit), changeable('cancel'));
  v_found := array(select p.id from find_narrowed(p_tenant_id, v_filter) p);
  v_result := jsonb_build_object('matched', cardinality(v_found),
    'changed', request_cancels(v_found, v_now) + finish_queued(lock_queued_jobs(v_found), 'canceled', v_now));
  perform audit_bulk(p_tenant_id, 'JOBS_CANCELED', p_filters, v_result);
  return v_result;
end $$;
