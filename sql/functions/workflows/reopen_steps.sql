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
set enable_sort = on as $$
declare
  v_again uuid[];
  v_around uuid[];
  v_waiting uuid[];
begin
  -- 1. What runs again, and what is around it -------------------------------------------------------------------------
  with recursive candidates as materialized (
    select s.id from steps s
    where s.workflow_id = p_workflow_id and s.status is not null
      and (p_downstream or (s.status = 'canceled' and s.reason in ('need_failed', 'skipped')))
  ), needs as materialized (
    select n.need_id, n.dependent_id from needs_of_steps(array(select c.id from candidates c)) n
  ), members(id, group_id) as (
    select s.id, s.group_id
    from (select i.id from unnest(p_seeds) i(id) union select n.dependent_id from needs n) f
    cross join lateral (select t.id, t.group_id from steps t where t.id = f.id limit 1) s
    union
    select s.id, s.group_id
    from members m
    cross join lateral (
      select t.id, t.group_id from steps t where t.id = m.group_id and t.kind <> 'root' limit 1) s
  ), links(from_id, to_id, again) as materialized (
    select n.need_id, n.dependent_id, true from needs n
    union all
    select m.id, m.group_id, false from members m where m.group_id is not null
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
    select distinct d.id
    from steps d
    cross join lateral jsonb_to_recordset(d.spec -> 'needs') x(step text)
    cross join lateral (
      select t.id from steps t where t.group_id = d.group_id and t.name = x.step limit 1) n
    where d.workflow_id = p_workflow_id and d.decided_at is null and d.spec ? 'needs'
      and n.id in (select unnest(v_again || v_around)));

  -- 2. Lock and reset -------------------------------------------------------------------------------------------------
  perform from steps s
  where s.id = any (v_again || v_around || v_waiting) and (s.status is not null or s.decided_at is null)
  order by s.id
  for update;
  -- A step whose job had children may still have edges to them. The end of such a child does not see, before the caller
  -- commits, that the step waits again; so a claim looks at it afterwards.
  perform leave_looks(array(
    select distinct e.dependent_id from edges e where e.dependent_id = any (v_again)), p_now);
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

-- Returns the needs of some steps as they were asked for. It reads no other steps.
create or replace function jobforge.needs_of_steps(p_step_ids uuid[])
returns table (dependent_id uuid, need_id uuid, policy "char")
language sql stable
set enable_hashjoin = off
set enable_mergejoin = off
set enable_seqscan = off as $$
  select d.id, n.id, jobforge.policy_letter(x.policy)
  from unnest(p_step_ids) i(id)
  cross join lateral (select s.* from jobforge.steps s where s.id = i.id limit 1) d
  cross join lateral jsonb_to_recordset(d.spec -> 'needs') x(step text, policy text)
  cross join lateral (
    select s.id from jobforge.steps s where s.group_id = d.group_id and s.name = x.step limit 1) n
  where d.spec ? 'needs'
$$;

-- Deletes the members of groups and maps that have ended, at every depth, with the children of their jobs. Workflows
-- that these have started stay. Children of a job that runs again stay: its handler goes on behind the waits that are
-- over.
create or replace function jobforge.delete_members(p_step_ids uuid[]) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  with recursive members(id) as (
    select s.id
    from steps g
    cross join lateral members_of(g.id) s
    where g.id = any (p_step_ids) and g.kind in ('map', 'group')
    union all
    select s.id from members m cross join lateral members_of(m.id) s where s.kind <> 'root'
  )
  delete from steps s where s.id in (select m.id from members m);
end $$;

-- Returns the members of a group, or of a map. One index has those with a name, another one those without. One at a
-- time: otherwise a plan that was made while there were few steps may read all of them.
create or replace function jobforge.members_of(p_group_id uuid) returns setof jobforge.steps
language sql stable as $$
  select s.* from jobforge.steps s where s.group_id = p_group_id and s.name is not null
  union all
  select s.* from jobforge.steps s where s.group_id = p_group_id and s.name is null
  offset 0
$$;

