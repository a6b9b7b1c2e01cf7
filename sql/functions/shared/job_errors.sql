-- Returns the error that is stored with a job and its attempt: always an object with message and attemptedAt, at most
-- 16 kB and 200 values, and without secrets, whatever a handler reports. An error with causes also has fullMessage.
-- p_redact: the keys that the type's policy lists.
create or replace function jobforge.error_of(p_error jsonb, p_at timestamptz, p_redact text[]) returns jsonb
language plpgsql immutable as $$
declare
  v_error jsonb := case jsonb_typeof(p_error)
    when 'object' then p_error
    when 'string' then jsonb_build_object('message', p_error)
    when 'null' then '{}'
    else jsonb_strip_nulls(jsonb_build_object('details', p_error))
  end;
begin
  -- Masking may make texts longer, so they are cut again. No cut leaves a part of a secret: see jobforge.cut_text.
  if not (p_redact = '{}' and jobforge.is_harmless(v_error)) then
    v_error := case
      when jobforge.is_small(v_error) then jobforge.redact(v_error, p_redact)
      else jobforge.short_error(jobforge.redact(jobforge.short_error(v_error, 8000), p_redact), 2000)
        || '{"truncated": true}'
    end;
  end if;
  return jsonb_build_object(
      'message', 'The handler failed without saying why',
      'attemptedAt', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    || jsonb_strip_nulls(v_error - 'fullMessage')
    || case when v_error ?| array['cause', 'errors']
        then jsonb_strip_nulls(jsonb_build_object(
          'fullMessage', nullif(nullif(jobforge.full_message(v_error), ''), v_error ->> 'message')))
        else '{}' end;
end $$;

-- Returns an error with the parts that are kept of a large one: name, message and stack, and of its causes and of the
-- first three members of an AggregateError name and message. Texts have at most p_length characters, those of causes a
-- quarter. Reads texts only, because the text of a large number may be longer than Postgres can make.
create or replace function jobforge.short_error(p_error jsonb, p_length integer, p_depth integer default 0)
returns jsonb
language plpgsql immutable as $$
declare
  v_short jsonb := coalesce((
    select jsonb_object_agg(k.key, jobforge.cut_text(p_error ->> k.key, k.length))
    from (values ('name', p_length / 10), ('message', p_length), ('stack', case p_depth when 0 then p_length end))
      k(key, length)
    where jsonb_typeof(p_error -> k.key) = 'string' and k.length is not null), '{}');
  v_length constant integer := case p_depth when 0 then p_length / 4 else p_length end;
begin
  if jsonb_typeof(p_error) = 'string' then
    return to_jsonb(jobforge.cut_text(p_error #>> '{}', p_length));
  elsif jsonb_typeof(p_error -> 'cause') in ('object', 'string') and p_depth < 5 then
    v_short := v_short || jsonb_build_object('cause', jobforge.short_error(p_error -> 'cause', v_length, p_depth + 1));
  end if;
  if jsonb_typeof(p_error -> 'errors') = 'array' and p_depth < 3 then
    v_short := v_short || jsonb_strip_nulls(jsonb_build_object('errors', (
      select coalesce(jsonb_agg(jobforge.short_error(m.error, v_length, p_depth + 3) order by m.ord), '[]')
      from jsonb_array_elements(p_error -> 'errors') with ordinality m(error, ord)
      where m.ord <= 3 and jsonb_typeof(m.error) in ('object', 'string')),
      'omittedErrors', nullif(
        greatest(jsonb_array_length(p_error -> 'errors') - 3, 0) + jobforge.omitted_errors(p_error), 0)));
  end if;
  return v_short;
end $$;

-- Returns the message of an error followed by the messages of its causes, from the outermost to the innermost, such as
-- "fetch failed: connect ECONNREFUSED 127.0.0.1:1". The members of an AggregateError follow its own message, the first
-- three of them. A message that repeats a part of the text so far is left out. At most 2,000 characters.
-- packages/worker-ts/src/errors.ts does the same for log lines; a test gives both the same cases.
create or replace function jobforge.full_message(p_error jsonb, p_depth integer default 0) returns text
language plpgsql immutable as $$
declare
  v_error jsonb := p_error;
  v_text text := '';
  v_part text;
begin
  for i in 1 .. 10 loop
    foreach v_part in array array[
      jobforge.own_message(v_error), case when p_depth < 3 then jobforge.member_messages(v_error, p_depth + 1) end]
    loop
      if v_part <> '' and strpos(v_text, v_part) = 0 then
        v_text := case v_text when '' then v_part else v_text || ': ' || v_part end;
      end if;
    end loop;
    v_error := v_error -> 'cause';
    exit when v_error is null or jsonb_typeof(v_error) not in ('object', 'string');
  end loop;
  return jobforge.cut_text(v_text, 2000);
end $$;

-- Returns the message of an error itself. Some errors have none: then its code or its name, unless a cause or a member
-- says more. Null for null. Reads texts only, and a code that is a number of usual size.
create or replace function jobforge.own_message(p_error jsonb) returns text
language sql immutable parallel safe as $$
  select case
    when p_error is null then null
    when jsonb_typeof(p_error) = 'string' then p_error #>> '{}'
    when jobforge.text_under(p_error, 'message') <> '' then p_error ->> 'message'
    when p_error ?| array['cause', 'errors'] then ''
    when jobforge.text_under(p_error, 'code') <> '' then p_error ->> 'code'
    when jsonb_typeof(p_error -> 'code') = 'number' and abs((p_error -> 'code')::numeric) < 1e15 then p_error ->> 'code'
    else coalesce(jobforge.text_under(p_error, 'name'), '')
  end
$$;

-- Returns the text under a key; null if there is a value of another kind.
create or replace function jobforge.text_under(p_error jsonb, p_key text) returns text
language sql immutable parallel safe as $$
  select case when jsonb_typeof(p_error -> p_key) = 'string' then p_error ->> p_key end
$$;

-- Returns the messages of the first three members of an AggregateError, as a list, and how many more there are; null
-- without members. omittedErrors: members that the client has not sent.
create or replace function jobforge.member_messages(p_error jsonb, p_depth integer) returns text
language sql immutable as $$
  select case when jsonb_typeof(p_error -> 'errors') = 'array' then (
    select string_agg(jobforge.full_message(m.error, p_depth), '; ' order by m.ord) filter (where m.ord <= 3)
        || case when max(m.ord) + jobforge.omitted_errors(p_error) > 3
          then format('; and %s more', max(m.ord) + jobforge.omitted_errors(p_error) - 3) else '' end
    from jsonb_array_elements(p_error -> 'errors') with ordinality m(error, ord)) end
$$;

-- Returns how many members of an AggregateError are not in the error, as omittedErrors says: a number from 1 to
-- 99,999,999, otherwise 0. Compares it as a number, because the text of a value of another kind may be longer than
-- Postgres can make.
create or replace function jobforge.omitted_errors(p_error jsonb) returns integer
language sql immutable parallel safe as $$
  select case when jsonb_typeof(p_error -> 'omittedErrors') = 'number' then case
      when (p_error -> 'omittedErrors')::numeric between 1 and 99999999
        then trunc((p_error -> 'omittedErrors')::numeric)::integer
      else 0 end
    else 0 end
$$;

-- Returns the innermost cause of an error that has a message: the cause of its cause and so on, and of an
-- AggregateError without a cause the first member. That is what the failures of different callers have in common.
create or replace function jobforge.innermost_cause(p_error jsonb) returns jsonb
language plpgsql immutable parallel safe as $$
declare
  v_error jsonb := p_error;
  v_innermost jsonb := p_error;
begin
  for i in 1 .. 20 loop
    v_error := coalesce(v_error -> 'cause', v_error -> 'errors' -> 0);
    exit when v_error is null;
    if jobforge.own_message(v_error) <> '' then
      v_innermost := v_error;
    end if;
  end loop;
  return v_innermost;
end $$;

-- Returns the group of an error: twelve hex digits that errors share when their innermost causes differ only in ids,
-- numbers and quoted texts. So a thousand timeouts of a thousand hosts are one group, and calls that failed for
-- different reasons are several. Null without an error.
create or replace function jobforge.error_group(p_error jsonb) returns text
language sql immutable parallel safe as $$
  select left(encode(sha256(convert_to(
    coalesce(jobforge.text_under(e.cause, 'name'), '') || ':' || regexp_replace(regexp_replace(regexp_replace(
      left(jobforge.own_message(e.cause), 2000),
      '"[^"]*"|''[^'']*''|`[^`]*`', '?', 'g'),
      '\m[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\M|\m(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}\M', '?', 'g'),
      '[0-9]+([.,:][0-9]+)*', '?', 'g'), 'UTF8')), 'hex'), 12)
  from (
    select case when p_error ?| array['cause', 'errors'] then jobforge.innermost_cause(p_error) else p_error end
      as cause
    offset 0
  ) e
$$;
