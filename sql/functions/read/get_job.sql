-- Returns one job of a tenant, live or finished; no row if there is none.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_job(p_job_id uuid, p_tenant_id uuid)
returns setof :"api_schema".jobforge_jobs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return query select j.* from find_job(p_job_id) j where j.tenant_id = p_tenant_id;
end $$;
