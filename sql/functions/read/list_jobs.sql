-- Returns a tenant's jobs, newest first, live and finished together. Filters: status and type (a text or an array),
-- tags (all of them), subject, error_contains, error_group, created_after/before and finished_after/before (after is
-- inclusive, before exclusive), limit (50, at most 1000), offset, cursor (the id of the last job of the previous
-- page). A page has at most 8 MiB, so it may have fewer jobs than the limit; the next page with its cursor goes on, and
-- an empty page is the end. JF002 for an unknown or malformed filter.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_jobs(p_tenant_id uuid, p_filters jsonb default '{}')
returns setof :"api_schema".jobforge_jobs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return query select * from read_page(p_tenant_id, read_filters(p_filters));
end $$;
