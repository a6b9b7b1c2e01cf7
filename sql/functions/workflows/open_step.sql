-- Opens a map, a sub-workflow or a signal, whose needs have ended. Returns the ends that follow at once. The caller
-- holds the step.
create or replace function jobforge.open_step(p_step_id uuid, p_now timestamptz) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_step steps := (select s from steps s where s.id = p_step_id);
begin
  case v_step.kind
    when 'signal' then return open_signal(v_step, p_now);
    when 'map' then return open_map(v_step, p_now);
    when 'group' then return open_group(v_step, p_now);
  end case;
end $$;

-- Opens a sub-workflow: inserts its steps and starts those without needs.
create or replace function jobforge.open_group(p_group jobforge.steps, p_now timestamptz) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_input jsonb := p_group.payload;
  v_steps new_step[];
begin
  if p_group.spec ? 'refs' then
    v_input := fill_in(v_input, sources_of(p_group.group_id, p_group.spec -> 'refs'));
  end if;
  if not coalesce(text_bytes(v_input) between 0 and document_bytes(), false) then
    return array[failed_end(p_group.id, 'payload_too_large', 'The payload is over 1 MiB with its references filled in')];
  end if;
  v_steps := read_steps(p_group.spec -> 'steps', 'steps', p_now, coalesce((p_group.spec ->> 'levels')::integer, 1) + 1);
  update steps s
  set opened_at = p_now, input = v_input,
    spec = jsonb_build_object('output', default_output(v_steps)) || s.spec
  where s.id = p_group.id;
  return decide_steps(insert_steps(p_group.workflow_id, p_group.id, p_group.tenant_id, p_group.path, v_steps, p_now), p_now);
end $$;

-- Returns the end of a step that failed before it could start.
create or replace function jobforge.failed_end(p_step_id uuid, p_reason text, p_message text)
returns jobforge.step_end
language sql immutable as $$
  select row(p_step_id, 'failed', p_reason, null, jsonb_build_object('name', 'StepNotStarted', 'message', p_message),
    null)::jobforge.step_end
$$;

-- Returns the output of steps for which the caller named none: the result of the only step that no other step needs.
-- Null if there are several.
create or replace function jobforge.default_output(p_steps jobforge.new_step[]) returns jsonb
language sql stable as $$
  with needed as materialized (
    select jobforge.needed_names(p_steps) as names
  )
  select case when count(*) = 1 then jsonb_build_object('$result', jsonb_agg(s.name)) end
  from unnest(p_steps) s
  cross join needed n
  where not n.names ? s.name
$$;

-- Opens a map: makes its first items. A list that is empty ends it, and any other value fails it.
create or replace function jobforge.open_map(p_map jobforge.steps, p_now timestamptz) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_list jsonb := list_of(p_map);
  v_others integer;
begin
  if jsonb_typeof(v_list) <> 'array' then
    return array[failed_end(p_map.id, 'no_list', format('The map needs an array and got a value of the kind %s',
      jsonb_typeof(v_list)))];
  elsif jsonb_array_length(v_list) = 0 then
    update steps s set opened_at = p_now where s.id = p_map.id;
    return array[row(p_map.id, 'succeeded', 'done', null, null, null)::step_end];
  end if;
  -- All but the root and the map itself.
  v_others := (
    select count(*) - 2
    from (select from steps s where s.workflow_id = p_map.workflow_id limit most_steps_of_a_workflow() + 2) s);
  if jsonb_array_length(v_list) + v_others > most_steps_of_a_workflow() then
    return array[failed_end(p_map.id, 'too_many_items', format(
      'The map has %s items next to %s other steps, and a workflow has at most %s steps',
      jsonb_array_length(v_list), v_others, most_steps_of_a_workflow()))];
  end if;
  update steps s set opened_at = p_now where s.id = p_map.id;
  return expand_map(p_map, v_list, 0, p_now);
end $$;

-- Returns the list of a map.
create or replace function jobforge.list_of(p_map jobforge.steps) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
begin
  return case when is_reference(p_map.spec -> 'over')
    then fill_in(p_map.spec -> 'over', sources_of(p_map.group_id, p_map.spec -> 'refs'))
    else p_map.spec -> 'over'
  end;
