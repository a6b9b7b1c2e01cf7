-- Takes the oldest signal that a wait of this run is for, and saves it as its checkpoint, or saves that the time is
-- over. Repeated calls return the same. Returns {signal, payload}, {timed_out: true} or {pending: true}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt).
create or replace function :"api_schema".jobforge_take_signal(
  p_job_id uuid, p_worker_id text, p_wait text, p_attempt integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_run runs := held_run(p_job_id, p_worker_id, p_attempt);
  v_wait checkpoints;
  v_signal signals;
begin
  select c.* into v_wait from checkpoints c where c.job_id = p_job_id and c.name = p_wait and c.kind = 'wait' for update;
  if v_wait.done then
    return v_wait.value;
  end if;
  update signals g
  set taken_by = p_job_id, taken_as = p_wait
  where g.id = (
    select f.id
    from signals f
    where f.target_id = p_job_id and f.name = any (v_wait.signals) and f.taken_by is null
    order by f.id
    limit 1
    for update skip locked)
  returning * into v_signal;
  v_wait.value := case
    when v_signal.id is not null then jsonb_build_object('signal', v_signal.name, 'payload', v_signal.payload)
    when v_wait.due_at <= v_now then '{"timed_out": true}'
  end;
  if v_wait.value is null then
    return '{"pending": true}';
  end if;
  update checkpoints c
  set done = true, value = v_wait.value, attempt = v_run.attempts, at = v_now
  where c.job_id = p_job_id and c.name = p_wait;
  return v_wait.value;
end $$;
