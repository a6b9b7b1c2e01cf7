-- Returns the jobs of a JSON array, in order. Raises JF002, which names the first job that is not an object, or has an
-- unknown key or a value of the wrong kind.
create or replace function jobforge.read_jobs(p_jobs jsonb) returns jobforge.new_job[]
language plpgsql as $$
declare
  v_known constant text[] := array[
    'type', 'payload', 'idempotency_key', 'run_at', 'max_attempts', 'priority', 'dedupe_key', 'dedupe_mode', 'tags',
    'subject', 'concurrency_key', 'expires_at', 'traceparent', 'default_attempts'];
  v_bad record;
begin
  select e.ord - 1 as index, jsonb_typeof(e.job) as kind,
    case when jsonb_typeof(e.job) = 'object'
      then (select k from jsonb_object_keys(e.job - v_known) k limit 1)
    end as key,
    case when jsonb_typeof(e.job) = 'object' then jobforge.key_of_wrong_kind(e.job) end as wrong
  into v_bad
  from jsonb_array_elements(p_jobs) with ordinality e(job, ord)
  where case when jsonb_typeof(e.job) = 'object'
    then e.job - v_known <> '{}' or jobforge.key_of_wrong_kind(e.job) is not null
    else true end
  order by e.ord
  limit 1;
  if found and v_bad.kind <> 'object' then
    perform jobforge.fail_argument(format('jobs[%s]', v_bad.index),
      format('job %s: must be a JSON object', v_bad.index));
  elsif found and v_bad.key is null then
    perform jobforge.fail_argument(format('jobs[%s].%s', v_bad.index, v_bad.wrong),
      format('job %s: %s must be a text', v_bad.index, v_bad.wrong));
  elsif found then
    perform jobforge.fail_argument(format('jobs[%s].%s', v_bad.index, v_bad.key),
      format('job %s: unknown key %s', v_bad.index, v_bad.key),
      'Known keys: ' || array_to_string(v_known, ', ') || '.');
  end if;
  return array(
    select jobforge.new_job(
      p_ord => r.ord::integer, p_id => jobforge.new_id(), p_type => r.type,
      -- jsonb_to_recordset reads a payload of JSON null as absent, but it is a payload.
      p_payload => coalesce(r.payload, p_jobs -> (r.ord - 1)::integer -> 'payload'),
      p_idempotency_key => r.idempotency_key, p_run_at => r.run_at, p_max_attempts => r.max_attempts,
      p_priority => r.priority, p_dedupe_key => r.dedupe_key, p_dedupe_mode => r.dedupe_mode, p_tags => r.tags,
      p_subject => r.subject, p_concurrency_key => r.concurrency_key, p_expires_at => r.expires_at,
      p_traceparent => r.traceparent, p_default_attempts => r.default_attempts)
    from rows from (jsonb_to_recordset(p_jobs) as (
      type text, payload jsonb, idempotency_key text, run_at timestamptz, max_attempts integer, priority integer,
      dedupe_key text, dedupe_mode text, tags text[], subject text, concurrency_key text, expires_at timestamptz,
      traceparent text, default_attempts integer)) with ordinality as r(
      type, payload, idempotency_key, run_at, max_attempts, priority, dedupe_key, dedupe_mode, tags, subject,
      concurrency_key, expires_at, traceparent, default_attempts, ord));
exception when data_exception or invalid_parameter_value then
  if jsonb_array_length(p_jobs) = 1 then
    perform jobforge.fail_argument('jobs[0]', 'job 0: ' || sqlerrm);
  end if;
  perform jobforge.fail_unreadable(p_jobs, sqlerrm);
end $$;

-- Returns the first key of a job whose value must be a text and is not. One expression, so that Postgres inlines it.
create or replace function jobforge.key_of_wrong_kind(p_job jsonb) returns text
language sql immutable as $$
  select case
    when jsonb_typeof(p_job -> 'type') not in ('string', 'null') then 'type'
    when jsonb_typeof(p_job -> 'idempotency_key') not in ('string', 'null') then 'idempotency_key'
    when jsonb_typeof(p_job -> 'dedupe_key') not in ('string', 'null') then 'dedupe_key'
    when jsonb_typeof(p_job -> 'dedupe_mode') not in ('string', 'null') then 'dedupe_mode'
    when jsonb_typeof(p_job -> 'subject') not in ('string', 'null') then 'subject'
    when jsonb_typeof(p_job -> 'concurrency_key') not in ('string', 'null') then 'concurrency_key'
    when jsonb_typeof(p_job -> 'traceparent') not in ('string', 'null') then 'traceparent'
  end
$$;

-- Finds the job of an array that could not be read, and raises JF002, which names it.
create or replace function jobforge.fail_unreadable(p_jobs jsonb, p_message text) returns void
language plpgsql as $$
declare
  v_job jsonb;
  v_index integer;
begin
  for v_job, v_index in
    select e.job, e.ord - 1 from jsonb_array_elements(p_jobs) with ordinality e(job, ord) order by e.ord
  loop
    begin
      perform jobforge.read_jobs(jsonb_build_array(v_job));
    exception when sqlstate 'JF002' then
      perform jobforge.fail_argument(format('jobs[%s]', v_index), format('job %s: %s', v_index, p_message));
    end;
  end loop;
end $$;
