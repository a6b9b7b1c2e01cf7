-- Inserts steps into a group, with an edge for each need that has not ended, and one from the group to each step that
-- no other step of the call needs: nothing above such a step can still run when it ends. Returns the steps that have no
-- open need, which the caller starts. The caller has locked the group, or has just made it.
--   p_path the path of the group
--   p_hold when to begin with steps that have no needs and are no jobs; null: at once
create or replace function jobforge.insert_steps(
  p_workflow_id uuid, p_group_id uuid, p_tenant_id uuid, p_path text, p_steps jobforge.new_step[], p_now timestamptz,
  p_hold timestamptz default null
) returns uuid[]
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_hashjoin = on
set enable_nestloop = on
set enable_sort = on as $$
declare
  -- Looked up in JSON: the planner may turn a join, or NOT IN, of lists of unknown length into a loop in a loop.
  v_ids jsonb := (select jsonb_object_agg(s.name, s.id) from unnest(p_steps) s);
  v_needed jsonb := needed_names(p_steps);
begin
  perform insert_step_rows(p_workflow_id, p_group_id, p_tenant_id, p_path, p_steps);

  insert into edges (dependent_id, need_id, policy)
  select s.id, (v_ids ->> n.step)::uuid, policy_letter(n.policy)
  from unnest(p_steps) s
  cross join lateral jsonb_to_recordset(s.needs) n(step text, policy text)
  where s.needs is not null and v_ids ? n.step;

  -- The group waits for the steps that no other step waits for.
  insert into edges (dependent_id, need_id, policy)
  select p_group_id, s.id, 'r'
  from unnest(p_steps) s
  where not v_needed ? s.name;

  if p_hold > p_now then
    -- An edge to itself keeps a node closed until its wakeup.
    with held as (
      insert into edges (dependent_id, need_id, policy)
      select s.id, s.id, 'r' from unnest(p_steps) s where s.needs is null and s.kind <> 'job'
      returning dependent_id
    )
    insert into wakeups (tenant_id, node_id, what, due_at)
    select p_tenant_id, h.dependent_id, 'begin', p_hold from held h;
  end if;
  if p_hold > p_now then
    return array(
      select s.id
      from unnest(p_steps) s
      where not exists (select from edges e where e.dependent_id = s.id)
      order by s.ord);
  end if;
  return array(select s.id from unnest(p_steps) s where s.needs is null order by s.ord);
end $$;

-- Returns the names of steps that other steps need, as the keys of an object.
create or replace function jobforge.needed_names(p_steps jobforge.new_step[]) returns jsonb
language sql immutable as $$
  select coalesce(jsonb_object_agg(n.step, true), '{}')
  from unnest(p_steps) d
  cross join lateral jsonb_to_recordset(d.needs) n(step text)
  where d.needs is not null and n.step is not null
$$;

-- Inserts the rows of steps.
create or replace function jobforge.insert_step_rows(
  p_workflow_id uuid, p_group_id uuid, p_tenant_id uuid, p_path text, p_steps jobforge.new_step[]
) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  insert into steps (
    id, workflow_id, group_id, tenant_id, kind, name, path, ord, type, payload, rank, max_attempts, delay_ms, subject,
    tags, concurrency_key, spec, optional, cleanup)
  select
    s.id, p_workflow_id, p_group_id, p_tenant_id, s.kind, s.name,
    case when p_path = '' then s.name else p_path || '/' || s.name end, s.ord, s.type, s.payload, -s.priority,
    s.max_attempts, s.delay_ms, s.subject, s.tags, s.concurrency_key, s.spec, s.optional, s.cleanup
  from unnest(p_steps) s
  order by s.ord;
end $$;
