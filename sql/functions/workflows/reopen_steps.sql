-- Opens steps that have ended, so that they run again: the seeds, the steps that were canceled or skipped because of
-- them, and every group around them. With p_downstream also what ran after them. Their edges are made again from
-- spec.needs. A sub-workflow or map that runs again as a whole loses its members, unless p_keep_members. Returns the
-- steps to run again, which the caller decides or ends. The caller has locked the root. Waits for transactions that
-- hold one of the steps, never for a running step, so no settle waits for the caller.
create or replace function jobforge.reopen_steps(
  p_workflow_id uuid, p_seeds uuid[], p_downstream boolean, p_keep_members boolean, p_now timestamptz
) returns uuid[]
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_hashjoin = on
set enable_nestloop = on
set enable_seqscan = on
set enable_sort = on as $$
declare
  v_again uuid[];
  v_around uuid[];
  v_waiting uuid[];
begin
  -- 1. What runs again, and what is around it -------------------------------------------------------------------------
  with recursive links(from_id, to_id, again) as materialized (
    select n.need_id, n.dependent_id, true
    from needs_in(p_workflow_id) n
    join steps d on d.id = n.dependent_id
    where d.status is not null
      and (p_downstream or (d.status = 'canceled' and d.reason in ('need_failed', 'skipped')))
    union all
    select s.id, s.group_id, false from steps s where s.workflow_id = p_workflow_id and s.group_id is not null
  ), reached(id, again) as (
    select i, true from unnest(p_seeds) i
    union
    select l.to_id, l.again from reached r join links l on l.from_id = r.id
  ), chosen as (
    select r.id, bool_or(r.again) as again from reached r group by r.id
  )
  select coalesce(array_agg(c.id) filter (where c.again), '{}'),
    coalesce(array_agg(c.id) filter (where not c.again), '{}')
  into v_again, v_around
  from chosen c;
  if not p_keep_members then
    perform delete_members(v_again);
    v_again := array(select s.id from steps s where s.id = any (v_again) order by s.id);
    v_around := array(select s.id from steps s where s.id = any (v_around) order by s.id);
  end if;
  v_waiting := array(
    select distinct n.dependent_id
    from needs_in(p_workflow_id) n
    join steps d on d.id = n.dependent_id
    where n.need_id = any (v_again || v_around) and d.decided_at is null);

  -- 2. Lock and reset -------------------------------------------------------------------------------------------------
  perform from steps s
  where s.id = any (v_again || v_around || v_waiting) and (s.status is not null or s.decided_at is null)
  order by s.id
  for update;
  delete from dooms d where d.need_id = any (v_again || v_around);
  delete from dooms d where d.node_id = any (v_again);
  update steps s
  set status = null, reason = null, ended_at = null, result = null, error = null, decided_at = null, opened_at = null,
    input = null
  where s.id = any (v_again);
  update steps s
  set status = null, reason = null, ended_at = null, result = null, error = null, decided_at = null
  where s.id = any (v_around) and s.status is not null;
  perform link_again(p_workflow_id, v_again, v_around, v_waiting, p_now);
  return v_again;
end $$;

-- Returns the needs of a workflow's steps as they were asked for.
create or replace function jobforge.needs_in(p_workflow_id uuid)
returns table (dependent_id uuid, need_id uuid, policy "char")
language sql stable
set enable_hashjoin = on
set enable_seqscan = on as $$
  select d.id, n.id, jobforge.policy_letter(x.policy)
  from jobforge.steps d
  cross join lateral jsonb_to_recordset(d.spec -> 'needs') x(step text, policy text)
  join jobforge.steps n on n.workflow_id = p_workflow_id and n.group_id = d.group_id and n.name = x.step
  where d.workflow_id = p_workflow_id and d.spec ? 'needs'
$$;

