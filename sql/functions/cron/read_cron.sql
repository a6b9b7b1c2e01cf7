-- Reads and checks cron expressions and time zones. Every mistake raises JF009 at once and says what to write
-- instead.

-- Raises JF009: the schedule is invalid.
create or replace function jobforge.fail_schedule(p_field text, p_message text, p_hint text) returns void
language sql as $$
  select jobforge.fail('JF009', 'Invalid schedule: ' || p_message, 'invalid_schedule', p_field, p_hint)
$$;

-- Converts a text of digits to a number; null for any other text. The function is inlined and uses no regular
-- expression, because with one, reading an expression took five times as long.
create or replace function jobforge.digits_or_null(p_text text) returns integer
language sql immutable parallel safe as $$
  select case when length(p_text) between 1 and 9 and translate(p_text, '0123456789', '') = '' then p_text::integer end
$$;

-- Reads one value of a field, a number or a name. A weekday may be 7, which is Sunday.
create or replace function jobforge.cron_value(
  p_field text, p_text text, p_low integer, p_high integer, p_names text[]
) returns integer
language plpgsql immutable as $$
declare
  v_value constant integer := coalesce(jobforge.digits_or_null(p_text), p_low - 1 + array_position(p_names, p_text));
begin
  if v_value is null then
    perform jobforge.fail_schedule('expression', format('%s "%s" is not understood', p_field, p_text),
      format('Write *, a value from %s to %s%s, a range such as 1-5, or a step such as */2 or 1-5/2; commas between several.',
        p_low, p_high, coalesce(' or a name (' || array_to_string(p_names, ', ') || ')', '')));
  elsif v_value not between p_low and p_high + (p_field = 'day of week')::integer then
    perform jobforge.fail_schedule('expression', format('%s %s is out of range', p_field, p_text),
      format('Use a number from %s to %s.', p_low, p_high));
  end if;
  return v_value;
end $$;

-- Reads one term of a field's list as {from, to, step}: *, 5 or 1-5, each with or without a step. 5/10 runs to the
-- end of the field.
create or replace function jobforge.cron_range(
  p_field text, p_term text, p_low integer, p_high integer, p_names text[]
) returns integer[]
language plpgsql immutable as $$
declare
  v_base constant text := split_part(p_term, '/', 1);
  v_first constant text := split_part(v_base, '-', 1);
  v_last constant text := substr(v_base, length(v_first) + 2);
  v_from integer := p_low;
  v_to integer := p_high;
  v_step integer := 1;
begin
  if v_base <> p_term then
    v_step := coalesce(jobforge.digits_or_null(substr(p_term, length(v_base) + 2)), 0);
  end if;
  if v_base <> '*' then
    v_from := jobforge.cron_value(p_field, v_first, p_low, p_high, p_names);
    if v_last = 'sun' and p_field = 'day of week' then
      v_to := 7;
    elsif v_first <> v_base then
      v_to := jobforge.cron_value(p_field, v_last, p_low, p_high, p_names);
    elsif v_base = p_term or v_from > v_to then
      v_to := v_from;
    end if;
  end if;
  if v_from > v_to then
    perform jobforge.fail_schedule('expression', format('%s %s runs backwards', p_field, p_term),
      format('Write it as two ranges: %s-%s,%s-%s.', v_from, p_high, p_low, v_to));
  elsif v_step not between 1 and p_high - p_low + 1 then
    perform jobforge.fail_schedule('expression', format('%s %s has a step that is out of range', p_field, p_term),
      format('Use a step from 1 to %s, such as */2.', p_high - p_low + 1));
  end if;
  return array[v_from, v_to, v_step];
end $$;

-- Splits a field into the terms of its list. An empty text is one invalid term, where string_to_array would return
-- none.
create or replace function jobforge.cron_terms(p_text text) returns text[]
language sql immutable parallel safe as $$
  select case p_text when '' then array[''] else string_to_array(p_text, ',') end
$$;

-- Reads a field that has plain terms only, as bits from p_low to p_high.
create or replace function jobforge.cron_field(
  p_field text, p_text text, p_low integer, p_high integer, p_names text[] default null
) returns bit varying
language plpgsql immutable as $$
declare
  v_bits bit varying := repeat(case p_text when '*' then '1' else '0' end, p_high - p_low + 1)::bit varying;
  v_term text;
  v_range integer[];
begin
  if p_text <> '*' then
    foreach v_term in array jobforge.cron_terms(p_text) loop
      v_range := jobforge.cron_range(p_field, v_term, p_low, p_high, p_names);
      for v_value in v_range[1]..v_range[2] by v_range[3] loop
        v_bits := set_bit(v_bits, v_value - p_low, 1);
      end loop;
    end loop;
  end if;
  return v_bits;
