-- Finds the next run of a cron expression: first on the wall clock, field by field and without a time zone, then as
-- an instant, where the time zone decides. It does not try minute by minute or day by day, so a distant run costs
-- little more than a near one. Instants in this file are timestamps in UTC, because adding an interval to a
-- timestamptz depends on the session's time zone.

-- Returns the days of a month that an expression names, starting with the 1st. p_month is the first day of the month.
create or replace function jobforge.cron_month(p_cron jobforge.cron, p_month date) returns bit varying
language plpgsql immutable as $$
declare
  v_length constant integer := (p_month + interval '1 month')::date - p_month;
  v_start constant integer := extract(dow from p_month)::integer;
  -- Two copies of the week's bits contain a week that starts on any weekday.
  v_last constant bit(14) := substring(p_cron.weekdays from 36) || substring(p_cron.weekdays from 36);
  v_days bit(31) := substring(p_cron.days from 1 for 31);
begin
  if position(B'1' in p_cron.weekdays) > 0 then
    for v_week in 0..4 loop
      v_days := v_days | ((
        substring(substring(p_cron.weekdays from 7 * v_week + 1 for 7)
          || substring(p_cron.weekdays from 7 * v_week + 1 for 7)
          from v_start + 1 for 7))::bit(31) >> (7 * v_week));
    end loop;
    v_days := v_days
      | (substring(v_last from (v_start + v_length) % 7 + 1 for 7)::bit(31) >> (v_length - 7));
  end if;
  if get_bit(p_cron.days, 31) = 1 then
    v_days := set_bit(v_days, v_length - 1, 1);
  end if;
  return substring(v_days from 1 for v_length);
end $$;

-- Returns the first day at or after p_from that an expression names. read_cron has checked that there is one.
create or replace function jobforge.cron_date(p_cron jobforge.cron, p_from date) returns date
language plpgsql immutable as $$
declare
  v_day integer := extract(day from p_from)::integer;
  v_month date := p_from - (v_day - 1);
  v_ahead integer;
begin
  loop
    -- Go to the next month that the expression names, within the twelve months that start here.
    v_ahead := extract(month from v_month)::integer;
    v_ahead := position(B'1' in substring(p_cron.months || p_cron.months from v_ahead for 12)) - 1;
    if v_ahead > 0 then
      v_month := v_month + make_interval(months => v_ahead);
      v_day := 1;
    end if;
    v_ahead := position(B'1' in substring(jobforge.cron_month(p_cron, v_month) from v_day));
    if v_ahead > 0 then
      return v_month + (v_day + v_ahead - 2);
    end if;
    v_month := v_month + interval '1 month';
    v_day := 1;
  end loop;
end $$;

-- Returns the first time at or after p_from that an expression names, on a wall clock that is never changed.
create or replace function jobforge.cron_wall(p_cron jobforge.cron, p_from timestamp) returns timestamp
language plpgsql immutable as $$
declare
  v_today constant date := p_from::date;
  v_date date := jobforge.cron_date(p_cron, v_today);
  v_hour integer := extract(hour from p_from)::integer;
  v_minute integer := extract(minute from p_from)::integer;
  v_second integer := position(B'1' in p_cron.seconds) - 1;
  v_ahead integer;
begin
  if v_date = v_today then
    -- Look later in this minute, then in this hour, then in this day.
    if get_bit(p_cron.hours, v_hour) = 1 then
      if get_bit(p_cron.minutes, v_minute) = 1 then
        v_ahead := position(B'1' in substring(p_cron.seconds from extract(second from p_from)::integer + 1));
        if v_ahead > 0 then
          return date_trunc('minute', p_from) + make_interval(secs => extract(second
            from p_from)::integer + v_ahead - 1);
        end if;
      end if;
      v_ahead := position(B'1' in substring(p_cron.minutes from v_minute + 2));
      if v_ahead > 0 then
        return v_today + make_time(v_hour, v_minute + v_ahead, v_second);
      end if;
    end if;
    v_minute := position(B'1' in p_cron.minutes) - 1;
    v_ahead := position(B'1' in substring(p_cron.hours from v_hour + 2));
    if v_ahead > 0 then
      return v_today + make_time(v_hour + v_ahead, v_minute, v_second);
    end if;
    v_date := jobforge.cron_date(p_cron, v_today + 1);
  end if;
  return v_date + make_time(position(B'1' in p_cron.hours) - 1, position(B'1' in p_cron.minutes) - 1, v_second);
end $$;

-- Returns what the wall clock shows at an instant.
create or replace function jobforge.wall_clock(p_timezone text, p_at timestamp) returns timestamp
language sql immutable parallel safe as $$
  select p_at at time zone 'UTC' at time zone p_timezone
$$;

-- Returns the first instant of a new offset after p_from and not after p_to; null if both have the same offset. Since
-- 1900 no zone has changed its clock twice within three days, and callers ask about one day.
create or replace function jobforge.shift_between(p_timezone text, p_from timestamp, p_to timestamp) returns timestamp
language plpgsql immutable as $$
declare
  v_offset constant interval := jobforge.wall_clock(p_timezone, p_from) - p_from;
  v_before timestamp := p_from;
  v_after timestamp := p_to;
  v_middle timestamp;
begin
  if jobforge.wall_clock(p_timezone, p_to) - p_to = v_offset then
    return null;
  end if;
  while v_after - v_before > interval '1 second' loop
    v_middle := date_trunc('second', v_before + (v_after - v_before) / 2);
    if jobforge.wall_clock(p_timezone, v_middle) - v_middle = v_offset then
      v_before := v_middle;
    else
      v_after := v_middle;
    end if;
  end loop;
  return v_after;