-- Deletes the members of groups and maps that have ended, at every depth.
create or replace function jobforge.delete_members(p_step_ids uuid[]) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  with recursive members(id) as (
    select s.id from steps s where s.group_id = any (p_step_ids)
    union all
    select s.id from members m join steps s on s.group_id = m.id
  )
  delete from steps s where s.id in (select m.id from members m);
end $$;

-- Writes the edges and dooms of steps that were opened again.
create or replace function jobforge.link_again(
  p_workflow_id uuid, p_again uuid[], p_around uuid[], p_waiting uuid[], p_now timestamptz
) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_hashjoin = on
set enable_seqscan = on as $$
begin
  with needed as materialized (
    select n.dependent_id, n.need_id, n.policy, s.status, coalesce(s.reason = 'skipped', false) as skipped,
      n.dependent_id = any (p_again) as again, s.tenant_id
    from needs_in(p_workflow_id) n
    join steps s on s.id = n.need_id
    join steps d on d.id = n.dependent_id and d.decided_at is null
    where n.dependent_id = any (p_again || p_waiting)
  ), linked as (
    insert into edges (dependent_id, need_id, policy)
    select n.dependent_id, n.need_id, n.policy
    from needed n
    where n.status is null or (n.again and n.policy = 'w' and n.status <> 'succeeded' and not n.skipped)
    on conflict do nothing
  ), doomed as (
    insert into dooms (node_id, need_id, skipped)
    select n.dependent_id, n.need_id, n.skipped or n.policy = 'f'
    from needed n
    where n.again
      and ((n.policy = 'c' and n.status <> 'succeeded') or (n.policy = 'w' and n.skipped)
        or (n.policy = 'f' and (n.status = 'succeeded' or n.skipped)))
  )
  -- A need that runs may end at this moment, and its settle may not see the new edge.
  insert into wakeups (tenant_id, node_id, what, due_at)
  select distinct n.tenant_id, n.need_id, 'rest', p_now
  from needed n
  where n.status is null and n.need_id <> all (p_again || p_around);

  insert into edges (dependent_id, need_id, policy)
  select s.group_id, s.id, 'r' from steps s where s.id = any (p_again || p_around) and s.group_id is not null
  on conflict do nothing;
  -- Members that ended badly and do not run again still fail their group.
  insert into dooms (node_id, need_id, skipped)
  select s.group_id, s.id, false
  from steps s
  where s.group_id = any (p_around) and s.status <> 'succeeded' and s.reason is distinct from 'skipped'
    and not s.optional
    and not exists (select from dooms d where d.node_id = s.group_id and d.need_id = s.id);
end $$;

-- Makes a workflow that has failed run again. The caller has locked the root. JF012 if another workflow has taken its
-- dedupe key.
create or replace function jobforge.resume_workflow(p_workflow_id uuid, p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  update workflows w
  set status = 'running', reason = null, output = null, finished_at = null, cancel_at = null, cancel_by = null,
    cancel_reason = null, stop_reason = null, deadline = case when w.deadline > p_now then w.deadline end
  where w.id = p_workflow_id and (w.status <> 'running' or w.cancel_at is not null);
exception when unique_violation then
  perform fail('JF012', 'Workflow not found or cannot be retried', 'workflow_not_retryable', 'workflow_id',
    'Another workflow that runs has taken its dedupe key.');
end $$;

-- Locks the root of a workflow that may be retried: one that has failed, or that runs and is not being stopped. Raises
-- p_code otherwise, which is JF012 or JF015.
create or replace function jobforge.lock_retryable(p_workflow_id uuid, p_tenant_id uuid, p_code text) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  perform from steps s
  where s.id = p_workflow_id and s.tenant_id = p_tenant_id and s.kind = 'root'
  for update;
  if not found or not exists (
    select from workflows w
    where w.id = p_workflow_id and (w.status = 'failed' or (w.status = 'running' and w.cancel_at is null)))
  then
    if p_code = 'JF015' then
      perform fail_not_resolvable();
    end if;
    perform fail_not_retryable();
  end if;
end $$;
