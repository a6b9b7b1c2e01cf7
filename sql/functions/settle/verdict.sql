-- Returns the status that the end of a run leads its job to. Three lost leases in a row make it dead. One expression,
-- so that Postgres inlines it.
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

-- Why a job has this status after the end of its run, in one word.
create or replace function jobforge.reason(p_verdict text, p_ended text, p_retry boolean, p_losses integer) returns text
language sql immutable as $$
  select case p_verdict
    when 'succeeded' then 'done'
    when 'failed' then case when p_retry then 'failed' else 'refused' end
    when 'dead' then case when p_ended = 'lost' and p_losses >= 2 then 'crashed' else 'exhausted' end
    else p_verdict
  end
$$;
