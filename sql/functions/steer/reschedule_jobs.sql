-- Makes up to p_limit queued, failed or dead jobs of a tenant that a filter selects run now. Finished jobs get a
-- fresh budget. Returns {matched, changed}. Fewer jobs change than match if another transaction holds some of them,
-- or if a live job has taken the dedupe key.
-- Who: the tenant itself, operators.
create or replace function :"api_schema".jobforge_reschedule_jobs(p_tenant_id uuid, p_filters jsonb,
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
  v_queued uuid[];
  v_revived uuid[];
  v_result jsonb;
begin
  perform require_tenant(p_tenant_id);
  v_filter := narrowed(read_bulk_filters(p_filters, p_limit), changeable('reschedule'));
  v_found := array(select p.id from find_narrowed(p_tenant_id, v_filter) p order by p.id);
  -- Take keys first, because that may wait. Lock rows after that, because that does not. So a waiting transaction
  -- holds no row that another one waits for.
  v_revived := array(select r.id from revive(v_found, p_tenant_id, v_now, null, v_now) r);
  v_queued := lock_queued_jobs(array(select i from unnest(v_found) i where i <> all (v_revived)));
  perform postpone(i, v_now, null, v_now) from unnest(v_queued) i;
  perform wake(t.type, v_now, v_now, array[p_tenant_id])
  from (select distinct j.type from queue j where j.id = any (v_queued || v_revived)) t;
  v_result := jsonb_build_object('matched', cardinality(v_found),
    'changed', cardinality(v_queued) + cardinality(v_revived));
  perform audit_bulk(p_tenant_id, 'JOBS_RESCHEDULED', p_filters, v_result);
  return v_result;
end $$;
