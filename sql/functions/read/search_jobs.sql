-- Returns the jobs of all tenants, newest first. Filters are those of jobforge_list_jobs, and tenant_id.
-- A page is bounded by bytes in the same way.
-- Who: operators. Locks nothing.
create or replace function :"api_schema".jobforge_search_jobs(p_filters jsonb default '{}')
returns setof :"api_schema".jobforge_jobs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_filter job_filter;
begin
  perform require_operator();
  -- Before tenant_id is read as text: it checks that the filters may be printed.
  v_filter := read_filters(p_filters, array['tenant_id']);
  return query
  select * from read_page(filter_text(p_filters, 'tenant_id', 'id')::uuid, v_filter);
end $$;
