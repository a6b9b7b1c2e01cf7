-- Reads the options of a schedule. Every mistake raises JF009 with the option's name at once, and nothing is written.

-- Reads an option that is a text; null if it is not given.
create or replace function jobforge.option_text(p_options jsonb, p_key text) returns text
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_options -> p_key) not in ('string', 'null') then
    perform jobforge.fail_schedule(p_key, p_key || ' must be a text', 'See the table of options in the reference.');
  end if;
  return p_options ->> p_key;
end $$;

-- Reads an option that is a key; null if it is not given. The check is here, because the columns of a schedule accept
-- no other text.
create or replace function jobforge.option_key(p_options jsonb, p_key text) returns text
language plpgsql immutable as $$
declare
  v_text text := jobforge.option_text(p_options, p_key);
begin
  if not jobforge.is_key(v_text) then
    perform jobforge.fail_schedule(p_key, p_key || ' must have 1 to 1024 bytes',
      'See the table of options in the reference.');
  end if;
  return v_text;
end $$;

-- Reads an option that is one of several words; the first word if it is not given.
create or replace function jobforge.option_word(p_options jsonb, p_key text, p_words text[]) returns text
language plpgsql immutable as $$
declare
  v_word text := coalesce(jobforge.option_text(p_options, p_key), p_words[1]);
begin
  if v_word <> all (p_words) then
    perform jobforge.fail_schedule(p_key, format('%s "%s" is not known', p_key, left(v_word, 64)),
      format('Use %s.', array_to_string(p_words, ' or ')));
  end if;
  return v_word;
end $$;

-- Reads an option that is true or false; p_default if it is not given.
create or replace function jobforge.option_flag(p_options jsonb, p_key text, p_default boolean) returns boolean
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_options -> p_key) not in ('boolean', 'null') then
    perform jobforge.fail_schedule(p_key, p_key || ' must be true or false',
      'See the table of options in the reference.');
  end if;
  return coalesce((p_options ->> p_key)::boolean, p_default);
end $$;

-- Reads an option that is a whole number; p_default if it is not given.
create or replace function jobforge.option_number(p_options jsonb, p_key text, p_default integer) returns integer
language plpgsql immutable as $$
begin
  if jsonb_typeof(p_options -> p_key) not in ('number', 'null') then
    perform jobforge.fail_schedule(p_key, p_key || ' must be a number', 'See the table of options in the reference.');
  end if;
  return coalesce((p_options ->> p_key)::integer, p_default);
exception when data_exception then
  perform jobforge.fail_schedule(p_key, p_key || ' must be a whole number',
    'See the table of options in the reference.');
end $$;

-- Reads an option that is a time; null if it is not given.
create or replace function jobforge.option_time(p_options jsonb, p_key text) returns timestamptz
language plpgsql stable as $$
declare
  v_text text := jobforge.option_text(p_options, p_key);
begin
  if v_text is not null and jobforge.time_or_null(v_text) is null then
    perform jobforge.fail_schedule(p_key, format('%s "%s" is not a time', p_key, left(v_text, 64)),
      'Write it with its offset, such as 2026-01-31T12:00:00Z.');
  end if;
  return v_text::timestamptz;
end $$;

-- Converts a text to an interval; null if it is not a valid interval.
create or replace function jobforge.interval_or_null(p_text text) returns interval
language plpgsql stable as $$
begin
  return p_text::interval;
exception when data_exception then
  return null;
end $$;

-- Reads a duration from one second to 366 days, such as 5m, 1h30m or 90 seconds; null if it is not given. Durations
-- are kept in seconds, because adding days to a timestamptz depends on the session's time zone.
create or replace function jobforge.option_interval(p_options jsonb, p_key text) returns interval
language plpgsql stable as $$
declare
  -- A JSON number is reported like a text that is a number.
  v_text text := case jsonb_typeof(p_options -> p_key) when 'number' then p_options ->> p_key
    else jobforge.option_text(p_options, p_key) end;
  v_interval interval := jobforge.interval_or_null(v_text);
