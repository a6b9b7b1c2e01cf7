-- Returns whether a caller may use a text as a key: null, or 1 to 1024 bytes.
create or replace function jobforge.is_key(p_text text) returns boolean
language sql immutable as $$
  select p_text is null or (p_text <> '' and octet_length(p_text) <= 1024)
$$;

-- Returns what is wrong with a job to enqueue: {field, message}, for some fields with a hint, or null. One expression
-- without a subquery, so that Postgres inlines it.
create or replace function jobforge.problem_with(p_job jobforge.new_job, p_now timestamptz) returns text[]
language sql stable as $$
  select case
    when p_job.type is null or btrim(p_job.type) = '' then array['type', 'type must not be empty']
    when length(p_job.type) > 200 then array['type', 'type is longer than 200 characters']
    when p_job.type = '*' then array['type', 'type "*" is the name of the default policy']
    when p_job.type like 'workflow:%' then array['type', 'types that begin with "workflow:" are for workflows']
    when not jobforge.is_type(p_job.type)
      then array['type', jobforge.type_rule(), jobforge.type_hint()]
    when not coalesce(p_job.max_attempts, 1) between 1 and 100000
      then array['max_attempts', 'max_attempts must be between 1 and 100000']
    when not coalesce(p_job.default_attempts, 1) between 1 and 100000
      then array['default_attempts', 'default_attempts must be between 1 and 100000']
    when not p_job.priority between -1000000 and 1000000
      then array['priority', 'priority must be between -1000000 and 1000000']
    when not jobforge.is_time(p_job.run_at) then array['run_at', 'run_at must be a time from the year 1 to 9999']
    when not jobforge.is_time(p_job.expires_at)
      then array['expires_at', 'expires_at must be a time from the year 1 to 9999']
    when p_job.expires_at <= greatest(p_job.run_at, p_now)
      then array['expires_at', 'expires_at must be later than run_at and now, or the job would never start']
    when not jobforge.is_key(p_job.idempotency_key)
      then array['idempotency_key', 'idempotency_key must have 1 to 1024 bytes']
    when not jobforge.is_key(p_job.dedupe_key) then array['dedupe_key', 'dedupe_key must have 1 to 1024 bytes']
    when p_job.dedupe_mode <> all (jobforge.dedupe_modes())
      then array['dedupe_mode', 'dedupe_mode must be ' || jobforge.one_of(jobforge.dedupe_modes())]
    when p_job.dedupe_key is null and p_job.dedupe_mode <> 'skip'
      then array['dedupe_mode', format('dedupe_mode %s needs a dedupe_key', p_job.dedupe_mode)]
    when not jobforge.is_key(p_job.subject) then array['subject', 'subject must have 1 to 1024 bytes']
    when not jobforge.is_key(p_job.concurrency_key)
      then array['concurrency_key', 'concurrency_key must have 1 to 1024 bytes']
    when array_ndims(p_job.tags) > 1 then array['tags', 'tags must be a flat array of texts']
    when cardinality(p_job.tags) > 50 or octet_length(array_to_string(p_job.tags, '')) > 4000
      or array_position(p_job.tags, null) is not null or array_position(p_job.tags, '') is not null
      then array['tags', 'tags must be at most 50 texts, none empty, of 4000 bytes in total']
    when p_job.traceparent !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
      then array['traceparent', 'traceparent must be a W3C trace context header']
    when p_job.notify is not null and jobforge.problem_with_notify(p_job.notify) is not null
      then jobforge.problem_with_notify(p_job.notify)
    when p_job.bytes > jobforge.document_bytes() then array['payload', 'payload is larger than 1 MiB']
    when p_job.bytes < 0 then array['payload', 'payload ' || jobforge.document_problem(p_job.bytes)]
  end
$$;

-- Raises for the first job of a call that cannot be enqueued: JF008 for a payload over the cap, otherwise JF002.
create or replace function jobforge.require_valid(p_jobs jobforge.new_job[], p_now timestamptz, p_bulk boolean)
returns void
language plpgsql as $$
declare
  v_ord integer;
  v_problem text[];
  v_field text;
begin
  select j.ord, x.problem
  into v_ord, v_problem
  from unnest(p_jobs) j
  cross join lateral (select jobforge.problem_with(j, p_now) as problem) x
  where x.problem is not null
  order by j.ord
  limit 1;
  if not found then
    return;
  end if;
  v_field := case when p_bulk then format('jobs[%s].%s', v_ord - 1, v_problem[1]) else v_problem[1] end;
  if v_problem[2] = 'payload is larger than 1 MiB' then
    perform jobforge.fail('JF008', 'Payload too large: ' || v_field || ' is over 1 MiB', 'payload_too_large', v_field,
      'Store it elsewhere and pass a reference.');
  end if;
  perform jobforge.fail_argument(v_field,
    case when p_bulk then format('job %s: %s', v_ord - 1, v_problem[2]) else v_problem[2] end, v_problem[3]);
end $$;