end $$;

-- Makes up to 1,000 items of a map, from p_from on, and starts them. If there are more, an edge of the map to itself
-- keeps it open, and a wakeup makes the next ones. Returns the ends of items that cannot start.
create or replace function jobforge.expand_map(
  p_map jobforge.steps, p_list jsonb, p_from integer, p_now timestamptz
) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  -- Read once: the list may be a part of spec, and then each look at spec uncompresses it.
  v_refs jsonb := p_map.spec -> 'refs';
  v_spec jsonb := nullif(jsonb_strip_nulls(jsonb_build_object('expires_at', p_map.spec -> 'expires_at')), '{}');
  v_payload jsonb := p_map.payload;
  v_sources jsonb := case when v_refs is not null then sources_of(p_map.group_id, v_refs) end;
  v_items uuid[];
begin
  p_map.spec := null;
  with items as (
    insert into steps (
      id, workflow_id, group_id, tenant_id, kind, path, ord, type, payload, rank, max_attempts, delay_ms, subject, tags,
      concurrency_key, spec, cleanup)
    select
      new_id(), p_map.workflow_id, p_map.id, p_map.tenant_id, 'job', format('%s[%s]', p_map.path, i.index), i.index,
      p_map.type, case when v_sources is null then v_payload else fill_in(v_payload, v_sources, i.item, i.index) end,
      p_map.rank, p_map.max_attempts, p_map.delay_ms, p_map.subject, p_map.tags, p_map.concurrency_key, v_spec,
      p_map.cleanup
    from (
      select (e.ord - 1)::integer as index, e.item
      from jsonb_array_elements(p_list) with ordinality e(item, ord)
      where e.ord > p_from and e.ord <= p_from + 1000
    ) i
    order by i.index
    returning id, ord
  ), linked as (
    insert into edges (dependent_id, need_id, policy)
    select p_map.id, i.id, 'r' from items i
  )
  select array_agg(i.id order by i.ord) into v_items from items i;
  if jsonb_array_length(p_list) > p_from + 1000 then
    insert into edges (dependent_id, need_id, policy)
    select p_map.id, p_map.id, 'r'
    where not exists (select from edges e where e.dependent_id = p_map.id and e.need_id = p_map.id);
    insert into wakeups (tenant_id, node_id, what, data, due_at)
    values (p_map.tenant_id, p_map.id, 'expand', to_jsonb(p_from + 1000), p_now);
  end if;
  return start_jobs(v_items, p_now);
end $$;

-- Opens a signal: takes the oldest signal of its name from the mailbox of the workflow, or waits for one.
create or replace function jobforge.open_signal(p_step jobforge.steps, p_now timestamptz) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_end step_end;
begin
  update steps s set opened_at = p_now where s.id = p_step.id;
  v_end := take_mail(p_step);
  if v_end.id is not null then
    return array[v_end];
  elsif p_step.spec ? 'timeout_ms' then
    insert into wakeups (tenant_id, node_id, what, due_at)
    values (p_step.tenant_id, p_step.id, 'timeout',
      p_now + (p_step.spec ->> 'timeout_ms')::bigint * interval '1 millisecond');
  end if;
  return '{}';
end $$;

-- Takes the oldest signal that a step waits for. Returns the end of the step; null without such a signal. Its result is
-- the payload of the signal.
create or replace function jobforge.take_mail(p_step jobforge.steps) returns jobforge.step_end
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_signal signals;
begin
  update signals g
  set taken_by = p_step.id
  where g.id = (
    select f.id
    from signals f
    where f.target_id = p_step.workflow_id and f.name = p_step.spec ->> 'signal' and f.taken_by is null
    order by f.id
    limit 1
    for update skip locked)
  returning * into v_signal;
  if v_signal.id is null then
    return null;
  end if;
  return row(p_step.id, 'succeeded', 'done', v_signal.payload, null, null)::step_end;
end $$;
