-- Requests a NOTIFY on jobforge_done with the id of a job or workflow when it ends, within ten minutes. Returns
-- {id, status}. To use it: listen, watch, and wait only if the status is not final yet.
-- Who: the tenant itself, operators. JF002 if there is no such job or workflow.
create or replace function :"api_schema".jobforge_watch_job(p_job_id uuid, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_status text;
begin
  perform require_tenant(p_tenant_id);
  v_status := coalesce(
    (select j.status from find_job(p_job_id) j where j.tenant_id = p_tenant_id),
    (select w.status from workflows w where w.id = p_job_id and w.tenant_id = p_tenant_id));
  if v_status is null then
    perform fail_argument('job_id', 'there is no such job or workflow');
  elsif v_status = any (live_statuses()) then
    insert into watches (job_id, until) values (p_job_id, jobforge.now() + interval '10 minutes')
    on conflict (job_id) do update set until = excluded.until;
  end if;
  return jsonb_build_object('id', p_job_id, 'status', v_status);
end $$;