begin
  if v_text is null then
    return null;
  elsif v_text ~ '^\s*[-+]?[0-9.]+\s*$' then
    -- Postgres would read it as seconds. Most libraries mean milliseconds.
    perform jobforge.fail_schedule(p_key, format('%s "%s" has no unit', p_key, left(v_text, 64)),
      'Write the unit, such as 90s, 5m or 1h30m.');
  elsif extract(year from v_interval) <> 0 or extract(month from v_interval) <> 0 then
    perform jobforge.fail_schedule(p_key, p_key || ' must not have months, which differ in length',
      'Use cron, such as 0 0 1 * *.');
  elsif v_interval is null or extract(epoch from v_interval) not between 1 and 366 * 86400 then
    perform jobforge.fail_schedule(p_key,
      format('%s "%s" is not a time from one second to 366 days', p_key, left(v_text, 64)),
      'Write it as 5m, 1h30m or 90 seconds.');
  end if;
  return make_interval(secs => extract(epoch from v_interval)::double precision);
end $$;

-- Raises with the option's name if an expression is wrong or never runs.
create or replace function jobforge.require_cron(p_cron text) returns void
language plpgsql stable as $$
declare
  v_hint text;
begin
  perform jobforge.read_cron(p_cron);
exception when sqlstate 'JF009' then
  get stacked diagnostics v_hint = pg_exception_hint;
  perform jobforge.fail('JF009', sqlerrm, 'invalid_schedule', 'cron', v_hint);
end $$;

-- Reads the rhythm that the options name, in place of the schedule's own: one kind and what belongs to it.
create or replace function jobforge.read_rhythm(p_schedule jobforge.schedules, p_options jsonb)
returns jobforge.schedules
language plpgsql stable as $$
declare
  v jobforge.schedules := p_schedule;
  v_cron text := jobforge.option_text(p_options, 'cron');
  v_every interval := jobforge.option_interval(p_options, 'every');
  v_dynamic boolean := nullif(jobforge.option_flag(p_options, 'dynamic', false), false);
  v_stray text;
begin
  if num_nonnulls(v_cron, v_every, v_dynamic) > 1 then
    perform jobforge.fail_schedule(case when v_dynamic then 'dynamic' else 'every' end,
      'cron, every and dynamic exclude each other', 'Name one of them.');
  end if;
  v.kind := case when v_cron is not null then 'cron' when v_every is not null then 'every' when v_dynamic then 'dynamic'
    else v.kind end;
  if v.kind is null then
    perform jobforge.fail_schedule('cron', 'it has no rhythm', 'Name one of cron, every and dynamic.');
  end if;
  v_stray := case
    when v.kind <> 'cron' and p_options ->> 'timezone' is not null then 'timezone'
    when v.kind <> 'every' and p_options ->> 'anchor' is not null then 'anchor'
    when v.kind <> 'every' and p_options ->> 'jitter' is not null then 'jitter'
  end;
  if v_stray is not null then
    perform jobforge.fail_schedule(v_stray, format('%s has no meaning for a schedule of the kind %s', v_stray, v.kind),
      case v_stray when 'timezone' then 'It belongs to cron.' else 'It belongs to every.' end);
  end if;
  v.cron := case when v.kind = 'cron' then coalesce(v_cron, v.cron) end;
  v.timezone := case when v.kind = 'cron' then coalesce(
    case when p_options ? 'timezone' then jobforge.option_text(p_options, 'timezone') else v.timezone end, 'UTC') end;
  v.every := case when v.kind = 'every' then coalesce(v_every, v.every) end;
  v.anchor := case when v.kind = 'every' then coalesce(jobforge.option_time(p_options, 'anchor'), v.anchor) end;
  v.jitter := case when v.kind = 'every' then
    case when p_options ? 'jitter' then jobforge.option_interval(p_options, 'jitter') else v.jitter end end;
  if v.kind = 'cron' then
    perform jobforge.require_zone(v.timezone);
    perform jobforge.require_cron(v.cron);
  elsif v.jitter >= v.every then
    perform jobforge.fail_schedule('jitter', 'jitter must be shorter than the interval',
      'Otherwise due times could overtake each other.');
  end if;
  return v;
end $$;

