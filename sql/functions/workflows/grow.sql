-- What a run adds with its end: with its success steps to its workflow (steps, detached), and workflows of its own
-- (workflows); and when it is suspended, the workflows that it waits for. It is done before the run ends, in the same
-- transaction, so an end that cannot add them becomes a failure, like one whose children are invalid.

-- Adds the steps and starts the workflows of ends, which p_results has in the same order. Returns the ends, with those
-- that could not as failures. An end that the fence refuses adds nothing. Locks the runs in id order.
create or replace function jobforge.grow(
  p_ends jobforge.run_end[], p_results jsonb, p_worker_id text, p_tenant_id uuid, p_now timestamptz
) returns jobforge.run_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_run record;
  v_problem jsonb;
  v_ends run_end[] := p_ends;
begin
  for v_run in
    select r.id, r.tenant_id, r.step_id, e.ord, e as ended, p_results -> (e.ord - 1) as asked
    from runs r
    join unnest(p_ends) e on e.id = r.id and (e.attempt is null or e.attempt = r.attempts)
    where r.worker_id = p_worker_id and (p_tenant_id is null or (r.tenant_id = p_tenant_id and r.bound))
    order by r.id
    for update of r
  loop
    if (((v_run.ended).status = 'succeeded' and v_run.asked ?| array['steps', 'workflows'])
        or waits_for_workflows((v_run.ended).wait))
      and not exists (select from cancel_requests c where c.job_id = v_run.id)
    then
      v_problem := grow_one(v_run.id, v_run.tenant_id, v_run.step_id, v_run.asked, (v_run.ended).wait, p_now);
      if v_problem is not null then
        v_ends := array(
          select case when e.ord = v_run.ord
              then run_end(p_id => e.id, p_status => 'failed', p_attempt => e.attempt, p_ord => e.ord,
                p_error => v_problem, p_retry => v_problem ->> 'code' = 'JF007', p_cost_cents => e.cost_cents,
                p_next_run_at => e.next_run_at, p_logs => e.logs)
              else e end
          from unnest(v_ends) e
          order by e.ord);
      end if;
    end if;
  end loop;
  return v_ends;
end $$;

-- Adds the steps and starts the workflows of one end. Returns why it cannot: an error for the run; null otherwise.
create or replace function jobforge.grow_one(
  p_job_id uuid, p_tenant_id uuid, p_step_id uuid, p_asked jsonb, p_wait jsonb, p_now timestamptz
) returns jsonb
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_steps jsonb := nullif(p_asked -> 'steps', 'null');
  v_workflows jsonb := nullif(p_asked -> 'workflows', 'null');
begin
  if p_wait is not null then
    perform start_child_workflows(p_job_id, coalesce(p_step_id, p_job_id), p_tenant_id, p_wait, p_now);
    return null;
  elsif jsonb_typeof(v_workflows) <> 'array' then
    perform fail_argument('workflows', 'workflows must be a JSON array');
  elsif jsonb_path_exists(v_workflows, 'lax $[*].options ? (exists (@.idempotency_key) || exists (@.dedupe_key))') then
    -- A key that an open transaction of an application holds would make the settle wait.
    perform fail_argument('workflows', 'workflows that a run starts have no keys: they start once, with its success');
  end if;
  if v_steps is not null and v_steps <> '[]' then
    if not exists (select from steps s join workflows w on w.id = s.workflow_id where s.id = p_step_id) then
      perform fail_argument('steps', 'only a step of a workflow can add steps');
    end if;
    perform add_to_group(
      group_of_run(p_step_id, coalesce(p_asked ->> 'detached' = 'true', false), p_now), v_steps, p_now);
  end if;
  if v_workflows is not null then
    perform start_all(p_tenant_id, v_workflows, p_now, true);
  end if;
  return null;
exception
  when sqlstate 'JF002' or sqlstate 'JF007' or sqlstate 'JF008' or sqlstate 'JF011' or sqlstate 'JF013'
    or sqlstate 'JF014'
  then
    return jsonb_build_object('name', 'InvalidResult', 'code', sqlstate, 'message', sqlerrm);
  when program_limit_exceeded or statement_too_complex then
    return '{"name": "InvalidResult", "message": "The steps or workflows are too large or nested too deeply"}';
end $$;