end $$;

-- Reads days of the month: plain terms, and L for the last day.
create or replace function jobforge.cron_days_of_month(p_text text) returns bit varying
language plpgsql immutable as $$
declare
  v_terms constant text[] := jobforge.cron_terms(p_text);
  v_plain constant text[] := array_remove(v_terms, 'l');
  v_days bit varying := repeat('0', 31)::bit varying;
begin
  if strpos(p_text, 'w') > 0 then
    perform jobforge.fail_schedule('expression', format('day of month "%s": W is not supported', p_text),
      'Name the days, or the weekday: 1#1 in the day of week is the first Monday of the month.');
  end if;
  if v_plain <> '{}' then
    v_days := jobforge.cron_field('day of month', array_to_string(v_plain, ','), 1, 31);
  end if;
  return v_days || case when v_plain = v_terms then B'0' else B'1' end;
end $$;

-- Reads days of the week as six weeks of bits. Plain terms set the first five weeks, 5#2 the second, 5#L the last.
create or replace function jobforge.cron_days_of_week(p_text text) returns bit varying
language plpgsql immutable as $$
declare
  v_bits bit varying := repeat('0', 42)::bit varying;
  v_term text;
  v_days text;
  v_which text;
  v_weeks integer[];
  v_week integer;
  v_range integer[];
begin
  foreach v_term in array jobforge.cron_terms(p_text) loop
    -- 5L is short for 5#L.
    if right(v_term, 1) = 'l' and strpos(v_term, '#') = 0 then
      v_term := left(v_term, -1) || '#l';
    end if;
    v_days := split_part(v_term, '#', 1);
    v_which := substr(v_term, length(v_days) + 2);
    if v_which <> '' and v_days in ('', '*') then
      perform jobforge.fail_schedule('expression', format('day of week "%s" names no weekday', p_text),
        'Write which one: 5L is the last Friday of the month, 5#2 the second.');
    elsif v_term <> v_days and v_which not in ('1', '2', '3', '4', '5', 'l') then
      perform jobforge.fail_schedule('expression', format('day of week "%s": no month has such a weekday', v_term),
        'After # comes a number from 1 to 5, or L for the last.');
    end if;
    v_weeks := case v_which when '' then '{1,2,3,4,5}' when 'l' then '{6}' else array[v_which::integer] end;
    v_range := jobforge.cron_range('day of week', v_days, 0, 6, '{sun,mon,tue,wed,thu,fri,sat}');
    for v_day in v_range[1]..v_range[2] by v_range[3] loop
      foreach v_week in array v_weeks loop
        v_bits := set_bit(v_bits, 7 * (v_week - 1) + v_day % 7, 1);
      end loop;
    end loop;
  end loop;
  return v_bits;
end $$;

-- Reads the interval of @every from a text such as 1h30m.
create or replace function jobforge.cron_every(p_text text) returns interval
language plpgsql immutable as $$
declare
  v_parts constant bigint[] := regexp_match(p_text,
    '^(?:([0-9]{1,9})d)?(?:([0-9]{1,9})h)?(?:([0-9]{1,9})m)?(?:([0-9]{1,9})s)?$');
  v_seconds constant bigint := coalesce(v_parts[1], 0) * 86400 + coalesce(v_parts[2], 0) * 3600
    + coalesce(v_parts[3], 0) * 60 + coalesce(v_parts[4], 0);
begin
  if v_parts is null or v_seconds not between 1 and 366 * 86400 then
    perform jobforge.fail_schedule('expression', format('@every "%s" is not a time from one second to 366 days',
      p_text),
      'Write whole numbers of d, h, m and s in this order, such as @every 5m or @every 1h30m.');
  end if;
  return make_interval(secs => v_seconds);
end $$;

-- Raises if no month that the expression names has a day that it names, such as 0 0 30 2 *. Every other date occurs:
-- 29 February after at most eight years, a fifth Monday in February after at most forty.
create or replace function jobforge.require_possible(p_cron jobforge.cron) returns void
language plpgsql immutable as $$
declare
  v_first_day constant integer := position(B'1' in p_cron.days);
  v_months constant bit varying := p_cron.months
    & case v_first_day when 30 then B'101111111111' when 31 then B'101010110101' else B'111111111111' end;
begin
  if position(B'1' in v_months) = 0 and get_bit(p_cron.days, 31) = 0 and position(B'1' in p_cron.weekdays) = 0 then
    perform jobforge.fail_schedule('expression', format('it never runs, because none of its months has %s days',
      v_first_day),
      'Write L for the last day of the month.');
  end if;
