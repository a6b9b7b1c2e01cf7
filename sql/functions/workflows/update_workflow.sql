-- Changes a workflow that runs; only the given keys. Returns the columns of jobforge_workflows.
--   p_changes {deadline, priority, tags}. A deadline of null removes it. Priority and tags are those of the steps that
--             have none of their own and whose jobs do not run yet; up to 1,000 queued jobs get the new priority
-- Who: the tenant itself, operators. JF011 if there is no such workflow, or if it has ended or was canceled; JF002 for
-- a change. Waits for transactions that hold the root of the workflow.
create or replace function :"api_schema".jobforge_update_workflow(
  p_workflow_id uuid, p_tenant_id uuid, p_changes jsonb
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_workflow workflows;
begin
  perform require_tenant(p_tenant_id);
  perform require_changes(p_changes, v_now);
  perform from steps s
  where s.id = p_workflow_id and s.tenant_id = p_tenant_id and s.kind = 'root' and s.decided_at is null
  for update;
  if not found or exists (select from workflows w where w.id = p_workflow_id and w.cancel_at is not null) then
    perform fail_workflow_ended();
  end if;
  update workflows w
  set deadline = case when p_changes ? 'deadline' then (p_changes ->> 'deadline')::timestamptz else w.deadline end,
    rank = coalesce(-(p_changes ->> 'priority')::integer, w.rank),
    tags = case when jsonb_typeof(p_changes -> 'tags') = 'array'
      then array(select jsonb_array_elements_text(p_changes -> 'tags')) else w.tags end
  where w.id = p_workflow_id
  returning * into v_workflow;
  if v_workflow.deadline is not null and p_changes ? 'deadline' then
    insert into wakeups (tenant_id, node_id, what, due_at)
    values (p_tenant_id, p_workflow_id, 'deadline', v_workflow.deadline);
  end if;
  if p_changes ->> 'priority' is not null then
    perform rank_queued_steps(v_workflow, v_now);
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_now, p_tenant_id, actor(), 'WORKFLOW_UPDATED', 'workflow', p_workflow_id::text,
    jsonb_build_object('changes', p_changes));
  return (select to_jsonb(w) from all_workflows w where w.id = p_workflow_id);
end $$;

-- Raises JF002 unless a value is an object of changes of a workflow.
create or replace function jobforge.require_changes(p_changes jsonb, p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_problem text[];
begin
  if jsonb_typeof(p_changes) is distinct from 'object' or p_changes = '{}'
    or p_changes - array['deadline', 'priority', 'tags'] <> '{}'
  then
    perform fail_argument('changes', 'changes must be an object of deadline, priority and tags');
  end if;
  perform require_printable(p_changes, 'changes');
  if key_of_wrong_kind(p_changes) is not null then
    perform fail_argument('changes.' || key_of_wrong_kind(p_changes),
      format('%s must %s', key_of_wrong_kind(p_changes), kind_of_key(key_of_wrong_kind(p_changes))));
  end if;
  v_problem := problem_with_options(p_changes, p_now);
  if v_problem is not null then
    perform fail_argument('changes.' || v_problem[1], v_problem[2]);
  end if;
exception when data_exception then
  perform fail_argument('changes', 'changes: ' || sqlerrm);
end $$;

-- Gives queued jobs of a workflow its priority, if their steps have none of their own. Skips jobs that another
-- transaction has locked.
create or replace function jobforge.rank_queued_steps(p_workflow jobforge.workflows, p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_jobs uuid[] := lock_queued_jobs(array(
    select q.id
    from steps s
    join queue q on q.id = s.job_id
    where s.workflow_id = p_workflow.id and s.kind = 'job' and s.rank is null and s.status is null
      and s.decided_at is not null
    order by s.workflow_id, s.id
    limit 1000));
begin
  update queue q
  set rank = rank_for(q.type, -p_workflow.rank), updated_at = p_now
  where q.id = any (v_jobs);
  perform wake(t.type, p_now, p_now, array[p_workflow.tenant_id])
  from (select distinct q.type from queue q where q.id = any (v_jobs)) t;
end $$;
