-- Runs again what ended badly in a workflow that has failed, or that still runs, and what was canceled because of it.
-- Nothing that succeeded runs again. A failed or dead job returns to the queue with a fresh budget; a step whose needs
-- run again waits for them. Returns {id, retried, blocked}: steps that have started, and steps that wait.
--   p_steps      paths of the steps to run again, such as send or each[17]; null: all that ended badly
--   p_downstream also run again what ran after them
--   p_reset      their handlers begin anew: checkpoints and ended children are deleted, and signals may be taken again
-- Who: the tenant itself, operators. JF012 if there is no such workflow, if it succeeded, was canceled, or has nothing
-- to retry; JF002 for a path that leads nowhere. Waits for other calls that change the graph of this workflow.
create or replace function :"api_schema".jobforge_retry_workflow(
  p_workflow_id uuid,
  p_tenant_id uuid,
  p_steps text[] default null,
  p_downstream boolean default false,
  p_reset boolean default false
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_done record;
begin
  perform require_tenant(p_tenant_id);
  perform lock_retryable(p_workflow_id, p_tenant_id, 'JF012');
  v_done := retry_locked(p_workflow_id, p_tenant_id, p_steps, coalesce(p_downstream, false), coalesce(p_reset, false),
    v_now);
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_now, p_tenant_id, actor(), 'WORKFLOW_RETRIED', 'workflow', p_workflow_id::text,
    jsonb_strip_nulls(jsonb_build_object('steps', to_jsonb(p_steps[:100]), 'downstream', p_downstream,
      'reset', case when p_reset then true end)));
  return jsonb_build_object('id', p_workflow_id, 'retried', v_done.retried, 'blocked', v_done.blocked);
end $$;

-- Retries a workflow that may be retried and whose root the caller has locked. Returns how many steps have started, and
-- how many wait. JF012 if there is nothing to retry.
create or replace function jobforge.retry_locked(
  p_workflow_id uuid, p_tenant_id uuid, p_steps text[], p_downstream boolean, p_reset boolean, p_now timestamptz,
  out retried bigint, out blocked bigint
)
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_again uuid[];
begin
  v_again := retry_seeds(p_workflow_id, p_steps);
  if v_again = '{}' then
    perform fail_not_retryable();
  end if;
  v_again := reopen_steps(p_workflow_id, v_again, p_downstream, false, p_now);
  if p_reset then
    perform reset_jobs(array(select s.job_id from steps s where s.id = any (v_again) and s.job_id is not null));
  end if;
  perform resume_workflow(p_workflow_id, p_now);
  perform leave_looks(advance('{}', '{}', without_revived(v_again, p_tenant_id, p_now), p_now), p_now);
  blocked := (
    select count(*) from steps s where s.id = any (v_again) and s.decided_at is null and s.opened_at is null);
  retried := cardinality(v_again) - blocked;
end $$;

-- Makes the handlers of jobs that do not run begin anew: deletes their checkpoints and the children of their waits, and
-- returns their signals to the mailbox. Children that are workflows stay, on their own. A wait of which a child has not
-- ended keeps its children.
create or replace function jobforge.reset_jobs(p_job_ids uuid[]) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  delete from checkpoints c where c.job_id = any (p_job_ids);
  update signals g set taken_by = null, taken_as = null
  where g.target_id = any (p_job_ids) and g.taken_by = g.target_id;
  with children as materialized (
    select c.id, c.group_id, c.kind, c.spec ->> 'wait' as wait, c.status is null as open
    from unnest(p_job_ids) i(id)
    cross join lateral (
      select coalesce(
        (select q.step_id from queue q where q.id = i.id),
        (select a.step_id from archive a where a.id = i.id and a.finished_at >= earliest_finish(i.id)),
        i.id) as id
    ) n
    cross join lateral members_of(n.id) c
    where c.name is not null and c.spec ? 'wait' and coalesce((c.spec ->> 'job')::uuid, n.id) = i.id
  ), over as materialized (
    select c.id, c.kind
    from children c
    where not exists (select from children o where o.group_id = c.group_id and o.wait = c.wait and o.open)
  ), left_alone as (
    update steps s
    set group_id = null, name = null
    where s.id in (select o.id from over o where o.kind = 'root')
  )
  delete from steps s where s.id in (select o.id from over o where o.kind <> 'root');
end $$;

