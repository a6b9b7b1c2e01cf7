-- Returns the trace id of one run, for logs, the attempt and outbound calls: 32 hex digits that follow from the job and
-- the attempt. So every program can compute it, and it is not stored. Views run it with the rights of their reader. Its
-- body is SQL-standard: names are bound when it is created, and not in the search path of the reader.
create or replace function jobforge.trace_id(p_job_id uuid, p_attempt integer) returns text
language sql immutable strict parallel safe
return encode(substring(sha256(uuid_send(p_job_id) || int4send(p_attempt)) for 16), 'hex');