-- Returns a schedule with the options applied. Options that are not given stay as they are. The first time of the
-- rhythm is computed elsewhere.
create or replace function jobforge.read_options(p_schedule jobforge.schedules, p_options jsonb, p_now timestamptz)
returns jobforge.schedules
language plpgsql stable as $$
declare
  v_known constant text[] := array[
    'cron', 'timezone', 'every', 'anchor', 'jitter', 'dynamic', 'next_run_at', 'reset', 'enabled', 'payload',
      'overlap', 'missed',
    'missed_limit', 'starts_at', 'ends_at', 'retry_runs', 'priority', 'max_attempts', 'tags', 'subject',
      'concurrency_key', 'first_run_at', 'if_missing', 'merge_payload', 'reset_failures', 'default_attempts'];
  v_unknown text;
  v jobforge.schedules;
begin
  if p_options is null or jsonb_typeof(p_options) <> 'object' then
    perform jobforge.fail_schedule('options', 'options must be a JSON object',
      'Name one of cron, every and dynamic in it.');
  end if;
  perform jobforge.require_printable(p_options - 'payload', 'options');
  select k into v_unknown from jsonb_object_keys(p_options) k where k <> all (v_known) limit 1;
  if found then
    perform jobforge.fail_schedule(v_unknown, format('unknown option %s', v_unknown),
      'Known options: ' || array_to_string(v_known, ', ') || '.');
  end if;
  v := jobforge.read_rhythm(p_schedule, p_options);
  v.enabled := jobforge.option_flag(p_options, 'enabled', v.enabled);
  perform jobforge.option_flag(p_options, 'reset', false);
  perform jobforge.option_flag(p_options, 'if_missing', false);
  perform jobforge.option_time(p_options, 'first_run_at');
  if p_options ? 'first_run_at' and p_options ? 'next_run_at' then
    perform jobforge.fail_schedule('first_run_at', 'first_run_at and next_run_at exclude each other',
      'first_run_at counts for a new schedule only, next_run_at also moves an existing one.');
  end if;
  v.payload := coalesce(p_options -> 'payload', v.payload);
  if p_options ? 'merge_payload' then
    v.payload := jobforge.merged_payload(v.payload, p_options);
  end if;
  if jobforge.option_flag(p_options, 'reset_failures', false) then
    v.consecutive_failures := 0;
    v.last_error := null;
  end if;
  v.overlap := case when p_options ? 'overlap'
    then jobforge.option_word(p_options, 'overlap', '{skip,queue,allow}') else v.overlap end;
  v.missed := case when p_options ? 'missed' then jobforge.option_word(p_options, 'missed', '{once,skip,all}')
    else v.missed end;
  v.missed_limit := case when p_options ? 'missed_limit'
    then jobforge.option_number(p_options, 'missed_limit', 100) else v.missed_limit end;
  v.starts_at := case when p_options ? 'starts_at' then jobforge.option_time(p_options, 'starts_at')
    else v.starts_at end;
  v.ends_at := case when p_options ? 'ends_at' then jobforge.option_time(p_options, 'ends_at') else v.ends_at end;
  v.retry_runs := case when p_options ? 'retry_runs' then jobforge.option_flag(p_options, 'retry_runs', false)
    else v.retry_runs end;
  v.priority := case when p_options ? 'priority' then jobforge.option_number(p_options, 'priority', 0)
    else v.priority end;
  v.max_attempts := case when p_options ? 'max_attempts'
    then jobforge.option_number(p_options, 'max_attempts', null) else v.max_attempts end;
  v.default_attempts := case when p_options ? 'default_attempts'
    then jobforge.option_number(p_options, 'default_attempts', null) else v.default_attempts end;
  v.tags := case when p_options ? 'tags' then jobforge.option_tags(p_options) else v.tags end;
  v.subject := case when p_options ? 'subject' then jobforge.option_key(p_options, 'subject') else v.subject end;
  v.concurrency_key := case when p_options ? 'concurrency_key'
    then jobforge.option_key(p_options, 'concurrency_key') else v.concurrency_key end;
  v.subject := coalesce(jobforge.endpoint_key(v.type, v.payload), v.subject);
  v.concurrency_key := coalesce(jobforge.endpoint_key(v.type, v.payload), v.concurrency_key);
  perform jobforge.require_schedule(v, p_now);
  return v;