-- Returns the steps that a retry begins with.
create or replace function jobforge.retry_seeds(p_workflow_id uuid, p_steps text[]) returns uuid[]
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_named uuid[] := '{}';
  v_step steps;
begin
  if p_steps is null then
    return bad_steps(p_workflow_id, null);
  end if;
  for v_index in 1 .. cardinality(p_steps) loop
    select s.* into v_step from steps s where s.id = find_step(p_workflow_id, p_steps[v_index]) and s.kind <> 'root';
    if v_step.id is null then
      perform fail_argument(format('steps[%s]', v_index - 1), format('the workflow has no step %s', p_steps[v_index]));
    elsif v_step.status is null then
      perform fail_not_retryable();
    elsif v_step.opened_at is not null and v_step.kind in ('map', 'group') and v_step.status <> 'succeeded' then
      v_named := v_named || bad_steps(p_workflow_id, v_step.path);
    else
      v_named := v_named || v_step.id;
    end if;
  end loop;
  return v_named;
end $$;

-- Returns the steps of a workflow that ended badly by themselves: in all of it, or in the group with a path.
create or replace function jobforge.bad_steps(p_workflow_id uuid, p_path text) returns uuid[]
language sql stable as $$
  select array(
    select s.id
    from jobforge.steps s
    where s.workflow_id = p_workflow_id and s.kind <> 'root' and s.status <> 'succeeded'
      and coalesce(s.reason, '') not in ('skipped', 'need_failed')
      and (s.kind in ('job', 'signal') or s.opened_at is null)
      and (p_path is null or starts_with(s.path, p_path || '/') or starts_with(s.path, p_path || '[')))
$$;

-- Returns steps that run again to those that are decided: jobs in the archive that failed return to the queue, with
-- their history, if their steps wait for nothing. Returns the other steps.
create or replace function jobforge.without_revived(p_step_ids uuid[], p_tenant_id uuid, p_now timestamptz)
returns uuid[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_jobs uuid[] := array(
    select s.job_id
    from steps s
    where s.id = any (p_step_ids) and s.kind = 'job' and s.job_id is not null
      and not exists (select from edges e where e.dependent_id = s.id)
      and not exists (select from dooms d where d.node_id = s.id)
    order by s.job_id);
  v_revived uuid[];
begin
  v_revived := array(select r.id from revive(v_jobs, p_tenant_id, p_now, null, p_now) r);
  perform wake(t.type, p_now, p_now, array[p_tenant_id])
  from (select distinct q.type from queue q where q.id = any (v_revived)) t;
  update steps s set decided_at = p_now where s.id = any (p_step_ids) and s.job_id = any (v_revived);
  return array(select s.id from steps s where s.id = any (p_step_ids) and s.decided_at is null);
end $$;

-- Opens the steps of jobs that a caller has returned to the queue, and what was canceled because of them. In a workflow
-- that cannot be retried, or if the step has had another job since, the job runs by itself.
create or replace function jobforge.reopen_for_jobs(p_job_ids uuid[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_workflow_id uuid;
  v_steps uuid[];
  v_again uuid[];
begin
  for v_workflow_id in
    select distinct s.workflow_id
    from queue q
    join steps s on s.id = q.step_id
    where q.id = any (p_job_ids) and (s.status is not null or s.job_id <> q.id)
    order by s.workflow_id
  loop
    perform from steps s where s.id = v_workflow_id for update;
    v_steps := array(
      select s.id
      from steps s
      where s.workflow_id = v_workflow_id and s.job_id = any (p_job_ids) and s.status is not null
        and is_retryable(v_workflow_id));
    if cardinality(v_steps) > 0 then
      v_again := reopen_steps(v_workflow_id, v_steps, false, false, p_now);
      perform resume_workflow(v_workflow_id, p_now);
      update steps s set decided_at = p_now where s.id = any (v_steps);
      -- The job runs, whatever its needs are.
      perform drop_needs(v_steps);
      delete from dooms d where d.node_id = any (v_steps);
      perform leave_looks(advance('{}', '{}',
        array(select i from unnest(v_again) i where i <> all (v_steps)), p_now), p_now);
    end if;
    update queue q
    set step_id = null
    where q.id = any (p_job_ids)
      and q.step_id in (
        select s.id from steps s
        where s.workflow_id = v_workflow_id and (s.status is not null or s.job_id <> q.id));
  end loop;
end $$;
