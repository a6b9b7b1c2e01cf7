-- Returns the part of a payload that is stored in the job's row: all of it, or null when it is over about 1.5 kB. Then
-- it is stored in jobforge.payloads, where the end of a run does not copy it. p_bytes is its length as text: a number
-- such as 1e100000 is stored in a few bytes and printed in 100 kB, so a payload in a row is small in both ways. Claims
-- and pages rely on that and do not measure it again. It is stable, as pg_column_size is: Postgres would not inline it
-- if it were declared immutable.
create or replace function jobforge.inline_payload(p_payload jsonb, p_bytes integer) returns jsonb
language sql stable as $$
  select case when p_bytes <= jobforge.inline_bytes() and pg_column_size(p_payload) <= 1500 then p_payload end
$$;

-- Gives a queued job a new payload. The caller has locked the job.
create or replace function jobforge.replace_payload(p_job_id uuid, p_payload jsonb) returns void
language plpgsql as $$
declare
  v_bytes integer := octet_length(p_payload::text);
begin
  update jobforge.queue set payload = jobforge.inline_payload(p_payload, v_bytes) where id = p_job_id;
  delete from jobforge.payloads where job_id = p_job_id;
  insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
  select j.id, j.tenant_id, v_bytes, p_payload
  from jobforge.queue j
  where j.id = p_job_id and j.payload is null;
end $$;
