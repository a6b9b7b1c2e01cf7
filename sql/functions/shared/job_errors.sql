-- Returns the error that is stored with a job and its attempt: always an object with message and attemptedAt, at most
-- 16 kB and 200 values, and without secrets, whatever a handler reports. p_redact: the keys that the type's policy
-- lists.
create or replace function jobforge.error_of(p_error jsonb, p_at timestamptz, p_redact text[]) returns jsonb
language sql immutable as $$
  with normal as (
    select case jsonb_typeof(p_error)
        when 'object' then p_error
        when 'string' then jsonb_build_object('message', p_error)
        when 'null' then '{}'::jsonb
        else jsonb_strip_nulls(jsonb_build_object('details', p_error))
      end as error
  ), bounded as (
    -- The first cut may split a secret, which is then not masked. The second cut is shorter and removes it.
    select case
        when jobforge.is_small(error) then jobforge.redact(error, p_redact)
        else jsonb_strip_nulls(jsonb_build_object(
          'name', left(jobforge.redact_text(left(jobforge.text_at(error, 'name'), 1000), p_redact), 200),
          'message', left(jobforge.redact_text(left(jobforge.text_at(error, 'message'), 8000), p_redact), 2000),
          'stack', left(jobforge.redact_text(left(jobforge.text_at(error, 'stack'), 8000), p_redact), 2000),
          'truncated', true))
      end as error
    from normal
  )
  select jsonb_build_object(
      'message', 'The handler failed without saying why',
      'attemptedAt', to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'))
    || jsonb_strip_nulls(error)
  from bounded
$$;

-- Returns the value under a key as text; null if it may not be printed.
create or replace function jobforge.text_at(p_document jsonb, p_key text) returns text
language sql stable as $$
  select case when jobforge.unprintable(p_document -> p_key) is null then p_document ->> p_key end
$$;

-- Returns the group of an error: twelve hex digits that errors share when they differ only in ids, numbers and quoted
-- texts. So a thousand timeouts of a thousand hosts are one group. Null without an error.
create or replace function jobforge.error_group(p_error jsonb) returns text
language sql immutable parallel safe as $$
  select left(encode(sha256(convert_to(
    coalesce(p_error ->> 'name', '') || ':' || regexp_replace(regexp_replace(regexp_replace(
      left(p_error ->> 'message', 2000),
      '"[^"]*"|''[^'']*''|`[^`]*`', '?', 'g'),
      '\m[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\M|\m(?=[a-fA-F]*[0-9])[0-9a-fA-F]{8,}\M', '?', 'g'),
      '[0-9]+([.,:][0-9]+)*', '?', 'g'), 'UTF8')), 'hex'), 12)
$$;
