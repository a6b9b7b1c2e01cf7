-- Returns whether a text may be the name of a step: 1 to 200 letters, digits and _ : @ -, of which the first is a
-- letter, a digit or _. Dots, slashes and brackets separate the parts of references and paths.
create or replace function jobforge.is_step_name(p_text text) returns boolean
language sql immutable parallel safe as $$
  select p_text ~ '^[A-Za-z0-9_][A-Za-z0-9_:@-]*$' and length(p_text) <= 200
$$;

-- Raises JF002 for a step of a call: {rest of the field, message, hint}.
create or replace function jobforge.fail_step(p_field text, p_index bigint, p_problem text[]) returns void
language plpgsql as $$
declare
  v_field text := format('%s[%s]%s', p_field, p_index, p_problem[1]);
begin
  perform jobforge.fail_argument(v_field, v_field || ' ' || p_problem[2], p_problem[3]);
end $$;

-- Returns what is wrong with the form of a step that is an object with known keys: {rest of the field, message, hint},
-- or null.
create or replace function jobforge.form_problem(p_step jsonb) returns text[]
language sql immutable as $$
  select case
    when jsonb_typeof(p_step -> 'name') is distinct from 'string' or not jobforge.is_step_name(p_step ->> 'name')
      then array['.name', 'must have 1 to 200 letters, digits and _ : @ -, and begin with a letter, a digit or _']
    when (p_step ? 'type')::integer + (p_step ? 'steps')::integer + (p_step ? 'signal')::integer <> 1
      then array['', 'must have exactly one of type, steps and signal',
        'A step runs a job of a type, is a sub-workflow of steps, or waits for a signal.']
    when p_step ? 'map' and not p_step ? 'type' then array['.map', 'needs a type: every item is one job']
    when p_step ? 'map' and (jsonb_typeof(p_step -> 'map') <> 'object' or (p_step -> 'map') - 'over' <> '{}'
        or not (jsonb_typeof(p_step -> 'map' -> 'over') = 'array'
          or coalesce(jobforge.is_reference(p_step -> 'map' -> 'over'), false)))
      then array['.map', 'must be {"over": …} with an array or a reference']
    when p_step ? 'signal' and (jsonb_typeof(p_step -> 'signal') <> 'object'
        or (p_step -> 'signal') - array['name', 'timeout_ms', 'on_timeout'] <> '{}'
        or jsonb_typeof(p_step -> 'signal' -> 'name') not in ('string', 'null')
        or p_step -> 'signal' ->> 'name' = '' or length(p_step -> 'signal' ->> 'name') > 200
        or not jobforge.is_delay(p_step -> 'signal' -> 'timeout_ms', null)
        or coalesce(p_step -> 'signal' ->> 'on_timeout', 'fail') not in ('fail', 'continue'))
      then array['.signal', 'must be an object with name, timeout_ms and on_timeout (fail or continue)']
    when p_step ? 'output' and not p_step ? 'steps' then array['.output', 'is for sub-workflows']
    when p_step ? 'steps' and jsonb_typeof(p_step -> 'steps') <> 'array' then array['.steps', 'must be a JSON array']
    when jsonb_typeof(p_step -> 'optional') not in ('boolean', 'null') then array['.optional', 'must be true or false']
    when jsonb_typeof(p_step -> 'cleanup') not in ('boolean', 'null') then array['.cleanup', 'must be true or false']
    when not p_step ? 'type' and p_step ?| array['delay_ms', 'max_attempts', 'priority', 'concurrency_key',
        'expires_at', 'subject', 'tags']
      then array['', 'has a key that is for steps with a type: delay_ms, max_attempts, priority, concurrency_key, '
        || 'expires_at, subject or tags']
    when p_step ? 'signal' and p_step ? 'payload' then array['.payload', 'is not for signals']
    when p_step ? 'needs' and not jobforge.are_needs(p_step -> 'needs')
      then array['.needs', 'must be an array of names or {"step", "policy"}, with a policy of cancel, run, '
        || 'wait or compensate']
  end
$$;

-- Returns whether a value is a list of needs.
create or replace function jobforge.are_needs(p_needs jsonb) returns boolean
language sql immutable as $$
  select case jsonb_typeof(p_needs)
    when 'null' then true
    when 'array' then not exists (
      select from jsonb_array_elements(p_needs) n
      where case jsonb_typeof(n)
        when 'string' then false
        when 'object' then n - array['step', 'policy'] <> '{}' or jsonb_typeof(n -> 'step') is distinct from 'string'
          or jobforge.policy_letter(coalesce(n ->> 'policy', 'cancel')) is null
        else true end)
    else false
  end
$$;

