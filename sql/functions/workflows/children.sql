-- Children of suspended runs: the jobs and workflows that a handler waits for. See suspend.sql. They are steps: those
-- of a wait have the node of the job as their group, and names such as all[17].

-- Returns whether a child of a wait is a workflow.
create or replace function jobforge.is_child_workflow(p_child jsonb) returns boolean
language sql immutable parallel safe as $$
  select jsonb_typeof(p_child) = 'object' and p_child ? 'workflow'
$$;

-- Returns whether a run waits for a workflow.
create or replace function jobforge.waits_for_workflows(p_wait jsonb) returns boolean
language sql immutable parallel safe as $$
  select jsonb_path_exists(p_wait, 'lax $.children[*].workflow')
$$;

-- Returns the children of a wait that are jobs, with their places among all children. Raises JF002 or JF008 for one.
create or replace function jobforge.child_jobs(p_children jsonb, p_now timestamptz) returns jobforge.new_job[]
language plpgsql as $$
begin
  if not jsonb_path_exists(p_children, 'lax $[*].workflow') then
    return jobforge.read_children(p_children, p_now);
  end if;
  -- A job that is not enqueued keeps the place of a workflow.
  return (
    select array_agg(j order by j.ord)
    from unnest(jobforge.read_children((
      select jsonb_agg(case when jobforge.is_child_workflow(c.child) then '{"type": "workflow"}' else c.child end order by c.ord)
      from jsonb_array_elements(p_children) with ordinality c(child, ord)), p_now)) j
    where not jobforge.is_child_workflow(p_children -> (j.ord - 1)));
end $$;

-- Returns the name of a wait among the children of a node. A step that has had another job before has the children of
-- that one as well; those of the new one name it.
create or replace function jobforge.wait_name(p_wait text, p_job_id uuid, p_node_id uuid) returns text
language sql immutable parallel safe as $$
  select p_wait || case when p_job_id <> p_node_id then '@' || p_job_id else '' end
$$;

-- Returns what the step of a child knows of the wait: its name, the job of its parent if that is not the first one of
-- its step, and whether the child is left alone when its parent ends badly.
create or replace function jobforge.child_spec(p_wait jsonb, p_job_id uuid, p_node_id uuid) returns jsonb
language sql immutable parallel safe as $$
  select jsonb_strip_nulls(jsonb_build_object('wait', p_wait ->> 'name',
    'job', case when p_job_id <> p_node_id then p_job_id end,
    'abandon', case when p_wait -> 'abandon' = 'true' then true end))
$$;

-- Starts the workflows that a job is about to wait for, once: a wait that has them already starts none. The root of
-- each is a child of the job's node, with an edge if it has not ended at once. Raises like a start of a workflow.
create or replace function jobforge.start_child_workflows(
  p_job_id uuid, p_node_id uuid, p_tenant_id uuid, p_wait jsonb, p_now timestamptz
) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_name text := wait_name(p_wait ->> 'name', p_job_id, p_node_id);
  v_places integer[] := array(
    select (c.ord - 1)::integer
    from jsonb_array_elements(p_wait -> 'children') with ordinality c(child, ord)
    where is_child_workflow(c.child)
    order by c.ord);
  v_started jsonb;
begin
  if exists (select from steps s where s.group_id = p_node_id and s.name = format('%s[%s]', v_name, v_places[1])) then
    return;
  end if;
  v_started := start_all(p_tenant_id, (
    select jsonb_agg(jsonb_strip_nulls(jsonb_build_object('name', c.child -> 'workflow'))
      || (c.child - 'workflow') order by p.nth)
    from unnest(v_places) with ordinality p(place, nth)
    cross join lateral (select p_wait -> 'children' -> p.place as child) c), p_now, true);
  update steps s
  set group_id = p_node_id, name = format('%s[%s]', v_name, r.place), ord = r.place, optional = true,
    spec = s.spec || child_spec(p_wait, p_job_id, p_node_id)
  from (
    select (v_started -> (p.nth::integer - 1) ->> 'id')::uuid as id, p.place
    from unnest(v_places) with ordinality p(place, nth)
  ) r
  where s.id = r.id;
  update workflows w
  set parent_id = p_job_id
  where w.id = any (array(select (r ->> 'id')::uuid from jsonb_array_elements(v_started) r));
  insert into edges (dependent_id, need_id, policy)
  select p_node_id, s.id, 'r'
  from steps s
  where s.id = any (array(select (r ->> 'id')::uuid from jsonb_array_elements(v_started) r)) and s.status is null;
