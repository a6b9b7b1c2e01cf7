-- Deletes up to p_limit finished jobs of a tenant that a filter selects, before their retention ends: rows, results,
-- attempts, large payloads and idempotency keys, which become free again. Returns {matched, changed}. Fewer jobs
-- change than match if another transaction is rescheduling some of them.
-- Who: operators. Locks the rows it deletes; never waits.
create or replace function :"api_schema".jobforge_purge_jobs(p_tenant_id uuid, p_filters jsonb,
  p_limit integer default 1000)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  v_filter job_filter;
  v_found integer;
  v_gone uuid[];
  v_result jsonb;
begin
  perform require_tenant(p_tenant_id);
  v_filter := narrowed(read_bulk_filters(p_filters, p_limit), changeable('purge'));
  with page as materialized (
    select p.id, p.finished_at from find_narrowed(p_tenant_id, v_filter) p
  ), held as materialized (
    select f.id, f.finished_at
    from page p
    cross join lateral (
      select a.id, a.finished_at
      from archive a
      where a.id = p.id and a.finished_at = p.finished_at and a.tenant_id = p_tenant_id
      for update skip locked
    ) f
  ), gone as (
    delete from archive a
    using held h
    where a.id = h.id and a.finished_at = h.finished_at
    returning a.id
  )
  select (select count(*) from page), array(select g.id from gone g) into v_found, v_gone;
  perform delete_side_rows(v_gone);
  v_result := jsonb_build_object('matched', v_found, 'changed', cardinality(v_gone));
  perform audit_bulk(p_tenant_id, 'JOBS_PURGED', p_filters, v_result);
  return v_result;
end $$;
