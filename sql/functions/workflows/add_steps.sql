-- Adds steps to a workflow that runs. A run adds them with p_job_id, p_worker_id and p_attempt, under the fence: they
-- form a group of their own, whose name is that of the step with a plus sign, such as engine+. What needs the step
-- needs the group; with p_detached only the workflow waits for it. From outside they become steps of the workflow
-- itself, and may need its steps. A step that exists with the same definition is not added again, so a repeated call
-- changes nothing. A run may leave out the workflow: it is that of its step. Returns {added, existing}.
-- Who: the tenant itself, workers, operators. JF011 if there is no such workflow or it has ended, JF013 if a step of
-- the same name has another definition, JF003 when the worker does not hold the job; JF002, JF007, JF008 and JF014 for
-- the steps. From outside it waits for other calls that change the graph; a run waits for nothing.
create or replace function :"api_schema".jobforge_add_steps(
  p_workflow_id uuid,
  p_tenant_id uuid,
  p_steps jsonb,
  p_job_id uuid default null,
  p_worker_id text default null,
  p_attempt integer default null,
  p_detached boolean default false
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_step_id uuid;
  v_group_id uuid := p_workflow_id;
begin
  perform require_tenant(p_tenant_id);
  if p_job_id is not null then
    v_step_id := (held_run(p_job_id, p_worker_id, p_attempt)).step_id;
    if not exists (
      select from steps s
      join workflows w on w.id = s.workflow_id
      where s.id = v_step_id and s.workflow_id = coalesce(p_workflow_id, s.workflow_id) and s.tenant_id = p_tenant_id)
    then
      perform fail_workflow_ended();
    end if;
    v_group_id := group_of_run(v_step_id, coalesce(p_detached, false), v_now);
  else
    perform from steps s
    where s.id = p_workflow_id and s.tenant_id = p_tenant_id and s.kind = 'root' and s.decided_at is null
    for update;
    if not found or exists (select from workflows w where w.id = p_workflow_id and w.cancel_at is not null) then
      perform fail_workflow_ended();
    end if;
    insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id)
    values (v_now, p_tenant_id, actor(), 'STEPS_ADDED', 'workflow', p_workflow_id::text);
  end if;
  return add_to_group(v_group_id, p_steps, v_now);
end $$;

-- Adds steps to a group that is open. The caller has locked the group, or is a run that keeps it from ending.
create or replace function jobforge.add_to_group(p_group_id uuid, p_steps jsonb, p_now timestamptz) returns jsonb
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_group steps := (select s from steps s where s.id = p_group_id);
  v_known text[] := array(
    select s.name
    from unnest(names_in(p_steps)) n(name)
    cross join lateral (select s.name from steps s where s.group_id = p_group_id and s.name = n.name limit 1) s);
  v_steps new_step[] := read_steps(p_steps, 'steps', p_now, 1, v_known);
  v_new uuid[];
begin
  perform require_same_definition(p_group_id, v_steps);
  v_steps := array(select n from unnest(v_steps) n where n.name <> all (v_known) order by n.ord);
  if (
    select count(*) + cardinality(v_steps) > most_steps_of_a_workflow()
    from (select from steps s where s.workflow_id = v_group.workflow_id limit most_steps_of_a_workflow()) s)
  then
    perform fail_workflow_limit('steps', format('more than %s steps', most_steps_of_a_workflow()));
  end if;
  perform add_types(v_group.tenant_id, array(select distinct n.type from unnest(v_steps) n where n.type is not null),
    p_now, 'steps.type');
  perform require_room(v_group.tenant_id, jobs_in((
    select jsonb_agg(e) from jsonb_array_elements(p_steps) e where e ->> 'name' <> all (v_known))));
  v_new := array(select n.id from unnest(v_steps) n order by n.ord);
  perform insert_step_rows(v_group.workflow_id, p_group_id, v_group.tenant_id, v_group.path, v_steps);
  perform link_again(v_group.workflow_id, v_new, '{}', '{}', p_now);
  perform leave_looks(advance('{}', '{}', v_new, p_now), p_now);
  return jsonb_build_object(
    'added', cardinality(v_new), 'existing', jsonb_array_length(p_steps) - cardinality(v_new));
end $$;

-- Returns the names in a list of steps that may be those of steps: their own, and those that they need or refer to.
-- Only texts are read: the list has not been checked yet, and other values may be very long as text.
create or replace function jobforge.names_in(p_steps jsonb) returns text[]
language sql immutable as $$
  select array(
    select n #>> '{}' from jsonb_path_query(p_steps, 'lax $[*].name ? (@.type() == "string")') n
    union
    select n #>> '{}' from jsonb_path_query(p_steps, 'lax $[*].needs[*] ? (@.type() == "string")') n
    union
    select n #>> '{}' from jsonb_path_query(p_steps, 'lax $[*].needs[*].step ? (@.type() == "string")') n
    union
    select case jsonb_typeof(r) when 'array' then r ->> 0 else split_part(r #>> '{}', '.', 1) end
    from jsonb_path_query(p_steps, 'strict $.**."$result"', silent => true) r
    where jsonb_typeof(case jsonb_typeof(r) when 'array' then r -> 0 else r end) = 'string')
$$;

-- Raises JF013 if a step of a group has the name of a new one and another definition.
create or replace function jobforge.require_same_definition(p_group_id uuid, p_steps jobforge.new_step[]) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_index integer;
begin
  select n.ord - 1 into v_index
  from unnest(p_steps) n
  join steps s on s.group_id = p_group_id and s.name = n.name
  where (s.kind, s.type, s.payload, s.spec -> 'needs', s.spec -> 'over') is distinct from
    (n.kind, n.type, n.payload, n.spec -> 'needs', n.spec -> 'over')
  order by n.ord
  limit 1;
  if found then
    perform fail('JF013', 'Step exists with another definition', 'step_conflict', format('steps[%s]', v_index),
      'Give the new step another name.');
  end if;
end $$;

-- Returns the group of the steps that a run adds, and makes it if it is the first call. An edge to the step of the run
-- keeps the group open until the run has ended, so it may be filled without a lock.
create or replace function jobforge.group_of_run(p_step_id uuid, p_detached boolean, p_now timestamptz) returns uuid
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_step steps := (select s from steps s where s.id = p_step_id);
  v_name text := coalesce(v_step.name, format('[%s]', v_step.ord)) || '+';
  v_group steps;
begin
  select s.* into v_group from steps s where s.group_id = v_step.group_id and s.name = v_name;
  if v_group.id is null then
    v_group.id := new_id();
    insert into steps (id, workflow_id, group_id, tenant_id, kind, name, path, ord, spec, opened_at, optional)
    values (v_group.id, v_step.workflow_id, v_step.group_id, v_step.tenant_id, 'group', v_name, v_step.path || '+',
      v_step.ord, '{}', p_now, v_step.optional);
  elsif v_group.status is not null then
    update steps s
    set status = null, reason = null, ended_at = null, error = null, decided_at = null
    where s.id = v_group.id;
  end if;
  insert into edges (dependent_id, need_id, policy)
  select v_group.id, p_step_id, 'r'::"char"
  union all
  select v_step.group_id, v_group.id, 'r'
  union all
  select e.dependent_id, v_group.id, e.policy
  from edges e
  where e.need_id = p_step_id and not p_detached and e.dependent_id not in (v_group.id, v_step.group_id)
  on conflict do nothing;
  return v_group.id;
end $$;
