-- Computes the due times of schedules that have a rhythm. Nothing in this file reads a table.

-- Returns the first due time after an instant; null for a dynamic schedule, and if the schedule ends before.
create or replace function jobforge.due_after(p_schedule jobforge.schedules, p_after timestamptz) returns timestamptz
language plpgsql volatile as $$
declare
  v_next timestamptz;
begin
  case p_schedule.kind
    when 'cron' then
      v_next := jobforge.cron_after(jobforge.read_cron(p_schedule.cron), p_schedule.timezone, p_after);
    when 'every' then
      v_next := date_bin(p_schedule.every, p_after, p_schedule.anchor) + p_schedule.every;
      -- Before its origin, date_bin of some Postgres releases returns a bin that is one interval too early.
      if v_next <= p_after then
        v_next := v_next + p_schedule.every;
      end if;
      v_next := v_next + coalesce(p_schedule.jitter * random(), interval '0');
    else
      return null;
  end case;
  return case when v_next > p_schedule.ends_at then null else v_next end;
end $$;

-- Returns the first due time of a new rhythm: now for an interval without an anchor, otherwise the next due time.
create or replace function jobforge.first_due(p_schedule jobforge.schedules, p_now timestamptz) returns timestamptz
language plpgsql volatile as $$
declare
  v_from timestamptz := greatest(p_now, p_schedule.starts_at);
begin
  if p_schedule.kind = 'dynamic' or p_schedule.anchor = v_from then
    return case when v_from > p_schedule.ends_at then null else v_from end;
  end if;
  -- The start itself may be a due time.
  return jobforge.due_after(p_schedule, case when v_from > p_now then v_from - interval '1 microsecond' else p_now end);
end $$;

-- Returns the last due time of an expression after p_first and not after p_until; p_first if there is none. It
-- searches from the end, first as far back as the distance of two due times, which usually finds it, then by halves:
-- an expression for every second has thirty million due times in a year.
create or replace function jobforge.last_cron_due(
  p_cron jobforge.cron, p_timezone text, p_first timestamptz, p_until timestamptz
) returns timestamptz
language plpgsql immutable as $$
declare
  v_low timestamptz := p_first;
  v_high timestamptz := p_until;
  v_middle timestamptz;
  v_next timestamptz;
  v_gap interval;
begin
  if p_cron.every is not null then
    return date_bin(p_cron.every, p_until, p_first);
  end if;
  v_next := jobforge.cron_after(p_cron, p_timezone, p_first);
  if v_next > p_until then
    return p_first;
  end if;
  v_gap := v_next - p_first;
  v_low := v_next;
  while p_until - v_gap > v_low loop
    v_middle := p_until - v_gap;
    v_next := jobforge.cron_after(p_cron, p_timezone, v_middle);
    if v_next <= p_until then
      v_low := v_next;
      exit;
    end if;
    v_high := v_middle;
    v_gap := 2 * v_gap;
  end loop;
  loop
    v_next := jobforge.cron_after(p_cron, p_timezone, v_low);
    exit when v_next > p_until;
    v_low := v_next;
    while v_high - v_low > interval '1 second' loop
      v_middle := v_low + make_interval(secs => extract(epoch from v_high - v_low)::double precision / 2);
      v_next := jobforge.cron_after(p_cron, p_timezone, v_middle);
      if v_next <= p_until then
        v_low := v_next;
      else
        v_high := v_middle;
      end if;
    end loop;
  end loop;
  return v_low;
end $$;

-- Returns the last due time from next_run_at on that has passed by p_until.
create or replace function jobforge.last_due(p_schedule jobforge.schedules, p_until timestamptz) returns timestamptz
language plpgsql immutable as $$
declare
  v_until timestamptz := least(p_until, p_schedule.ends_at);
begin
  return case p_schedule.kind
    when 'cron' then jobforge.last_cron_due(
      jobforge.read_cron(p_schedule.cron), p_schedule.timezone, p_schedule.next_run_at, v_until)
    -- With jitter, the interval after that of next_run_at may have begun although its due time has not passed.
    when 'every' then case
      when date_bin(p_schedule.every, p_schedule.next_run_at,
        p_schedule.anchor) + p_schedule.every + p_schedule.jitter > v_until
        then p_schedule.next_run_at
      else greatest(p_schedule.next_run_at, date_bin(p_schedule.every, v_until, p_schedule.anchor))
    end
    else p_schedule.next_run_at
  end;
end $$;

-- Returns the due times from next_run_at on that have passed, oldest first: all of them, or the last missed_limit if
-- there are more.
create or replace function jobforge.missed_times(p_schedule jobforge.schedules, p_now timestamptz) returns timestamptz[]
language plpgsql volatile as $$
declare
  v_times timestamptz[] := '{}';
  v_at timestamptz := p_schedule.next_run_at;
begin
  while v_at <= p_now and cardinality(v_times) < p_schedule.missed_limit loop
    v_times := v_times || v_at;
    v_at := jobforge.due_after(p_schedule, v_at);
  end loop;
  if v_at > p_now or v_at is null then
    return v_times;
  end if;
  v_times := '{}';
  v_at := jobforge.last_due(p_schedule, p_now);
  while cardinality(v_times) < p_schedule.missed_limit loop
    v_times := v_at || v_times;
    v_at := jobforge.last_due(p_schedule, v_at - interval '1 microsecond');
  end loop;
  return v_times;
end $$;
