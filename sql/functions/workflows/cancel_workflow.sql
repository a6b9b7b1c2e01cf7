-- Cancels a workflow: queued steps are canceled, running ones are asked to end, and nothing starts any more but
-- cleanup steps. It ends as canceled when the last of them has ended. Repeating the call until then is not an error.
-- Returns {id, status, canceled, requested}: how many queued jobs were canceled at once, and how many running ones
-- were asked.
-- Who: the tenant itself, operators. JF011 if there is no such workflow or it has ended. Waits for transactions that
-- hold the root of the workflow.
create or replace function :"api_schema".jobforge_cancel_workflow(
  p_workflow_id uuid, p_tenant_id uuid, p_reason text default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_done record;
begin
  perform require_tenant(p_tenant_id);
  if length(p_reason) > 1000 then
    perform fail_argument('reason', 'reason is longer than 1000 characters');
  end if;
  perform from steps s
  where s.id = p_workflow_id and s.tenant_id = p_tenant_id and s.kind = 'root' and s.decided_at is null
  for update;
  if not found then
    perform fail_workflow_ended();
  end if;
  v_done := cancel_locked(p_workflow_id, p_tenant_id, p_reason, v_now);
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message)
  values (v_now, p_tenant_id, actor(), 'WORKFLOW_CANCELED', 'workflow', p_workflow_id::text, p_reason);
  return jsonb_build_object(
    'id', p_workflow_id, 'status', (select w.status from workflows w where w.id = p_workflow_id),
    'canceled', v_done.canceled, 'requested', v_done.requested);
end $$;

-- Cancels a workflow whose root the caller has locked. Returns how many queued jobs were canceled at once, and how many
-- running ones were asked.
create or replace function jobforge.cancel_locked(
  p_workflow_id uuid, p_tenant_id uuid, p_reason text, p_now timestamptz, out canceled integer, out requested integer
)
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  select d.canceled, d.requested into canceled, requested
  from stop_workflow(p_workflow_id, 'canceled', actor(), p_reason, p_now) d;
  -- Looks again for jobs that transactions in flight start meanwhile, and for those beyond the first 1,000.
  insert into wakeups (tenant_id, node_id, what, data, due_at)
  values (p_tenant_id, p_workflow_id, 'stop', '"canceled"', p_now);
end $$;
