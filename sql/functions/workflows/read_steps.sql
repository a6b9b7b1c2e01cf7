-- Returns the letter of a policy in jobforge.edges; null for an unknown one.
create or replace function jobforge.policy_letter(p_policy text) returns "char"
language sql immutable parallel safe as $$
  select (case p_policy when 'cancel' then 'c' when 'run' then 'r' when 'wait' then 'w' when 'compensate' then 'f' end)::"char"
$$;

-- Returns the policy of a letter in jobforge.edges.
create or replace function jobforge.policy_name(p_letter "char") returns text
language sql immutable parallel safe as $$
  select case p_letter when 'c' then 'cancel' when 'r' then 'run' when 'w' then 'wait' when 'f' then 'compensate' end
$$;

-- Returns every step of a JSON array and of the sub-workflows in it.
create or replace function jobforge.nested_steps(p_steps jsonb) returns setof jsonb
language sql immutable as $$
  with recursive nested(step) as (
    select e from jsonb_array_elements(p_steps) e
    union all
    select e
    from nested n
    cross join lateral jsonb_array_elements(
      case jsonb_typeof(n.step -> 'steps') when 'array' then n.step -> 'steps' else '[]' end) e
  )
  select n.step from nested n
$$;

-- Returns how many jobs a JSON array of steps has, with those of sub-workflows. A list of a map counts if it is given;
-- a list that is known later follows from work that was accepted, like the children of a run.
create or replace function jobforge.jobs_in(p_steps jsonb) returns integer
language sql immutable as $$
  select coalesce(sum(case jsonb_typeof(s #> '{map,over}') when 'array' then jsonb_array_length(s #> '{map,over}') else 1 end),
    0)::integer
  from jobforge.nested_steps(p_steps) s
  where s ? 'type'
$$;

-- Returns the steps of a JSON array, in order, with new ids. Raises JF002, JF008 or JF014, which name the first step
-- that is not valid, such as steps[3].needs[0]. Steps may need the steps before them.
--   p_field what the array is called in errors
--   p_level how deep it is nested: 1 for a workflow
--   p_known names of other steps that they may need
create or replace function jobforge.read_steps(
  p_steps jsonb, p_field text, p_now timestamptz, p_level integer default 1, p_known text[] default '{}'
) returns jobforge.new_step[]
language plpgsql
set search_path = jobforge, pg_temp
set enable_hashjoin = on
set enable_nestloop = on
set enable_seqscan = on
set jit = off as $$
declare
  v_known constant text[] := array[
    'name', 'type', 'payload', 'map', 'signal', 'steps', 'output', 'needs', 'delay_ms', 'optional', 'cleanup',
    'max_attempts', 'priority', 'tags', 'subject', 'concurrency_key', 'expires_at'];
  v_bad record;
  v_steps new_step[];
  v_group record;
begin
  if p_steps is null or jsonb_typeof(p_steps) <> 'array' or jsonb_array_length(p_steps) = 0 then
    perform fail_argument(p_field, p_field || ' must be a JSON array of at least one step');
  elsif p_level > most_levels_of_a_workflow() then
    perform fail_workflow_limit(p_field, format('more than %s levels of steps', most_levels_of_a_workflow()));
  elsif jsonb_array_length(p_steps) > most_steps_of_a_call() then
    perform fail_workflow_limit(p_field, format('more than %s steps in one call', most_steps_of_a_call()));
  end if;

  -- 1. The form of each step ------------------------------------------------------------------------------------------
  select e.ord - 1 as index, p.problem
  into v_bad
  from jsonb_array_elements(p_steps) with ordinality e(step, ord)
  cross join lateral (
    select case
      when unprintable(e.step) is not null then array['', document_problem(unprintable(e.step))]
      when jsonb_typeof(e.step) <> 'object' then array['', 'must be a JSON object']
      when e.step - v_known <> '{}' then array[
        '.' || (select k from jsonb_object_keys(e.step - v_known) k limit 1), 'is no key of a step',
        'Known keys: ' || array_to_string(v_known, ', ') || '.']
      when key_of_wrong_kind(e.step) is not null then array[
        '.' || key_of_wrong_kind(e.step),
        case key_of_wrong_kind(e.step)
          when 'delay_ms' then format('must be a whole number from 0 to %s', max_delay_ms())
          else 'must ' || kind_of_key(key_of_wrong_kind(e.step)) end]
      else form_problem(e.step)
    end as problem
  ) p
  where p.problem is not null
  order by e.ord
  limit 1;
  if found then
    perform fail_step(p_field, v_bad.index, v_bad.problem);
  end if;

  -- 2. Their values ---------------------------------------------------------------------------------------------------
  begin
    v_steps := array(
      select row(
        e.ord, new_id(), x.kind, e.step ->> 'name', e.step ->> 'type', x.payload, text_bytes(x.payload),
        (e.step ->> 'priority')::integer, (e.step ->> 'max_attempts')::integer, (e.step ->> 'delay_ms')::bigint,
        e.step ->> 'subject',
        case when jsonb_typeof(e.step -> 'tags') = 'array'
          then array(select jsonb_array_elements_text(e.step -> 'tags')) end,
        e.step ->> 'concurrency_key', (e.step ->> 'expires_at')::timestamptz,
        n.needs,
        nullif(jsonb_strip_nulls(jsonb_build_object(
          'needs', n.needs, 'refs', to_jsonb(x.refs), 'expires_at', e.step -> 'expires_at',
          'over', e.step -> 'map' -> 'over', 'signal', case x.kind when 'signal'
            then coalesce(e.step -> 'signal' ->> 'name', e.step ->> 'name') end,
          'timeout_ms', e.step -> 'signal' -> 'timeout_ms', 'on_timeout', e.step -> 'signal' -> 'on_timeout',
          'levels', case x.kind when 'group' then p_level end))
        || case when x.kind = 'group'
            then jsonb_strip_nulls(jsonb_build_object('output', e.step -> 'output'))
              || jsonb_build_object('steps', e.step -> 'steps')
            else '{}' end, '{}'),
        coalesce((e.step -> 'optional')::boolean, false), coalesce((e.step -> 'cleanup')::boolean, false))::new_step
      from jsonb_array_elements(p_steps) with ordinality e(step, ord)
      cross join lateral (
        select
          case when e.step ? 'steps' then 'group' when e.step ? 'signal' then 'signal' when e.step ? 'map' then 'map'
            else 'job' end as kind,
          coalesce(e.step -> 'payload', '{}') as payload,
          case when may_refer(e.step -> 'payload') or may_refer(e.step -> 'map')
            then steps_referred_to(jsonb_build_array(e.step -> 'payload'))
              || steps_referred_to(jsonb_build_array(e.step -> 'map' -> 'over')) end as refs
        offset 0
      ) x
      cross join lateral (
        -- Most steps have none, and the function takes as long as the rest of the step.
        select case when e.step ? 'needs' or x.refs is not null then needs_of(e.step -> 'needs', x.refs) end as needs
        offset 0
      ) n
      order by e.ord);
  exception when data_exception then
    perform fail_argument(p_field, p_field || ': ' || sqlerrm);
  end;

  -- 3. What is wrong with the values, names and needs -----------------------------------------------------------------
  perform require_valid_steps(v_steps, p_field, p_now);
  perform require_valid_needs(v_steps, p_field, p_known);
  for v_group in
    select s.ord, s.spec from unnest(v_steps) s where s.kind = 'group'
  loop
    perform read_steps(v_group.spec -> 'steps', format('%s[%s].steps', p_field, v_group.ord - 1), p_now, p_level + 1);
    perform require_output(v_group.spec -> 'output', v_group.spec -> 'steps', format('%s[%s].output', p_field, v_group.ord - 1));
  end loop;
  return v_steps;
end $$;

-- Returns the needs of a step: those that it names, and the steps that its references name. Null if there are none.
create or replace function jobforge.needs_of(p_needs jsonb, p_refs text[]) returns jsonb
language plpgsql immutable as $$
declare
  v_only jsonb;
begin
  if p_needs is null and p_refs is null then
    return null;
  elsif p_refs is null and jsonb_typeof(p_needs) = 'array' and jsonb_array_length(p_needs) = 1 then
    -- A step of a chain: nothing to sort.
    v_only := p_needs -> 0;
    return jsonb_build_array(jsonb_build_object('step', coalesce(v_only ->> 'step', v_only #>> '{}'),
      'policy', coalesce(v_only ->> 'policy', 'cancel')));
  end if;
  return (
    select jsonb_agg(jsonb_build_object('step', n.step, 'policy', n.policy) order by n.ord)
    from (
      select distinct on (n.step) n.step, n.policy, n.ord
      from (
        select coalesce(e ->> 'step', e #>> '{}') as step, coalesce(e ->> 'policy', 'cancel') as policy, ord
        from jsonb_array_elements(case jsonb_typeof(p_needs) when 'array' then p_needs else '[]' end)
          with ordinality a(e, ord)
        union all
        select r.name, 'cancel', 1000000 + r.ord from unnest(p_refs) with ordinality r(name, ord)
      ) n
      order by n.step, n.ord
    ) n);
end $$;