end $$;

-- Returns a payload with the keys of the option merge_payload in place of its own.
create or replace function jobforge.merged_payload(p_payload jsonb, p_options jsonb) returns jsonb
language plpgsql immutable as $$
begin
  if p_options ? 'payload' then
    perform jobforge.fail_schedule('merge_payload', 'payload and merge_payload exclude each other',
      'payload replaces all of it, merge_payload some of its keys.');
  elsif jsonb_typeof(p_options -> 'merge_payload') <> 'object' then
    perform jobforge.fail_schedule('merge_payload', 'merge_payload must be a JSON object',
      'Use payload to replace all of it.');
  elsif jsonb_typeof(p_payload) <> 'object' then
    perform jobforge.fail_schedule('merge_payload', 'the payload of the schedule is not an object',
      'Use payload to replace it.');
  end if;
  return p_payload || (p_options -> 'merge_payload');
end $$;

-- Raises if the options have one that the called function does not accept.
create or replace function jobforge.require_option_place(p_options jsonb, p_strays text[], p_hint text) returns void
language plpgsql stable as $$
declare
  v_stray text := (select o from unnest(p_strays) o where p_options ? o limit 1);
begin
  if v_stray is not null then
    perform jobforge.fail_schedule(v_stray, v_stray || ' has no meaning for this call', p_hint);
  end if;
end $$;

-- Reads the tags of runs.
create or replace function jobforge.option_tags(p_options jsonb) returns text[]
language plpgsql stable as $$
begin
  return coalesce(jobforge.filter_texts(p_options, 'tags'), '{}');
exception when sqlstate 'JF002' then
  perform jobforge.fail_schedule('tags', 'tags must be an array of texts',
    'See the table of options in the reference.');
end $$;

-- Raises JF002 if no schedule can have this type or key. The check comes before they become columns of a schedule,
-- which accept no other text.
create or replace function jobforge.require_schedule_name(p_type text, p_key text) returns void
language plpgsql stable as $$
declare
  v_run jobforge.new_job;
  v_problem text[];
begin
  if p_key is null or not jobforge.is_key(p_key) then
    perform jobforge.fail_argument('key', 'key must have 1 to 1024 bytes');
  end if;
  v_run.type := p_type;
  v_problem := jobforge.problem_with(v_run, null);
  if v_problem is not null then
    perform jobforge.fail_argument('type', v_problem[2], v_problem[3]);
  end if;
end $$;

-- Raises if a schedule is invalid, or if its runs could not be enqueued. JF008 for a payload over the cap.
create or replace function jobforge.require_schedule(p_schedule jobforge.schedules, p_now timestamptz) returns void
language plpgsql stable as $$
declare
  v_problem text[];
begin
  if p_schedule.missed_limit not between 1 and 100 then
    perform jobforge.fail_schedule('missed_limit', 'missed_limit must be between 1 and 100',
      'Runs that are older are left out.');
  elsif p_schedule.starts_at >= p_schedule.ends_at then
    perform jobforge.fail_schedule('ends_at', 'ends_at must be later than starts_at', 'It would never run.');
  end if;
  v_problem := jobforge.problem_with(
    jobforge.new_job(p_type => p_schedule.type, p_payload => p_schedule.payload, p_priority => p_schedule.priority,
      p_max_attempts => p_schedule.max_attempts, p_default_attempts => p_schedule.default_attempts,
      p_tags => p_schedule.tags, p_subject => p_schedule.subject,
      p_concurrency_key => p_schedule.concurrency_key), p_now);
  if v_problem[2] = 'payload is larger than 1 MiB' then
    perform jobforge.fail('JF008', 'Payload too large: payload is over 1 MiB', 'payload_too_large', 'payload',
      'Store it elsewhere and pass a reference.');
  elsif v_problem is not null then
    perform jobforge.fail_schedule(v_problem[1], v_problem[2], 'See the table of options in the reference.');
  end if;
end $$;
