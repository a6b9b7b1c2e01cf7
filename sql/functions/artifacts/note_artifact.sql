-- Notes that something is about to be stored in a folder of the artifact store, so that it is deleted when its job is
-- forgotten. Call it and commit before the content is stored. p_job_id is the job whose content it is; null: the
-- payload of a job that is about to be enqueued. Returns {area, tenant_id, id}: the key of a content in the folder is
-- area/tenant_id/id/name. The same call again changes nothing. A payload that no job refers to is deleted after a day.
-- Who: the tenant itself, workers, operators. JF002 if the tenant has no such job, JF007 if 10,000 payloads of the
-- tenant wait for their job. Waits only for another transaction that notes the same folder.
create or replace function :"api_schema".jobforge_note_artifact(
  p_tenant_id uuid,
  p_area text,
  p_job_id uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_id uuid := coalesce(p_job_id, new_id());
begin
  perform require_tenant(p_tenant_id);
  if p_area is null or p_area !~ '^[a-z]{1,32}$' then
    perform fail_argument('area', 'area must be 1 to 32 small letters', 'Use reports, http, results or payloads.');
  elsif p_job_id is null and p_area <> 'payloads' then
    perform fail_argument('job_id', 'job_id is required', 'Only payloads are stored before their job exists.');
  elsif p_job_id is not null and not exists (
    select from find_job(p_job_id) j where j.tenant_id = p_tenant_id)
  then
    perform fail_argument('job_id', 'the tenant has no such job');
  elsif p_job_id is null and max_unbound_payloads() <= (
    select count(*) from (
      select from artifacts a where a.tenant_id = p_tenant_id and a.job_id is null limit max_unbound_payloads()) a)
  then
    perform fail('JF007', 'Payload limit exceeded for tenant', 'payload_limit_exceeded', null,
      format('%s payloads wait for their job. Those that get none are deleted after a day.', max_unbound_payloads()));
  end if;
  insert into artifacts (id, area, tenant_id, job_id, noted_at, check_at)
  values (v_id, p_area, p_tenant_id, p_job_id, v_now,
    -- A call that binds the payload may have begun before it was too old, so it is looked at some time later.
    v_now + interval '1 hour' + case when p_job_id is null then unbound_payload_age() else interval '0' end)
  on conflict do nothing;
  return jsonb_build_object('area', p_area, 'tenant_id', p_tenant_id, 'id', v_id);
end $$;

-- Returns how many payloads of a tenant may be stored and have no job yet.
create or replace function jobforge.max_unbound_payloads() returns integer
language sql immutable as $$ select 10000 $$;

-- Returns how long a stored payload is kept that no job refers to.
create or replace function jobforge.unbound_payload_age() returns interval
language sql immutable as $$ select interval '1 day' $$;
