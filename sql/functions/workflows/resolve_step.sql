-- Ends a step that ended badly in another way, after a person has repaired it: as succeeded, with a result, or as
-- skipped. What was canceled because of it runs, and what waits for its repair goes on. Returns {id, step, status}.
-- Who: the tenant itself, operators. JF015 if there is no such step, if it did not end badly, or if its workflow
-- succeeded or was canceled. Waits for other calls that change the graph of this workflow.
create or replace function :"api_schema".jobforge_resolve_step(
  p_workflow_id uuid, p_tenant_id uuid, p_step text, p_status text, p_result jsonb default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_step steps;
  v_again uuid[];
  v_end step_end;
begin
  perform require_tenant(p_tenant_id);
  if p_status is null or p_status not in ('succeeded', 'skipped') then
    perform fail_argument('status', 'status must be succeeded or skipped');
  end if;
  perform require_result(p_result);
  perform lock_retryable(p_workflow_id, p_tenant_id, 'JF015');
  select s.* into v_step
  from steps s
  where s.id = find_step(p_workflow_id, p_step) and s.kind <> 'root' and s.status <> 'succeeded'
    and s.reason is distinct from 'skipped';
  if v_step.id is null then
    perform fail_not_resolvable();
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_now, p_tenant_id, actor(), 'STEP_RESOLVED', 'workflow', p_workflow_id::text,
    jsonb_build_object('step', v_step.path, 'status', p_status));
  v_again := reopen_steps(p_workflow_id, array[v_step.id], false, true, v_now);
  perform resume_workflow(p_workflow_id, v_now);
  perform drop_needs(array[v_step.id]);
  delete from dooms d where d.node_id = v_step.id;
  v_end := case p_status
    when 'succeeded' then row(v_step.id, 'succeeded', 'resolved', p_result, null, v_step.cost_cents)
    else row(v_step.id, 'canceled', 'skipped', null, null, v_step.cost_cents) end;
  perform leave_looks(advance(array[v_end], '{}', array_remove(v_again, v_step.id), v_now), v_now);
  return jsonb_build_object('id', p_workflow_id, 'step', v_step.path, 'status', p_status);
end $$;