end $$;

-- Starts the jobs that a job waits for, once: a wait that has children already starts none.
create or replace function jobforge.start_children(
  p_job_id uuid, p_node_id uuid, p_tenant_id uuid, p_wait jsonb, p_jobs jobforge.new_job[], p_now timestamptz
) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_root uuid := coalesce((select s.workflow_id from steps s where s.id = p_node_id), p_node_id);
  v_path text := coalesce((select s.path || '/' from steps s where s.id = p_node_id), '') || (p_wait ->> 'name');
  v_name text := wait_name(p_wait ->> 'name', p_job_id, p_node_id);
  v_spec jsonb := child_spec(p_wait, p_job_id, p_node_id);
  v_children uuid[];
begin
  if p_jobs is null or exists (
    select from steps s where s.group_id = p_node_id and s.name = format('%s[%s]', v_name, (p_jobs[1]).ord - 1))
  then
    return;
  end if;
  with children as (
    insert into steps (
      id, workflow_id, group_id, tenant_id, kind, name, path, ord, type, payload, rank, max_attempts, subject, tags,
      concurrency_key, spec, optional)
    select
      new_id(), v_root, p_node_id, p_tenant_id, 'job', format('%s[%s]', v_name, c.ord - 1),
      format('%s[%s]', v_path, c.ord - 1), c.ord - 1, c.type, c.payload, -c.priority, c.max_attempts, c.subject, c.tags,
      c.concurrency_key,
      v_spec || jsonb_strip_nulls(jsonb_build_object('run_at', c.run_at, 'expires_at', c.expires_at)), true
    from unnest(p_jobs) c
    order by c.ord
    returning id, ord
  ), linked as (
    insert into edges (dependent_id, need_id, policy) select p_node_id, c.id, 'r' from children c
  )
  select array_agg(c.id order by c.ord) into v_children from children c;
  perform leave_looks(advance(start_jobs(v_children, p_now), '{}', '{}', p_now), p_now);
end $$;

-- Cancels the children of jobs that ended badly or were canceled: queued ones at once, running ones on request. The
-- next claim cancels those that are workflows. Children of a wait with abandon are left alone.
create or replace function jobforge.cancel_children(p_nodes uuid[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  -- One index has the members with a name, another one the members without.
  v_jobs uuid[] := array(
    select s.job_id
    from steps s
    where s.group_id = any (p_nodes) and s.name is not null and s.kind = 'job' and s.status is null
      and s.job_id is not null and not coalesce(s.spec ? 'abandon', false)
    union all
    select s.job_id
    from steps s
    where s.group_id = any (p_nodes) and s.name is null and s.kind = 'job' and s.status is null
      and s.job_id is not null);
  v_stopped integer;
begin
  insert into wakeups (tenant_id, node_id, what, data, due_at)
  select s.tenant_id, s.id, 'stop', '"canceled"', p_now
  from steps s
  where s.group_id = any (p_nodes) and s.name is not null and s.kind = 'root' and s.status is null
    and not coalesce(s.spec ? 'abandon', false);
  get diagnostics v_stopped = row_count;
  if v_stopped > 0 then
    perform wake_all(p_now);
  end if;
  if cardinality(v_jobs) = 0 then
    return;
  end if;
  perform request_cancels(v_jobs, p_now);
  perform finish_queued(array(
    select q.id from queue q where q.id = any (v_jobs) order by q.id for update skip locked), 'canceled', p_now);
end $$;
