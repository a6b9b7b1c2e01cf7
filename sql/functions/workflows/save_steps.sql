-- Saves checkpoints of a run: what its steps returned, or why they failed. Each is {name, value} or {name, error}; with
-- done false it is a note about a step that is tried again: {name, tries, due_at, error, done: false}. A checkpoint
-- that is done never changes. Progress renews the budget: the next failure of this run counts as the first one. Returns
-- {saved, cancel_requested}.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt), JF002 and JF008 for a
-- checkpoint, JF014 for more than 10,000, or more than 64 MiB as stored. Waits for nothing but calls for the same run.
create or replace function :"api_schema".jobforge_save_steps(
  p_job_id uuid, p_worker_id text, p_steps jsonb, p_attempt integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_run runs := held_run(p_job_id, p_worker_id, p_attempt);
  v_saved integer;
  v_all record;
begin
  perform require_checkpoints(p_steps);
  insert into checkpoints (job_id, name, tenant_id, kind, attempt, value, error, due_at, tries, done, at)
  select p_job_id, s.name, v_run.tenant_id, coalesce(s.kind, 'step'), v_run.attempts, s.value, s.error, s.due_at,
    coalesce(s.tries, 0), coalesce(s.done, true), v_now
  from jsonb_to_recordset(p_steps) s(
    name text, kind text, value jsonb, error jsonb, due_at timestamptz, tries integer, done boolean)
  on conflict (job_id, name) do update
  set value = excluded.value, error = excluded.error, due_at = excluded.due_at, tries = excluded.tries,
    done = excluded.done, attempt = excluded.attempt, at = excluded.at
  where not checkpoints.done;
  get diagnostics v_saved = row_count;
  select count(*) as count, sum(c.bytes) as bytes
  into v_all
  from (select pg_column_size(c.value) as bytes from checkpoints c where c.job_id = p_job_id limit 10001) c;
  if v_all.count > 10000 then
    perform fail_workflow_limit('steps', 'more than 10000 checkpoints of one job');
  elsif v_all.bytes > 64 * 1024 * 1024 then
    perform fail_workflow_limit('steps', 'more than 64 MiB of checkpoints of one job');
  end if;
  if v_saved > 0 and v_run.attempts - v_run.uncounted > 1 then
    update runs r set uncounted = r.attempts - 1, failures = 0 where r.id = p_job_id;
  end if;
  return jsonb_build_object('saved', v_saved,
    'cancel_requested', exists (select from cancel_requests c where c.job_id = p_job_id));
end $$;

-- Raises JF002 or JF008 if an array has something that is not a checkpoint.
create or replace function jobforge.require_checkpoints(p_steps jsonb) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_known constant text[] := array['name', 'kind', 'value', 'error', 'due_at', 'tries', 'done'];
  v_bad record;
begin
  if jsonb_typeof(p_steps) is distinct from 'array' or jsonb_array_length(p_steps) > 1000 then
    perform fail_argument('steps', 'steps must be a JSON array of at most 1000 checkpoints');
  end if;
  select e.ord - 1 as index, text_bytes(e.step) > document_bytes() as large
  into v_bad
  from jsonb_array_elements(p_steps) with ordinality e(step, ord)
  where case
    when not coalesce(text_bytes(e.step) between 0 and document_bytes(), false) then true
    when jsonb_typeof(e.step) <> 'object' then true
    when e.step - v_known <> '{}' or jsonb_typeof(e.step -> 'name') is distinct from 'string' then true
    else not is_checkpoint_name(e.step ->> 'name')
      or coalesce(e.step ->> 'kind', 'step') not in ('step', 'version')
      or jsonb_typeof(e.step -> 'done') not in ('boolean', 'null')
      or (jsonb_typeof(e.step -> 'due_at') <> 'null' and time_or_null(e.step ->> 'due_at') is null)
      or coalesce(e.step ->> 'tries', '0') !~ '^[0-9]{1,6}$'
  end
  order by e.ord
  limit 1;
  if v_bad.large then
    perform fail('JF008', format('Payload too large: steps[%s] is over 1 MiB', v_bad.index), 'payload_too_large',
      format('steps[%s]', v_bad.index), 'Store it elsewhere and save a reference.');
  elsif v_bad.index is not null then
    perform fail_argument(format('steps[%s]', v_bad.index),
      format('steps[%s] must be an object with name, and value or error', v_bad.index));
  end if;
end $$;
