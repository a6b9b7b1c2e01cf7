-- The status that a run's end leads its job to. One expression, so that it is inlined.
create or replace function jobforge.verdict(
  p_ended text, p_cancel boolean, p_retry boolean, p_counts boolean, p_exhausted boolean, p_losses integer
) returns text
language sql immutable as $$
  select case
    when p_cancel then 'canceled'
    when p_ended = 'succeeded' then 'succeeded'
    when p_ended = 'released' or (p_ended = 'deferred' and not p_counts) then 'queued'
    when p_ended = 'failed' and not p_retry then 'failed'
    when p_exhausted or (p_ended = 'lost' and p_losses >= 2) then 'dead'
    else 'queued'
  end
$$;

-- Why a run's end led there, in one word.
create or replace function jobforge.reason(p_verdict text, p_ended text, p_retry boolean, p_losses integer) returns text
language sql immutable as $$
  select case p_verdict
    when 'succeeded' then 'done'
    when 'failed' then case when p_retry then 'failed' else 'refused' end
    when 'dead' then case when p_ended = 'lost' and p_losses >= 2 then 'crashed' else 'exhausted' end
    else p_verdict
  end
$$;

-- The whole milliseconds from one time to another; 0 when it was earlier. As a double, in a third of the time of the numeric that
-- extract answers: half a microsecond makes up for what a double lacks.
create or replace function jobforge.ms_between(p_from timestamptz, p_to timestamptz) returns bigint
language sql immutable as $$
  select greatest(floor(date_part('epoch', p_to - p_from) * 1000 + 0.0005), 0)::bigint
$$;

-- Adds up the cost of a job's runs, without overflowing.
create or replace function jobforge.add_cost(p_before integer, p_run integer) returns integer
language sql immutable as $$
  select case
    when p_before is null then p_run
    else least(p_before::bigint + coalesce(p_run, 0), 2147483647)::integer
  end
$$;