end $$;

-- Returns the first instant at which the wall clock shows p_wall or a later time. For a time that occurs twice this
-- is its first occurrence; for a skipped time it is the instant of the shift. The largest shift, across the date
-- line, is one day.
create or replace function jobforge.first_instant(p_timezone text, p_wall timestamp) returns timestamp
language plpgsql immutable as $$
declare
  -- Postgres takes the second occurrence of a time that occurs twice, and counts a skipped time from before the
  -- shift.
  v_at constant timestamp := p_wall at time zone p_timezone at time zone 'UTC';
  v_shift constant timestamp := jobforge.shift_between(p_timezone, v_at - interval '25 hours', v_at);
  v_end timestamp;
begin
  if v_shift is null then
    return v_at;
  end if;
  -- The time that the clock showed when it was changed.
  v_end := jobforge.wall_clock(p_timezone, v_shift - interval '1 second') + interval '1 second';
  return case
    when p_wall < v_end then v_shift - (v_end - p_wall)
    when p_wall < jobforge.wall_clock(p_timezone, v_shift) then v_shift
    else v_at
  end;
end $$;

-- Returns the next run of an expression after an instant. The complete rule for clock changes:
--- An expression that does not name every hour names times of the wall clock. Each time runs once, at the first instant
--  at which the clock shows it or a later time. So a skipped time runs at the shift (several skipped times run there
--  once), and a time that occurs twice runs at its first occurrence.
--- An expression that names all 24 hours (its hour is *, */1 or 0-23) says how often, not when. It runs whenever the
--  clock shows a time that it names: also during a repeated hour, and not for skipped times, because the next run is
--  less than an hour away.
--- @every counts from p_after, whatever the clock shows.
create or replace function jobforge.cron_after(p_cron jobforge.cron, p_timezone text, p_after timestamptz)
returns timestamptz
language plpgsql immutable as $$
declare
  v_day constant interval := '25 hours';
  v_second constant interval := '1 second';
  v_after constant timestamp := date_trunc('second', p_after at time zone 'UTC');
  v_from timestamp;
  v_shift timestamp;
  v_wall timestamp;
  v_next timestamp;
begin
  if p_cron.every is not null then
    return p_after + p_cron.every;
  elsif position(B'0' in p_cron.hours) > 0 then
    v_wall := jobforge.wall_clock(p_timezone, v_after);
    -- If the clock was set back recently, it has already shown later times than now, and their runs have happened.
    v_shift := jobforge.shift_between(p_timezone, v_after - v_day, v_after);
    v_wall := greatest(v_wall, jobforge.wall_clock(p_timezone, v_shift - v_second));
    return jobforge.first_instant(p_timezone, jobforge.cron_wall(p_cron, v_wall + v_second)) at time zone 'UTC';
  end if;
  v_from := v_after + v_second;
  loop
    v_wall := jobforge.wall_clock(p_timezone, v_from);
    v_next := jobforge.cron_wall(p_cron, v_wall);
    -- Until the clock changes, the distance to v_next is the same in real time. After a shift, look again. One day is
    -- enough: a clock that is set back later does not return to times before v_wall.
    v_shift := jobforge.shift_between(p_timezone, v_from, v_from + least(v_next - v_wall, v_day));
    if v_shift is null and v_next - v_wall <= v_day then
      return (v_from + (v_next - v_wall)) at time zone 'UTC';
    elsif v_shift is null then
      v_shift := jobforge.first_instant(p_timezone, v_next);
      if jobforge.wall_clock(p_timezone, v_shift) = v_next then
        return v_shift at time zone 'UTC';
      end if;
    end if;
    v_from := v_shift;
  end loop;
end $$;

-- Returns the next runs of an expression that has not been checked yet.
create or replace function jobforge.cron_runs(p_expression text, p_timezone text, p_after timestamptz, p_count integer)
returns setof timestamptz
language plpgsql stable as $$
declare
  v_cron constant jobforge.cron := jobforge.read_cron(p_expression);
  v_at timestamptz := coalesce(p_after, jobforge.now());
begin
  perform jobforge.require_zone(p_timezone);
  if p_count is null or p_count not between 1 and 1000 then
    perform jobforge.fail_argument('count', 'count must be between 1 and 1000');
  elsif v_at not between '0001-01-01 00:00 UTC' and '9999-12-31 00:00 UTC' then
    perform jobforge.fail_argument('after', 'after must be a time between the years 1 and 9999');
  end if;
  for v_run in 1..p_count loop
    v_at := jobforge.cron_after(v_cron, p_timezone, v_at);
    return next v_at;
  end loop;
end $$;

-- Returns the next run of an expression after an instant, not at it. Without p_after, the instant is now.
-- jobforge.cron_after has the rules.
-- Who: everyone. Locks nothing, reads no table. JF009 for a wrong expression or time zone, JF002 for a wrong time.
create or replace function :"api_schema".jobforge_cron_next(
  p_expression text, p_timezone text default 'UTC', p_after timestamptz default null
) returns timestamptz
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select * from cron_runs(p_expression, p_timezone, p_after, 1)
$$;

-- Returns the next runs of an expression in order, so that people can check what they have written.
-- Who: everyone. Locks nothing, reads no table. JF009 as above, JF002 for a wrong time or count.
create or replace function :"api_schema".jobforge_cron_runs(
  p_expression text, p_timezone text default 'UTC', p_after timestamptz default null, p_count integer default 5
) returns setof timestamptz
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select * from cron_runs(p_expression, p_timezone, p_after, p_count)
$$;
