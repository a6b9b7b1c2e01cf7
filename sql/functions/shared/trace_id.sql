-- The id of one execution, for logs, the attempt and outbound calls: 32 hex digits that follow from job and attempt, so
-- every party can compute it and nobody has to store it.
create or replace function jobforge.trace_id(p_job_id uuid, p_attempt integer) returns text
language sql immutable strict parallel safe as $$
  select encode(substring(sha256(uuid_send(p_job_id) || int4send(p_attempt)) for 16), 'hex')
$$;
