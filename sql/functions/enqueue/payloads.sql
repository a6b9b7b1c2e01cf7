-- Returns the part of a payload that is stored in the job's row: all of it, or null when it is over about 1.5 kB. Then
-- it is stored in jobforge.payloads, where the end of a run does not copy it. p_bytes is its length as text: a number
-- such as 1e100000 is stored in a few bytes and printed in 100 kB, so a payload in a row is small in both ways. Claims
-- and pages rely on that and do not measure it again. It is stable, as pg_column_size is: Postgres would not inline it
-- if it were declared immutable.
create or replace function jobforge.inline_payload(p_payload jsonb, p_bytes integer) returns jsonb
language sql stable as $$
  select case when p_bytes <= jobforge.inline_bytes() and pg_column_size(p_payload) <= 1500 then p_payload end
$$;

-- Returns a text with the payloads of jobs put in the places that run_document has marked, in order: as its parts, so
-- that a payload is copied to the client from where it is stored. A concatenation of many would be copied many times.
-- Reads what is committed now, because a job that a claim has just found may be younger than the caller's snapshot.
create or replace function jobforge.parts_with_payloads(p_text text, p_job_ids uuid[]) returns setof text
language plpgsql as $$
begin
  return query
  select x.part
  from unnest(string_to_array(p_text, jobforge.payload_mark()), p_job_ids) t(part, job_id)
  cross join lateral (
    select t.part
    union all
    select coalesce((select p.payload from jobforge.payloads p where p.job_id = t.job_id), 'null')
    where t.job_id is not null
  ) x;
end $$;

-- Returns the same as one text.
create or replace function jobforge.with_payloads(p_text text, p_job_ids uuid[]) returns text
language plpgsql as $$
begin
  return case when p_job_ids is null then p_text
    else (select string_agg(x.part, '') from jobforge.parts_with_payloads(p_text, p_job_ids) x(part)) end;
end $$;

-- Returns what stands for a payload that is not in the row of its job: a character that no JSON text contains, because
-- a string has it only as \u0001.
create or replace function jobforge.payload_mark() returns text
language sql immutable parallel safe as $$
  select E'\x01'
$$;

-- Gives a queued job a new payload, and to a delivery the keys of its endpoint. The caller has locked the job.
create or replace function jobforge.replace_payload(p_job_id uuid, p_payload jsonb) returns void
language plpgsql as $$
declare
  v_text text := p_payload::text;
  v_bytes integer := octet_length(v_text);
begin
  update jobforge.queue j
  set payload = jobforge.inline_payload(p_payload, v_bytes),
    subject = coalesce(jobforge.endpoint_key(j.type, p_payload), j.subject),
    concurrency_key = coalesce(jobforge.endpoint_key(j.type, p_payload), j.concurrency_key)
  where j.id = p_job_id;
  delete from jobforge.payloads where job_id = p_job_id;
  insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
  select j.id, j.tenant_id, v_bytes, v_text
  from jobforge.queue j
  where j.id = p_job_id and j.payload is null;
end $$;
