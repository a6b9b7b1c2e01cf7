-- Stops a workflow whose root the caller has locked: from now on nothing starts but cleanup steps. Queued jobs are
-- canceled, up to 1,000; running ones are asked to end; steps that wait for a signal end. Whatever becomes free
-- afterwards is canceled, so the graph drains by itself. Wakeups do the rest, and look a few times for jobs that
-- transactions in flight started meanwhile. Returns how many queued jobs it canceled, and how many running jobs it
-- asked to end.
--   p_why canceled, failed or deadline
create or replace function jobforge.stop_workflow(
  p_workflow_id uuid, p_why text, p_by text, p_reason text, p_now timestamptz, out canceled integer, out requested integer
)
language plpgsql
set search_path = jobforge, pg_temp
-- Rows are found one by one, whatever the tables looked like when the plan was made.
set enable_hashjoin = off
set enable_mergejoin = off
set enable_nestloop = on as $$
declare
  v_jobs uuid[];
  v_signals uuid[];
  v_waiting uuid[];
  v_tenant_id uuid;
begin
  update workflows w
  set cancel_at = p_now, cancel_by = p_by, cancel_reason = p_reason, stop_reason = p_why
  where w.id = p_workflow_id and w.status = 'running' and w.cancel_at is null;
  v_tenant_id := (select w.tenant_id from workflows w where w.id = p_workflow_id);
  v_jobs := array(
    select s.job_id
    from steps s
    where s.workflow_id = p_workflow_id and s.kind = 'job' and s.decided_at is not null and s.status is null
      and not s.cleanup and not coalesce(s.spec ? 'abandon', false));
  requested := request_cancels(v_jobs, p_now);
  canceled := finish_queued(array(
    select j.id
    from queue j
    where j.id = any (v_jobs)
    order by j.id
    limit 1000
    for update skip locked), 'canceled', p_now);
  -- What waits for a repair waits no longer, and does not run, not even as a cleanup: its need ended badly.
  with gone as (
    delete from edges e
    using steps d, steps n
    where d.workflow_id = p_workflow_id and d.decided_at is null and e.dependent_id = d.id and e.policy = 'w'
      and n.id = e.need_id and n.status is not null
    returning e.dependent_id, e.need_id
  ), doomed as (
    insert into dooms (node_id, need_id, skipped) select g.dependent_id, g.need_id, false from gone g
  )
  select coalesce(array_agg(g.dependent_id), '{}') into v_waiting from gone g;
  v_signals := array(
    select s.id
    from steps s
    where s.workflow_id = p_workflow_id and s.kind = 'signal' and s.opened_at is not null and s.decided_at is null
      and not s.cleanup
    order by s.id
    for update skip locked);
  perform leave_looks(advance(
    array(select row(i, 'canceled', 'canceled', null, null, null)::step_end from unnest(v_signals) i), '{}',
    v_waiting, p_now), p_now);
  -- What is held until later need not wait.
  update wakeups w
  set due_at = p_now
  where w.id = any (array(
    select f.id
    from wakeups f
    join steps s on s.id = f.node_id
    where f.tenant_id = v_tenant_id and f.what = 'begin' and f.due_at > p_now and s.workflow_id = p_workflow_id
    for update of f skip locked));
end $$;

-- Stops a workflow, or looks again for jobs to cancel in one that was stopped. Returns false if it must be done again:
-- another transaction holds the root, or the workflow has not ended yet. It gives up after thirty rounds that found
-- no job to cancel.
create or replace function jobforge.stop_later(p_wakeup jobforge.wakeups, p_why text, p_now timestamptz) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_workflow workflows;
  v_canceled integer;
begin
  perform from steps s where s.id = p_wakeup.node_id and s.decided_at is null for update skip locked;
  if not found then
    return not exists (select from steps s where s.id = p_wakeup.node_id and s.decided_at is null);
  end if;
  select w.* into v_workflow from workflows w where w.id = p_wakeup.node_id;
  if p_why = 'deadline' and v_workflow.cancel_at is null and coalesce(v_workflow.deadline, 'infinity') > p_now then
    return true;
  end if;
  v_canceled := (stop_workflow(p_wakeup.node_id, p_why, 'jobforge', null, p_now)).canceled;
  if v_canceled > 0 then
    -- A round cancels up to 1,000 jobs, and a workflow may have a hundred times as many.
    update wakeups w set tries = 0 where w.id = p_wakeup.id;
    return false;
  end if;
  return p_wakeup.tries >= 30
    or exists (select from workflows w where w.id = p_wakeup.node_id and w.status <> 'running');
end $$;

-- Cancels a step that waits for its needs. It ends when these have ended, so nothing above it still runs then. Returns
-- false if there is no such step. Waits for a transaction that decides the step, or that changes the graph.
create or replace function jobforge.cancel_blocked(p_step_id uuid, p_tenant_id uuid) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  perform from steps s
  where s.id = p_step_id and s.tenant_id = p_tenant_id and s.kind <> 'root' and s.decided_at is null
    and s.opened_at is null
  for update;
  if not found then
    return false;
  end if;
  insert into dooms (node_id, need_id, skipped)
  select p_step_id, p_step_id, false
  where not exists (select from dooms d where d.node_id = p_step_id and d.need_id = p_step_id);
  return true;
end $$;
