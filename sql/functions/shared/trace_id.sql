-- Returns the trace id of one run, for logs, the attempt and outbound calls: 32 hex digits that follow from the job and
-- the attempt. So every program can compute it, and it is not stored.
create or replace function jobforge.trace_id(p_job_id uuid, p_attempt integer) returns text
language sql immutable strict parallel safe as $$
  select encode(substring(sha256(uuid_send(p_job_id) || int4send(p_attempt)) for 16), 'hex')
$$;
