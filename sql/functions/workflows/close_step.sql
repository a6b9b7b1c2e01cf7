-- Ends a map, a group or a root, all of whose members have ended. Returns its end. A member that ended badly and is
-- not optional has left a doom. The caller holds the step.
create or replace function jobforge.close_step(p_step_id uuid, p_now timestamptz) returns jobforge.step_end
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_step steps := (select s from steps s where s.id = p_step_id);
  v_stop text := (
    select coalesce(w.stop_reason, 'canceled') from workflows w where w.id = v_step.workflow_id and w.cancel_at is not null);
  v_bad uuid[] := array(select d.need_id from dooms d where d.node_id = p_step_id order by d.need_id);
  v_end step_end;
begin
  v_end := row(p_step_id,
    case
      when v_step.kind = 'root' and v_stop is not null then case v_stop when 'canceled' then 'canceled' else 'failed' end
      when v_bad = '{}' then 'succeeded'
      when v_stop is not null then 'canceled'
      else 'failed'
    end,
    case when v_step.kind = 'root' and v_stop is not null then v_stop when v_bad = '{}' then 'done'
      when v_stop is not null then 'canceled' else 'failed' end,
    null, null, null);
  if v_end.status = 'succeeded' and v_step.kind <> 'map' then
    v_end.result := output_of(v_step);
    if not coalesce(text_bytes(v_end.result) between 0 and document_bytes(), true) then
      v_end := failed_end(p_step_id, 'output_too_large', 'The output is over 1 MiB');
    end if;
  elsif cardinality(v_bad) > 0 then
    v_end.error := jsonb_build_object('name', 'StepsFailed',
      'message', format(case cardinality(v_bad) when 1 then '%s step ended badly' else '%s steps ended badly' end,
        cardinality(v_bad)),
      'steps', (
        select jsonb_agg(s.path order by s.path) from steps s where s.id = any (v_bad[:10])));
  end if;
  if v_step.kind = 'root' then
    perform end_workflow(v_end, p_now);
  end if;
  return v_end;
end $$;

-- Returns the output of a group or a root: what its template says, with references filled in.
create or replace function jobforge.output_of(p_step jobforge.steps) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_output jsonb := nullif(p_step.spec -> 'output', 'null');
begin
  if v_output is null or not may_refer(v_output) then
    return v_output;
  end if;
  return nullif(fill_in(v_output, sources_of(p_step.id, to_jsonb(steps_referred_to(v_output)))), 'null');
end $$;

-- Ends a workflow with its root: status, output, audit, usage, and a notification for those that wait. The caller
-- holds the root, so no other transaction holds the workflow.
create or replace function jobforge.end_workflow(p_end jobforge.step_end, p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_workflow workflows;
  v_action text;
begin
  update workflows w
  set status = p_end.status, reason = p_end.reason, output = p_end.result, finished_at = p_now
  where w.id = p_end.id and w.status = 'running'
  returning * into v_workflow;
  if not found then
    return;
  end if;
  select p.audit_action into v_action from policies p where p.type = 'workflow:' || v_workflow.name;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message, meta)
  select p_now, v_workflow.tenant_id, actor(), a.action, 'workflow', v_workflow.id::text, p_end.error ->> 'message',
    jsonb_build_object('name', v_workflow.name, 'reason', p_end.reason)
  from (
    select case
      when p_end.status = 'succeeded' then v_action
      when p_end.status = 'failed' then case p_end.reason when 'deadline' then 'WORKFLOW_DEADLINE' else 'WORKFLOW_FAILED' end
    end as action
  ) a
  where a.action is not null;
  insert into usage_deltas (
    tenant_id, type, hour, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, waits, lengths)
  values (
    v_workflow.tenant_id, 'workflow:' || v_workflow.name, date_trunc('hour', p_now, 'UTC'), 1,
    (p_end.status = 'succeeded')::integer, (p_end.status = 'failed')::integer, 0, 0, 0, (p_end.status = 'failed')::integer,
    0, '{}', array[ms_between(v_workflow.created_at, p_now)]);
  if exists (select from watches w where w.job_id = v_workflow.id) then
    perform notify('jobforge_done', v_workflow.id::text);
    delete from watches w
    where w.ctid = any (array(select f.ctid from watches f where f.job_id = v_workflow.id for update skip locked));
  end if;
end $$;