end $$;

-- Reads an expression: 5 fields (minute, hour, day of month, month, day of week), 6 fields with seconds first, @daily
-- and similar names, or @every. Raises JF009 if it is wrong or never runs. A day field is free if it is * or ?. If
-- neither day field is free, a day runs when one of them names it, as in classic cron.
create or replace function jobforge.read_cron(p_expression text) returns jobforge.cron
language plpgsql immutable as $$
declare
  v_text text;
  v_fields text[];
  v_cron jobforge.cron;
begin
  if length(p_expression) > 200 then
    perform jobforge.fail_schedule('expression', 'the expression has more than 200 characters',
      'Use ranges and steps.');
  end if;
  -- Allow only these characters and letters, independent of the database's locale.
  v_text := btrim(regexp_replace(lower(p_expression collate "C"), '[ \t\r\n\f\v]+', ' ', 'g'), ' ');
  if v_text like '@every %' then
    v_cron.every := jobforge.cron_every(substr(v_text, 8));
    return v_cron;
  end if;
  v_fields := string_to_array(case v_text
      when '@yearly' then '0 0 1 1 *'
      when '@annually' then '0 0 1 1 *'
      when '@monthly' then '0 0 1 * *'
      when '@weekly' then '0 0 * * 0'
      when '@daily' then '0 0 * * *'
      when '@midnight' then '0 0 * * *'
      when '@hourly' then '0 * * * *'
      else v_text
    end, ' ');
  if cardinality(v_fields) = 5 then
    v_fields := array_prepend('0', v_fields);
  elsif cardinality(v_fields) is distinct from 6 then
    perform jobforge.fail_schedule('expression',
      case when v_text <> '' then format('"%s" is not a cron expression', v_text) else 'the expression is empty' end,
      'Write minute, hour, day of month, month and day of week, optionally with the second before them; '
        || 'or @yearly, @monthly, @weekly, @daily, @hourly, or @every 5m.');
  end if;
  v_cron.seconds := jobforge.cron_field('second', v_fields[1], 0, 59);
  v_cron.minutes := jobforge.cron_field('minute', v_fields[2], 0, 59);
  v_cron.hours := jobforge.cron_field('hour', v_fields[3], 0, 23);
  v_cron.months := jobforge.cron_field('month', v_fields[5], 1, 12,
    '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}');
  -- A free field leaves the choice to the other field.
  v_cron.days := case when v_fields[4] in ('*', '?') and v_fields[6] not in ('*', '?') then B'0'::bit(32)
    else jobforge.cron_days_of_month(replace(v_fields[4], '?', '*')) end;
  v_cron.weekdays := case when v_fields[6] in ('*', '?') then B'0'::bit(42)
    else jobforge.cron_days_of_week(replace(v_fields[6], '?', '*')) end;
  perform jobforge.require_possible(v_cron);
  return v_cron;
end $$;

-- Returns the name of a time zone as the server's own time zone database spells it; null if it has no such zone.
-- Scanning pg_timezone_names reads every file, which takes a tenth of a second; this reads one. The setting ends with
-- the function.
create or replace function jobforge.zone_spelling(p_timezone text) returns text
language plpgsql stable
set timezone = 'UTC' as $$
begin
  perform set_config('timezone', p_timezone, true);
  return current_setting('timezone');
exception when invalid_parameter_value then
  return null;
end $$;

-- Raises unless the text is UTC, GMT or the IANA name of a place. Postgres would accept much more: +05:00, FOO5, and
-- CET as a fixed offset without summer time. Such a name has no lower-case letters, or Postgres spells it in
-- capitals.
create or replace function jobforge.require_zone(p_timezone text) returns void
language plpgsql stable as $$
declare
  v_spelling constant text := case
    when p_timezone ~ '^[A-Za-z][A-Za-z0-9_+/-]{1,63}$' then jobforge.zone_spelling(p_timezone) end;
begin
  if p_timezone in ('UTC', 'GMT') or (p_timezone = v_spelling and p_timezone ~ '^[A-Z].*[a-z]') then
    return;
  end if;
  perform jobforge.fail_schedule('timezone',
    format('time zone %s is not known', coalesce('"' || left(p_timezone, 64) || '"', 'null')),
    case
      when v_spelling ~ '^[A-Z].*[a-z]' then format('Write %s.', v_spelling)
      else 'Use the IANA name of a place, such as Europe/Berlin, or UTC. Offsets and abbreviations do not follow summer time.'
    end);
end $$;