-- Writes the edges and dooms of steps that were opened again.
create or replace function jobforge.link_again(
  p_workflow_id uuid, p_again uuid[], p_around uuid[], p_waiting uuid[], p_now timestamptz
) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_hashjoin = on as $$
begin
  with needed as materialized (
    select n.dependent_id, n.need_id, n.policy, s.status, coalesce(s.reason = 'skipped', false) as skipped,
      n.dependent_id = any (p_again) as again, s.tenant_id
    from needs_of_steps(p_again || p_waiting) n
    cross join lateral (select t.* from steps t where t.id = n.need_id limit 1) s
    cross join lateral (select from steps t where t.id = n.dependent_id and t.decided_at is null limit 1) d
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
  select s.group_id, s.id, 'r'
  from steps s
  where s.id = any (p_again || p_around) and s.group_id is not null and s.kind <> 'root'
  on conflict do nothing;
  -- Members that ended badly and do not run again still fail their group.
  insert into dooms (node_id, need_id, skipped)
  select s.group_id, s.id, false
  from unnest(p_around) g(id)
  cross join lateral members_of(g.id) s
  where s.status <> 'succeeded' and s.reason is distinct from 'skipped' and not s.optional
    and not exists (select from dooms d where d.node_id = s.group_id and d.need_id = s.id);
end $$;

-- Makes a workflow that has failed run again. The caller has locked the root. A job that waited for it has ended too,
-- and waits for it again if it is retried. JF012 if another workflow has taken its dedupe key.
create or replace function jobforge.resume_workflow(p_workflow_id uuid, p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  update workflows w
  set status = 'running', reason = null, output = null, finished_at = null, cancel_at = null, cancel_by = null,
    cancel_reason = null, stop_reason = null, deadline = case when w.deadline > p_now then w.deadline end
  where w.id = p_workflow_id and (w.status <> 'running' or w.cancel_at is not null);
  if found then
    insert into edges (dependent_id, need_id, policy)
    select s.group_id, s.id, 'r' from steps s where s.id = p_workflow_id and s.group_id is not null
    on conflict do nothing;
  end if;
exception when unique_violation then
  perform fail('JF012', 'Workflow not found or cannot be retried', 'workflow_not_retryable', 'workflow_id',
    'Another workflow that runs has taken its dedupe key.');
end $$;

-- Returns whether a workflow may be retried: it has failed, or it runs and is not being stopped. One that has failed
-- may not while the job lives that waited for it, because its handler goes on with the failure.
create or replace function jobforge.is_retryable(p_workflow_id uuid) returns boolean
language sql stable as $$
  select exists (
    select from jobforge.workflows w
    where w.id = p_workflow_id and case w.status
        when 'failed' then not exists (select from jobforge.live_rows j where j.id = w.parent_id)
        when 'running' then w.cancel_at is null
        else false
      end)
$$;

-- Locks the root of a workflow that may be retried. Raises p_code otherwise, which is JF012 or JF015.
create or replace function jobforge.lock_retryable(p_workflow_id uuid, p_tenant_id uuid, p_code text) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_parent_id uuid;
begin
  perform from steps s
  where s.id = p_workflow_id and s.tenant_id = p_tenant_id and s.kind = 'root'
  for update;
  if not found or not is_retryable(p_workflow_id) then
    v_parent_id := (
      select w.parent_id
      from workflows w
      where w.id = p_workflow_id and w.tenant_id = p_tenant_id and w.status = 'failed');
    if p_code = 'JF015' then
      perform fail_not_resolvable();
    elsif v_parent_id is not null then
      perform fail('JF012', 'Workflow not found or cannot be retried', 'workflow_not_retryable', 'workflow_id',
        format('The job %s waited for it and goes on with its failure. Retry it when that job has ended.', v_parent_id));
    end if;
    perform fail_not_retryable();
  end if;
end $$;

-- Deletes the edges of steps to their needs, which the caller's transaction has made, so that they need not wait. Edges
-- to children stay: a settle may be deleting them, and must not wait for the caller.
create or replace function jobforge.drop_needs(p_step_ids uuid[]) returns void
language sql as $$
  delete from jobforge.edges e
  where e.dependent_id = any (p_step_ids)
    and not exists (select from jobforge.steps c where c.id = e.need_id and c.group_id = e.dependent_id)
$$;

-- Locks the roots of the workflows that a return of these jobs to the queue opens again, in id order and before the
-- jobs, as every call that changes a graph does. Those of other tenants are not touched; null: of all tenants.
create or replace function jobforge.lock_roots(p_job_ids uuid[], p_tenant_id uuid) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform from steps r
  where r.id = any (array(
    select s.workflow_id
    from unnest(p_job_ids) i(id)
    cross join lateral (
      select q.step_id from queue q where q.id = i.id and q.step_id is not null
      union all
      select a.step_id
      from archive a
      where a.id = i.id and a.step_id is not null and a.finished_at >= earliest_finish(i.id)
    ) j
    join steps s on s.id = j.step_id
    where (s.status is not null or s.job_id <> i.id) and (p_tenant_id is null or s.tenant_id = p_tenant_id)))
  order by r.id
  for update;
end $$;
