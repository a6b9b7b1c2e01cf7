-- Returns the jobs of a JSON array, in order. A delay_ms counts from p_now. Raises JF002, which names the first job
-- that is not an object, or has an unknown key or a value of the wrong kind.
create or replace function jobforge.read_jobs(p_jobs jsonb, p_now timestamptz) returns jobforge.new_job[]
language plpgsql as $$
declare
  v_known constant text[] := array[
    'type', 'payload', 'idempotency_key', 'run_at', 'max_attempts', 'priority', 'dedupe_key', 'dedupe_mode', 'tags',
    'subject', 'concurrency_key', 'expires_at', 'traceparent', 'delay_ms', 'default_attempts', 'notify'];
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
      format('job %s: %s', v_bad.index, case v_bad.wrong
        when 'delay_ms' then jobforge.delay_problem()
        else format('%s must %s', v_bad.wrong, jobforge.kind_of_key(v_bad.wrong))
      end));
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
      p_idempotency_key => r.idempotency_key, p_run_at => coalesce(r.run_at, jobforge.delayed(p_now, r.delay_ms)),
      p_max_attempts => r.max_attempts, p_priority => r.priority, p_dedupe_key => r.dedupe_key,
      p_dedupe_mode => r.dedupe_mode, p_tags => r.tags,
      p_subject => r.subject, p_concurrency_key => r.concurrency_key, p_expires_at => r.expires_at,
      p_traceparent => r.traceparent, p_default_attempts => r.default_attempts,
      p_notify => r.notify)
    from rows from (jsonb_to_recordset(p_jobs) as (
      type text, payload jsonb, idempotency_key text, run_at timestamptz, max_attempts integer, priority integer,
      dedupe_key text, dedupe_mode text, tags text[], subject text, concurrency_key text, expires_at timestamptz,
      traceparent text, delay_ms bigint, default_attempts integer, notify jsonb)) with ordinality as r(
      type, payload, idempotency_key, run_at, max_attempts, priority, dedupe_key, dedupe_mode, tags, subject,
      concurrency_key, expires_at, traceparent, delay_ms, default_attempts, notify, ord));
exception when data_exception or invalid_parameter_value then
  perform jobforge.fail_unreadable(p_jobs, sqlerrm);
end $$;

-- Returns the first key of a job, other than the payload, whose value is of the wrong kind, or delay_ms if it is not
-- valid. The values become texts, numbers and times later. A value of the wrong kind would be printed for that,
-- whatever its size. One expression, so that Postgres inlines it.
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
    when jsonb_typeof(p_job -> 'run_at') in ('array', 'object') then 'run_at'
    when jsonb_typeof(p_job -> 'expires_at') in ('array', 'object') then 'expires_at'
    when jsonb_typeof(p_job -> 'max_attempts') in ('array', 'object') then 'max_attempts'
    when jsonb_typeof(p_job -> 'default_attempts') in ('array', 'object') then 'default_attempts'
    when jsonb_typeof(p_job -> 'priority') in ('array', 'object') then 'priority'
    when jsonb_typeof(p_job -> 'tags') not in ('array', 'null')
      or jsonb_path_exists(p_job -> 'tags', 'strict $[*] ? (@.type() != "string")', silent => true) then 'tags'
    when not jobforge.is_delay(p_job -> 'delay_ms', p_job -> 'run_at') then 'delay_ms'
  end
$$;

-- Returns what the value of such a key must be, as the end of a sentence.
create or replace function jobforge.kind_of_key(p_key text) returns text
language sql immutable as $$
  select case
    when p_key in ('run_at', 'expires_at') then 'be a time'
    when p_key in ('max_attempts', 'default_attempts', 'priority') then 'be a number'
    when p_key = 'tags' then 'be an array of texts'
    else 'be a text'
  end
$$;

-- Returns whether a delay is a whole number of milliseconds up to ten years, and not given together with a time. True
-- for null and for what is not given. One expression, so that Postgres inlines it.
create or replace function jobforge.is_delay(p_delay jsonb, p_run_at jsonb) returns boolean
language sql immutable as $$
  select p_delay is null or case jsonb_typeof(p_delay)
    when 'null' then true
    when 'number' then p_delay::numeric between 0 and jobforge.max_delay_ms()
      and p_delay::numeric = trunc(p_delay::numeric) and coalesce(p_run_at, 'null') = 'null'
    else false
  end
$$;

-- Returns what the error of an invalid delay says.
create or replace function jobforge.delay_problem() returns text
language sql immutable as $$
  select format('delay_ms must be a whole number from 0 to %s, without run_at', jobforge.max_delay_ms())
$$;

-- Returns the time that is p_delay_ms milliseconds after p_now. Null for null, and for a delay that is not valid. It is
-- stable, as the sum of a time and an interval is: Postgres would not inline it if it were declared immutable.
create or replace function jobforge.delayed(p_now timestamptz, p_delay_ms bigint) returns timestamptz
language sql stable as $$
  select case when p_delay_ms between 0 and jobforge.max_delay_ms()
    then p_now + p_delay_ms * interval '1 millisecond'
  end
$$;

-- Raises JF002 for the first job of an array that has a value which could not be read, and names both. p_message is
-- what Postgres says, for a value that is not found again.
create or replace function jobforge.fail_unreadable(p_jobs jsonb, p_message text) returns void
language plpgsql as $$
declare
  v_job jsonb;
  v_index integer;
  v_bad record;
begin
  for v_job, v_index in
    select e.job, e.ord - 1 from jsonb_array_elements(p_jobs) with ordinality e(job, ord) order by e.ord
  loop
    v_bad := jobforge.unreadable_value(v_job);
    if v_bad.key is not null then
      perform jobforge.fail_argument(format('jobs[%s].%s', v_index, v_bad.key),
        format('job %s: %s: %s', v_index, v_bad.key, v_bad.problem));
    end if;
  end loop;
  perform jobforge.fail_argument('jobs', 'a job cannot be read: ' || p_message);
end $$;

-- Returns the first key of a job whose value is not a time or a number as it must be, and what Postgres says about it.
create or replace function jobforge.unreadable_value(p_job jsonb, out key text, out problem text)
language plpgsql stable as $$
begin
  foreach key in array array['run_at', 'expires_at', 'max_attempts', 'default_attempts', 'priority'] loop
    if key in ('run_at', 'expires_at') then
      perform (p_job ->> key)::timestamptz;
    else
      perform (p_job ->> key)::integer;
    end if;
  end loop;
  key := null;
exception when data_exception then
  problem := sqlerrm;
end $$;
