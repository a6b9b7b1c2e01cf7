-- Returns a new workflow with what its options say. Raises JF002 or JF008 for the first mistake.
create or replace function jobforge.read_workflow(
  p_tenant_id uuid, p_name text, p_input jsonb, p_options jsonb, p_prefix text, p_now timestamptz
) returns jobforge.workflows
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_known constant text[] := array[
    'idempotency_key', 'dedupe_key', 'run_at', 'deadline', 'timeout_ms', 'expires_at', 'priority', 'tags', 'subject',
    'on_failure', 'output', 'retention_days', 'version', 'traceparent'];
  v_options jsonb := coalesce(p_options, '{}');
  v_workflow workflows;
  v_problem text[];
  v_bytes integer := text_bytes(p_input);
begin
  if p_name is null or not is_type(p_name) or length(p_name) > 190 then
    perform fail_argument(p_prefix || 'name', 'name of a workflow: ' || type_rule() || ', with at most 190 characters', type_hint());
  elsif jsonb_typeof(v_options) <> 'object' then
    perform fail_argument(p_prefix || 'options', 'options must be a JSON object');
  elsif v_options - v_known <> '{}' then
    perform fail_argument(
      p_prefix || 'options.' || (select k from jsonb_object_keys(v_options - v_known) k limit 1), 'unknown option '
        || (select k from jsonb_object_keys(v_options - v_known) k limit 1),
      'Known options: ' || array_to_string(v_known, ', ') || '.');
  elsif v_bytes > document_bytes() then
    perform fail('JF008', format('Payload too large: %sinput is over 1 MiB', p_prefix), 'payload_too_large',
      p_prefix || 'input', 'Store it elsewhere and pass a reference.');
  elsif v_bytes < 0 then
    perform fail_argument(p_prefix || 'input', 'input ' || document_problem(v_bytes));
  end if;
  perform require_printable(v_options, p_prefix || 'options');
  if key_of_wrong_kind(v_options - 'run_at') is not null then
    perform fail_argument(p_prefix || 'options.' || key_of_wrong_kind(v_options - 'run_at'),
      format('%s must %s', key_of_wrong_kind(v_options - 'run_at'), kind_of_key(key_of_wrong_kind(v_options - 'run_at'))));
  end if;
  v_problem := problem_with_options(v_options, p_now);
  if v_problem is not null then
    perform fail_argument(p_prefix || 'options.' || v_problem[1], v_problem[2]);
  end if;
  v_workflow.id := new_id();
  v_workflow.tenant_id := p_tenant_id;
  v_workflow.name := p_name;
  v_workflow.version := v_options ->> 'version';
  v_workflow.status := 'running';
  v_workflow.input := coalesce(p_input, 'null');
  v_workflow.idempotency_key := v_options ->> 'idempotency_key';
  v_workflow.dedupe_key := v_options ->> 'dedupe_key';
  v_workflow.subject := v_options ->> 'subject';
  v_workflow.tags := coalesce(
    case jsonb_typeof(v_options -> 'tags') when 'array' then array(select jsonb_array_elements_text(v_options -> 'tags')) end, '{}');
  v_workflow.rank := -coalesce((v_options ->> 'priority')::integer, 0);
  v_workflow.created_at := p_now;
  v_workflow.deadline := least((v_options ->> 'deadline')::timestamptz,
    p_now + (v_options ->> 'timeout_ms')::bigint * interval '1 millisecond');
  v_workflow.on_failure := coalesce(v_options ->> 'on_failure', 'finish');
  v_workflow.keep_days := coalesce((v_options ->> 'retention_days')::integer, shelf_for(null));
  v_workflow.traceparent := v_options ->> 'traceparent';
  return v_workflow;
exception when data_exception then
  perform fail_argument(p_prefix || 'options', 'options: ' || sqlerrm);
end $$;

-- Returns what is wrong with the options of a workflow: {option, message}, or null.
create or replace function jobforge.problem_with_options(p_options jsonb, p_now timestamptz) returns text[]
language sql stable as $$
  select case
    when jsonb_typeof(p_options -> 'version') not in ('string', 'null') or length(p_options ->> 'version') > 200
      then array['version', 'version must be a text of at most 200 characters']
    when coalesce(p_options ->> 'on_failure', 'finish') not in ('finish', 'cancel')
      then array['on_failure', 'on_failure must be finish or cancel']
    when not jobforge.is_delay(p_options -> 'timeout_ms', null)
      then array['timeout_ms', format('timeout_ms must be a whole number from 0 to %s', jobforge.max_delay_ms())]
    when jsonb_typeof(p_options -> 'retention_days') not in ('number', 'null')
      or not coalesce((p_options -> 'retention_days')::text, '1') ~ '^([0-9]{1,4}|null)$'
      or not coalesce((nullif(p_options -> 'retention_days', 'null'))::integer, 1) between 1 and 3650
      then array['retention_days', 'retention_days must be a whole number from 1 to 3650']
    when not jobforge.is_time((p_options ->> 'deadline')::timestamptz) or (p_options ->> 'deadline')::timestamptz <= p_now
      then array['deadline', 'deadline must be a time in the future']
    else jobforge.problem_with(jobforge.new_job(
      p_type => 'a', p_idempotency_key => p_options ->> 'idempotency_key', p_dedupe_key => p_options ->> 'dedupe_key',
      p_run_at => (p_options ->> 'run_at')::timestamptz, p_priority => (p_options ->> 'priority')::integer,
      p_tags => case jsonb_typeof(p_options -> 'tags') when 'array'
        then array(select jsonb_array_elements_text(p_options -> 'tags')) end,
      p_subject => p_options ->> 'subject', p_expires_at => (p_options ->> 'expires_at')::timestamptz,
      p_traceparent => p_options ->> 'traceparent'), p_now)
  end
$$;
