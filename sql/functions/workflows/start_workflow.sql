-- Starts a workflow: a named graph of steps that becomes jobs as their needs end. In the caller's transaction, all or
-- nothing. Returns {id, outcome: created|existing, status, steps: {name: id}}.
--   p_steps   [{name, type, payload, map: {over}, signal: {name, timeout_ms, on_timeout}, steps, output, needs,
--             delay_ms, optional, cleanup, max_attempts, priority, tags, subject, concurrency_key, expires_at}]
--   p_input   what {"$input": …} in payloads leads to
--   p_options {idempotency_key, dedupe_key, run_at, deadline, timeout_ms, expires_at, priority, tags, subject,
--             on_failure, output, retention_days, version, traceparent}
-- Who: the tenant itself, workers, operators. JF002, JF008 and JF014 name what is wrong, such as steps[3].needs[0].
-- Waits only for another transaction that starts a workflow with the same key.
create or replace function :"api_schema".jobforge_start_workflow(
  p_tenant_id uuid,
  p_name text,
  p_steps jsonb,
  p_input jsonb default '{}',
  p_options jsonb default '{}',
  p_notify boolean default true
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return start_workflow(p_tenant_id, p_name, p_steps, p_input, p_options, '', jobforge.now(),
    coalesce(p_notify, true));
end $$;

-- Starts up to 1,000 workflows of a tenant with up to 50,000 steps in all, in the caller's transaction, all or none.
-- Each is an object {name, steps, input, options}. Returns an array of the results of jobforge_start_workflow, in the
-- order of the input.
-- Who: the tenant itself, workers, operators. Errors name the first workflow that is not valid, such as
-- workflows[3].steps[0].type. Keys are taken in the order of the input.
create or replace function :"api_schema".jobforge_start_workflows(
  p_tenant_id uuid,
  p_workflows jsonb,
  p_notify boolean default true
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return start_all(p_tenant_id, p_workflows, jobforge.now(), coalesce(p_notify, true));
end $$;

-- Starts workflows of a JSON array, all or none. Returns an array of their results.
create or replace function jobforge.start_all(
  p_tenant_id uuid, p_workflows jsonb, p_now timestamptz, p_notify boolean
) returns jsonb
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_workflow jsonb;
  v_index integer := 0;
  v_steps bigint := 0;
  v_field text;
  v_results jsonb[] := '{}';
begin
  if p_workflows is null or jsonb_typeof(p_workflows) <> 'array' then
    perform fail_argument('workflows', 'workflows must be a JSON array');
  elsif jsonb_array_length(p_workflows) > 1000 then
    perform fail_argument('workflows', 'more than 1000 workflows in one call', 'Split them over several calls.');
  end if;
  for v_workflow in select e from jsonb_array_elements(p_workflows) with ordinality a(e, ord) order by ord loop
    v_field := format('workflows[%s]', v_index);
    if jsonb_typeof(v_workflow) <> 'object' or v_workflow - array['name', 'steps', 'input', 'options'] <> '{}'
      or jsonb_typeof(v_workflow -> 'name') is distinct from 'string'
    then
      perform fail_argument(v_field, v_field || ' must be an object with name, steps, input and options');
    end if;
    v_steps := v_steps + case jsonb_typeof(v_workflow -> 'steps') when 'array' then jsonb_array_length(v_workflow -> 'steps') else 0 end;
    if v_steps > most_steps_of_a_call() then
      perform fail_workflow_limit('workflows', format('more than %s steps in one call', most_steps_of_a_call()));
    end if;
    v_results := v_results || start_workflow(p_tenant_id, v_workflow ->> 'name', v_workflow -> 'steps',
      coalesce(v_workflow -> 'input', '{}'), coalesce(v_workflow -> 'options', '{}'), v_field || '.', p_now,
      p_notify);
    v_index := v_index + 1;
  end loop;
  return to_jsonb(v_results);
end $$;

-- Starts one workflow. p_prefix is what precedes the names of arguments in errors. Plans are cached while the tables
-- are small, also those of the functions that settles share with it, so none may read whole tables.
create or replace function jobforge.start_workflow(
  p_tenant_id uuid, p_name text, p_steps jsonb, p_input jsonb, p_options jsonb, p_prefix text, p_now timestamptz,
  p_notify boolean
) returns jsonb
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_new workflows := read_workflow(p_tenant_id, p_name, p_input, p_options, p_prefix, p_now);
  v_run_at timestamptz := (p_options ->> 'run_at')::timestamptz;
  v_steps new_step[];
  v_all integer;
  v_id uuid;
  v_outcome text := 'created';
begin
  v_steps := read_steps(p_steps, p_prefix || 'steps', p_now);
  perform require_output(p_options -> 'output', p_steps, p_prefix || 'options.output');
  v_all := (select count(*) from nested_steps(p_steps));
  if v_all > most_steps_of_a_call() then
    perform fail_workflow_limit(p_prefix || 'steps', format('more than %s steps in one call', most_steps_of_a_call()));
  end if;
  insert into workflows
  select (jsonb_populate_record(v_new, jsonb_build_object('step_count', v_all))).*
  on conflict do nothing
  returning id into v_id;
  if v_id is null then
    v_outcome := 'existing';
    v_id := find_started(v_new);
    if v_id is null then
      -- The workflow that had the dedupe key has ended meanwhile.
      return start_workflow(p_tenant_id, p_name, p_steps, p_input, p_options, p_prefix, p_now, p_notify);
    end if;
  else
    perform add_types(p_tenant_id, array(
      select distinct s ->> 'type' from nested_steps(p_steps) s where s ? 'type'), p_now, p_prefix || 'steps.type');
    perform require_room(p_tenant_id, jobs_in(p_steps));
    insert into steps (id, workflow_id, tenant_id, kind, path, ord, rank, spec, opened_at)
    values (v_id, v_id, p_tenant_id, 'root', '', 0, null,
      jsonb_build_object('output', coalesce(nullif(p_options -> 'output', 'null'), default_output(v_steps))), p_now);
    if v_new.deadline is not null then
      insert into wakeups (tenant_id, node_id, what, due_at) values (p_tenant_id, v_id, 'deadline', v_new.deadline);
    end if;
    perform leave_looks(advance(
      decide_steps(insert_steps(v_id, v_id, p_tenant_id, '', with_start(v_steps, p_options), p_now, v_run_at), p_now,
        p_notify), '{}', '{}', p_now), p_now);
  end if;
  return jsonb_build_object(
    'id', v_id, 'outcome', v_outcome, 'status', (select w.status from workflows w where w.id = v_id),
    'steps', (
      select coalesce(jsonb_object_agg(s.name, s.id), '{}') from steps s where s.group_id = v_id and s.name is not null));
end $$;

-- Returns the workflow that has the idempotency key or, while it runs, the dedupe key of another.
create or replace function jobforge.find_started(p_new jobforge.workflows) returns uuid
language sql stable as $$
  select coalesce(
    (select w.id from jobforge.workflows w
      where w.tenant_id = p_new.tenant_id and w.name = p_new.name and w.idempotency_key = p_new.idempotency_key),
    (select w.id from jobforge.workflows w
      where w.tenant_id = p_new.tenant_id and w.name = p_new.name and w.dedupe_key = p_new.dedupe_key
        and w.status = 'running'))
$$;

-- Returns steps with what the options say about those without needs: when they start, and until when they may.
create or replace function jobforge.with_start(p_steps jobforge.new_step[], p_options jsonb) returns jobforge.new_step[]
language plpgsql immutable as $$
declare
  v_start jsonb := jsonb_strip_nulls(jsonb_build_object('run_at', p_options -> 'run_at', 'expires_at', p_options -> 'expires_at'));
begin
  if v_start = '{}' then
    return p_steps;
  end if;
  return array(
    select case when s.needs is null and s.kind = 'job'
        then jsonb_populate_record(s, jsonb_build_object('spec', v_start || coalesce(s.spec, '{}')))
        else s end
    from unnest(p_steps) s
    order by s.ord);
end $$;
