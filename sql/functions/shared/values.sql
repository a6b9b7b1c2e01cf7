-- Checks and conversions of values. Those that are one expression are inlined by Postgres.

-- Returns the text as a uuid, or null when it is not a valid one. Never raises. Without a regular expression, which
-- would cost seven microseconds for every id of a settle.
create or replace function jobforge.uuid_or_null(p_text text) returns uuid
language sql immutable parallel safe as $$
  select case
    when length(p_text) = 36
      and translate(p_text, '0123456789abcdefABCDEF', '') = '----'
      and substr(p_text, 9, 1) || substr(p_text, 14, 1) || substr(p_text, 19, 1) || substr(p_text, 24, 1) = '----'
    then p_text::uuid
  end
$$;

-- Returns whether a text may be the type of a job: 1 to 200 ASCII letters, digits and _ . : / @ -, of which the first
-- is a letter, a digit or _. Such a name needs no quotes in a shell, is not taken for an option or a list, reads the
-- same in an address, and cannot look like another name. The domain type_name has the same rule, and accepts '*'.
create or replace function jobforge.is_type(p_text text) returns boolean
language sql immutable parallel safe as $$
  select p_text ~ '^[A-Za-z0-9_][A-Za-z0-9_.:/@-]*$' and length(p_text) <= 200
$$;

-- Return what to say about a type that breaks this rule.
create or replace function jobforge.type_rule() returns text
language sql immutable parallel safe as $$
  select 'type must consist of letters, digits and _ . : / @ -, and begin with a letter, a digit or _'
$$;

create or replace function jobforge.type_hint() returns text
language sql immutable parallel safe as $$
  select 'Use a name such as mail.send, EMAIL_SEND or app/tasks:send.'
$$;

-- Returns the text as a time, or null when it is not a valid one.
create or replace function jobforge.time_or_null(p_text text) returns timestamptz
language plpgsql stable as $$
begin
  return case when jobforge.is_time(p_text::timestamptz) then p_text::timestamptz end;
exception when data_exception then
  return null;
end $$;

-- Returns whether every client can represent a time: finite, and from the year 1 to 9999, like dates in JSON. Null for
-- null.
create or replace function jobforge.is_time(p_time timestamptz) returns boolean
language sql immutable parallel safe as $$
  select p_time between timestamptz '0001-01-01 00:00:00+00' and timestamptz '9999-12-31 00:00:00+00'
$$;

-- Returns the whole milliseconds from one time to another; 0 when the second is earlier. Computed as a double, in a
-- third of the time that the numeric of extract takes. Half a microsecond makes up for the precision that a double
-- lacks.
create or replace function jobforge.ms_between(p_from timestamptz, p_to timestamptz) returns bigint
language sql immutable as $$
  select greatest(floor(date_part('epoch', p_to - p_from) * 1000 + 0.0005), 0)::bigint
$$;
