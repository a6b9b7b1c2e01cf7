-- Raises a JobForge error. DETAIL is JSON {name, field?} for programs; HINT says what to do.
create or replace function jobforge.fail(
  p_code text, p_message text, p_name text, p_field text default null, p_hint text default null
) returns void
language plpgsql as $$
begin
  raise exception using
    errcode = p_code,
    message = p_message,
    detail = jsonb_strip_nulls(jsonb_build_object('name', p_name, 'field', p_field))::text,
    hint = coalesce(p_hint, '');
end $$;

-- Raises JF002: an argument is invalid, and a retry will not help. The message says what is allowed.
create or replace function jobforge.fail_argument(p_field text, p_message text, p_hint text default null) returns void
language sql as $$
  select jobforge.fail('JF002', 'Invalid argument: ' || p_message, 'invalid_argument', p_field,
    coalesce(p_hint, 'Correct the call. As it is, it can never succeed.'))
$$;

-- Raises 42501: the caller has no right to do this.
create or replace function jobforge.fail_forbidden(p_message text, p_hint text) returns void
language sql as $$
  select jobforge.fail('42501', p_message, 'forbidden', null, p_hint)
$$;

-- Raises JF003: the fence refused the write.
create or replace function jobforge.fail_not_held(p_job_id uuid) returns void
language sql as $$
  select jobforge.fail('JF003', 'Job not found or not locked by worker', 'not_held', null,
    format('Job %s: the lease was lost, the job is finished, or another worker holds it. Drop the result.', p_job_id))
$$;

-- Raises JF011: there is no such workflow, or it has ended.
create or replace function jobforge.fail_workflow_ended() returns void
language sql as $$
  select jobforge.fail('JF011', 'Workflow not found or has ended', 'workflow_ended', 'workflow_id',
    'Only workflows of the tenant that are running can do this. Start a new one, or retry it if it has failed.')
$$;

-- Raises JF012: there is no such workflow, or it cannot be retried.
create or replace function jobforge.fail_not_retryable() returns void
language sql as $$
  select jobforge.fail('JF012', 'Workflow not found or cannot be retried', 'workflow_not_retryable', 'workflow_id',
    'Only workflows of the tenant that have failed, or run and have steps that ended badly, can be retried.')
$$;

-- Raises JF015: there is no such step, or it did not end badly.
create or replace function jobforge.fail_not_resolvable() returns void
language sql as $$
  select jobforge.fail('JF015', 'Step not found or cannot be resolved', 'step_not_resolvable', 'step',
    'Only steps that ended badly can be resolved, in workflows that have failed or run.')
$$;

-- Raises JF014: a workflow may not be as large as this.
create or replace function jobforge.fail_workflow_limit(p_field text, p_message text) returns void
language sql as $$
  select jobforge.fail('JF014', 'Limit of the workflow exceeded: ' || p_message, 'workflow_limit_exceeded', p_field,
    'Use a map for many equal steps, split the workflow, or let a step start another one.')
$$;
