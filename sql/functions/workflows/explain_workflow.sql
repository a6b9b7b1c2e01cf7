-- Explains what a workflow waits for, or how it ended: [{code, message, details}], the most important reason first;
-- null if the tenant has no such workflow. Secrets are masked as in stored errors.
--  running canceling, paused, waits_for_repair, waits_for_signal, suspended, running, queued, blocked, deciding,
--          deadline
--  ended   succeeded, failed, canceled, deadline
-- Each reason names up to ten steps. Steps of a large workflow are counted up to 10,000.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_explain_workflow(p_workflow_id uuid, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_workflow workflows;
begin
  perform require_tenant(p_tenant_id);
  select w.* into v_workflow from workflows w where w.id = p_workflow_id and w.tenant_id = p_tenant_id;
  if not found then
    return null;
  elsif v_workflow.status = 'running' then
    return redact(why_unfinished(v_workflow, v_now), null);
  end if;
  return redact(why_finished(v_workflow), null);
end $$;

-- Returns the reasons of a workflow that runs.
create or replace function jobforge.why_unfinished(p_workflow jobforge.workflows, p_now timestamptz) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_reasons jsonb := why_stopping(p_workflow) || why_paused(p_workflow.tenant_id, null, p_now);
  v_step steps;
  v_found integer := 0;
begin
  for v_step in
    select s.*
    from steps s
    where s.workflow_id = p_workflow.id and s.kind = 'signal' and s.opened_at is not null and s.decided_at is null
    order by s.id
    limit 10
  loop
    v_reasons := v_reasons || why_signal(v_step);
    v_found := v_found + 1;
  end loop;
  v_reasons := why_repair(p_workflow.id) || v_reasons;
  with states as materialized (
    select s.id, s.path, s.job_id, s.kind::text as kind, s.status, exists (
        select from queue q where q.id = s.job_id and q.state = 'suspended') as suspended
    from (
      select s.* from all_steps s where s.workflow_id = p_workflow.id order by s.workflow_id, s.id limit 10000
    ) s
    where s.status in ('running', 'queued', 'blocked')
  ), named as (
    select case when s.suspended then 'suspended' else s.status end as code, count(*) as steps,
      (array_agg(s.path order by s.id))[:10] as paths, (array_agg(s.job_id order by s.id))[1] as job_id
    from states s
    group by 1
  )
  select v_found + count(*), v_reasons || coalesce(jsonb_agg(reason_for(n.code,
      format(case n.code
          when 'running' then 'Running: %s'
          when 'suspended' then 'Suspended until a signal, or until their children have ended: %s'
          when 'queued' then 'Queued: %s'
          else 'Blocked by steps that have not ended: %s' end, names_of(n.paths, n.steps)),
      jsonb_build_object('count', n.steps, 'steps', to_jsonb(n.paths),
        'first', case when n.code in ('queued', 'suspended') then jsonb_build_object('job_id', n.job_id, 'reasons', (
          select why_queued(j, p_now) from live_rows j where j.id = n.job_id and j.state <> 'running')) end))
      order by array_position('{suspended,running,queued,blocked}'::text[], n.code)), '[]')
  into v_found, v_reasons
  from named n;
  if v_found = 0 then
    v_reasons := v_reasons || reason_for('deciding', 'All its steps have ended; the next claim ends it');
  end if;
  return v_reasons || why_deadline(p_workflow);
end $$;

-- Returns how a workflow ended.
create or replace function jobforge.why_finished(p_workflow jobforge.workflows) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_details jsonb := jsonb_build_object('reason', p_workflow.reason, 'finished_at', p_workflow.finished_at,
    'canceled_by', case p_workflow.status when 'canceled' then p_workflow.cancel_by end,
    'cancel_reason', p_workflow.cancel_reason);
  v_failed jsonb := (
    select jsonb_agg(jsonb_build_object('step', s.path, 'status', s.status, 'job_id', s.job_id, 'message',
      coalesce(s.error ->> 'fullMessage', s.error ->> 'message')) order by s.ended_at, s.id)
    from (
      select s.*
      from steps s
      where s.workflow_id = p_workflow.id and s.kind in ('job', 'signal') and s.status in ('failed', 'dead')
      order by s.workflow_id, s.id
      limit 10
    ) s);
begin
  return jsonb_build_array(case
    when p_workflow.reason = 'deadline' then reason_for('deadline',
      format('Failed at %s: it had not ended by its deadline', time_text(p_workflow.finished_at)),
      v_details || jsonb_build_object('deadline', p_workflow.deadline))
    when p_workflow.status = 'failed' then reason_for('failed',
      format('Failed at %s', time_text(p_workflow.finished_at)) || coalesce(': ' || (
        select string_agg(f ->> 'step' || coalesce(' (' || (f ->> 'message') || ')', ''), ', ')
        from jsonb_array_elements(v_failed) f), ''),
      v_details || jsonb_build_object('steps', v_failed))
    when p_workflow.status = 'canceled' then reason_for('canceled',
      format('Canceled at %s by %s', time_text(p_workflow.finished_at), p_workflow.cancel_by)
        || coalesce(': ' || p_workflow.cancel_reason, ''), v_details)
    else reason_for('succeeded', format('Succeeded at %s', time_text(p_workflow.finished_at)), v_details)
  end);
end $$;