-- Raises for the first step whose values are not valid.
create or replace function jobforge.require_valid_steps(p_steps jobforge.new_step[], p_field text, p_now timestamptz)
returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_bad record;
begin
  select s.ord - 1 as index, p.problem
  into v_bad
  from unnest(p_steps) s
  cross join lateral (
    select case
      when s.kind in ('job', 'map') then problem_with(row(
        s.ord, s.id, s.type, s.payload, null, null, s.max_attempts, coalesce(s.priority, 0), null, 'skip',
        coalesce(s.tags, '{}'), s.subject, s.concurrency_key, s.expires_at, null, s.bytes, null, null)::new_job,
        p_now)
      when s.bytes > document_bytes() then array['payload', 'payload is larger than 1 MiB']
      when s.bytes < 0 then array['payload', 'payload ' || document_problem(s.bytes)]
    end as problem
    offset 0
  ) p
  where p.problem is not null
  order by s.ord
  limit 1;
  if found then
    if v_bad.problem[2] = 'payload is larger than 1 MiB' then
      perform fail('JF008', format('Payload too large: %s[%s].payload is over 1 MiB', p_field, v_bad.index),
        'payload_too_large', format('%s[%s].payload', p_field, v_bad.index), 'Store it elsewhere and pass a reference.');
    end if;
    perform fail_argument(format('%s[%s].%s', p_field, v_bad.index, v_bad.problem[1]),
      format('step %s: %s', v_bad.index, v_bad.problem[2]), v_bad.problem[3]);
  end if;
  select s.ord - 1 as index, r.problem, case when r.of_payload then 'payload' else 'map' end as field
  into v_bad
  from unnest(p_steps) s
  cross join lateral (
    select problem_with_references(s.payload, s.kind = 'map') as problem, true as of_payload
    union all
    select problem_with_references(s.spec -> 'over', false), false where is_reference(s.spec -> 'over')
  ) r
  where s.spec ? 'refs' and r.problem is not null
  order by s.ord
  limit 1;
  if found then
    perform fail_step(p_field, v_bad.index, array['.' || v_bad.field, v_bad.problem]);
  end if;
end $$;

-- Raises JF002 if two steps have one name, or if a step needs a step that does not come before it; JF014 if there are
-- too many needs.
create or replace function jobforge.require_valid_needs(
  p_steps jobforge.new_step[], p_field text, p_known text[]
) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_hashjoin = on
set enable_nestloop = on
set enable_seqscan = on as $$
declare
  v_bad record;
  v_needs bigint;
begin
  select max(s.ord) - 1 as index, s.name into v_bad
  from unnest(p_steps) s group by s.name having count(*) > 1 order by 1 limit 1;
  if found then
    perform fail_step(p_field, v_bad.index, array['.name', format('is the name of another step: %s', v_bad.name)]);
  end if;
  select sum(jsonb_array_length(s.needs)) into v_needs
  from unnest(p_steps) s where s.needs is not null;
  if v_needs > most_needs_of_a_call() then
    perform fail_workflow_limit(p_field, format('more than %s needs in one call', most_needs_of_a_call()));
  end if;
  select s.ord - 1 as index into v_bad
  from unnest(p_steps) s
  where jsonb_array_length(s.needs) > most_needs_of_a_step()
  limit 1;
  if found then
    perform fail_workflow_limit(format('%s[%s].needs', p_field, v_bad.index),
      format('more than %s needs of one step', most_needs_of_a_step()));
  end if;
  with needed as (
    select s.ord, n.need ->> 'step' as name, n.place
    from unnest(p_steps) s
    cross join lateral jsonb_array_elements(s.needs) with ordinality n(need, place)
    where s.needs is not null and n.need ->> 'step' <> all (p_known)
  ), named as (
    select s.name, s.ord from unnest(p_steps) s
  )
  select d.ord - 1 as index, d.place - 1 as place, d.name, bool_or(m.ord is not null) as later
  into v_bad
  from needed d
  left join named m on m.name = d.name
  group by 1, 2, 3
  having coalesce(min(m.ord), 2147483647) >= min(d.ord)
  order by 1, 2
  limit 1;
  if found then
    perform fail_step(p_field, v_bad.index, array[format('.needs[%s]', v_bad.place),
      case when v_bad.later then format('needs the step %s, which does not come before it', v_bad.name)
        else format('needs the step %s, which does not exist', v_bad.name) end,
      'Put the steps into an order in which every step comes after those that it needs.']);
  end if;
end $$;

-- Raises JF002 if an output refers to a step that is not in the list, or has another mistake.
create or replace function jobforge.require_output(p_output jsonb, p_steps jsonb, p_field text) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_problem text;
  v_missing text;
begin
  if p_output is null or not may_refer(p_output) then
    return;
  end if;
  v_problem := problem_with_references(p_output, false);
  if v_problem is not null then
    perform fail_argument(p_field, p_field || ' ' || v_problem);
  end if;
  select r.name into v_missing
  from unnest(steps_referred_to(p_output)) r(name)
  where r.name not in (select e ->> 'name' from jsonb_array_elements(p_steps) e)
  limit 1;
  if found then
    perform fail_argument(p_field, format('%s refers to the step %s, which does not exist', p_field, v_missing));
  end if;
end $$;
