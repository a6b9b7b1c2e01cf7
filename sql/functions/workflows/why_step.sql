-- Returns why a step has no job: what it waits for, or how it ended. See explain_workflow.sql for workflows, and
-- read/explain_job.sql for steps that have a job.
create or replace function jobforge.why_step(p_step jobforge.steps, p_now timestamptz) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_workflow workflows := (select w from workflows w where w.id = p_step.workflow_id);
  v_reasons jsonb;
begin
  if p_step.status is not null then
    return why_step_ended(p_step);
  end if;
  v_reasons := why_stopping(v_workflow) || why_paused(p_step.tenant_id, p_step.type, p_now) || why_canceling_step(p_step.id);
  if p_step.kind = 'signal' and p_step.opened_at is not null then
    v_reasons := v_reasons || why_signal(p_step);
  elsif p_step.opened_at is not null then
    v_reasons := v_reasons || why_open(p_step);
  else
    v_reasons := v_reasons || why_blocked(p_step, p_now);
  end if;
  return v_reasons || why_deadline(v_workflow);
end $$;

-- Returns what the workflow of a job's step means for the job: that it is being stopped, and its deadline.
create or replace function jobforge.why_in_workflow(p_step_id uuid, p_stopping boolean) returns jsonb
language sql stable as $$
  select coalesce((
    select case when p_stopping then jobforge.why_stopping(w) else jobforge.why_deadline(w) end
    from jobforge.steps s
    join jobforge.workflows w on w.id = s.workflow_id
    where s.id = p_step_id), '[]')
$$;

-- Returns up to ten names as a part of a sentence: a, b and 3 more.
create or replace function jobforge.names_of(p_names text[], p_count bigint) returns text
language sql immutable as $$
  select array_to_string(p_names[:10], ', ')
    || case when p_count > 10 then format(' and %s more', p_count - 10) else '' end
$$;

-- The workflow is being stopped.
create or replace function jobforge.why_stopping(p_workflow jobforge.workflows) returns jsonb
language sql stable as $$
  select case when p_workflow.cancel_at is null or p_workflow.status <> 'running' then '[]'
    else jsonb_build_array(jobforge.reason_for('canceling',
      case p_workflow.stop_reason
        when 'failed' then format('A step failed at %s, so the workflow stops', jobforge.time_text(p_workflow.cancel_at))
        when 'deadline' then format('The deadline of the workflow passed, so it stops since %s',
          jobforge.time_text(p_workflow.cancel_at))
        else format('%s canceled the workflow at %s', p_workflow.cancel_by, jobforge.time_text(p_workflow.cancel_at))
      end || coalesce(': ' || p_workflow.cancel_reason, '') || '; only cleanup steps start',
      jsonb_build_object('workflow_id', p_workflow.id, 'at', p_workflow.cancel_at, 'by', p_workflow.cancel_by,
        'why', p_workflow.stop_reason, 'reason', p_workflow.cancel_reason)))
  end
$$;

-- The cancellation of a step that has no job yet was requested.
create or replace function jobforge.why_canceling_step(p_step_id uuid) returns jsonb
language sql stable as $$
  select case when exists (select from jobforge.dooms d where d.node_id = p_step_id and d.need_id = p_step_id)
    then jsonb_build_array(jobforge.reason_for('cancel_requested',
      'It was canceled; it ends when the steps that it needs have ended'))
    else '[]'
  end
$$;

-- The workflow has a deadline.
create or replace function jobforge.why_deadline(p_workflow jobforge.workflows) returns jsonb
language sql stable as $$
  select case when p_workflow.deadline is null or p_workflow.status <> 'running' then '[]'
    else jsonb_build_array(jobforge.reason_for('deadline',
      format('The workflow fails if it has not ended by %s', jobforge.time_text(p_workflow.deadline)),
      jsonb_build_object('workflow_id', p_workflow.id, 'deadline', p_workflow.deadline)))
  end
$$;

-- A signal step is open: it waits for a signal.
create or replace function jobforge.why_signal(p_step jobforge.steps) returns jsonb
language sql stable as $$
  select jsonb_build_array(jobforge.reason_for('waits_for_signal',
    format('Step %s waits for the signal %s', p_step.path, p_step.spec ->> 'signal')
      || coalesce(' until ' || jobforge.time_text(u.until), ''),
    jsonb_build_object('workflow_id', p_step.workflow_id, 'step', p_step.path, 'signal', p_step.spec ->> 'signal',
      'since', p_step.opened_at, 'until', u.until)))
  from (
    select p_step.opened_at + (p_step.spec ->> 'timeout_ms')::bigint * interval '1 millisecond' as until
  ) u
$$;

-- A map or a sub-workflow is open: its members run. Counts up to 1,000 that have not ended.
create or replace function jobforge.why_open(p_step jobforge.steps) returns jsonb
language sql stable as $$
  select jsonb_build_array(jobforge.reason_for('open',
    format(case p_step.kind when 'map' then 'Waits for its items: %s' else 'Waits for its steps: %s' end,
      case when m.count = 0 then 'they are being decided' else jobforge.names_of(m.paths, m.count) end),
    jsonb_build_object('workflow_id', p_step.workflow_id, 'step', p_step.path, 'left', m.count,
      'exact', m.count < 1000, 'steps', to_jsonb(m.paths[:10]))))
  from (
    select count(*), array_agg(s.path order by s.ord) as paths
    from (
      select n.path, n.ord
      from jobforge.edges e
      cross join lateral (select n.* from jobforge.steps n where n.id = e.need_id limit 1) n
      where e.dependent_id = p_step.id and e.need_id <> p_step.id
      order by e.dependent_id, e.need_id
      limit 1000
    ) s
  ) m
$$;

-- A step waits for its needs: for a repair of those that ended badly, and for those that have not ended. Counts up to
-- 1,000 needs.
create or replace function jobforge.why_blocked(p_step jobforge.steps, p_now timestamptz) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_begin timestamptz := (
    select w.due_at
    from wakeups w
    where w.tenant_id = p_step.tenant_id and w.node_id = p_step.id and w.what = 'begin'
    limit 1);
  v_reasons jsonb;
begin
  select coalesce(jsonb_agg(reason_for(n.code,
      case n.code
        when 'blocked' then 'Waits for ' || names_of(n.names, n.count)
        else format('Waits until %s is retried or resolved', names_of(n.names, n.count)) end,
      jsonb_build_object('workflow_id', p_step.workflow_id, 'step', p_step.path, 'count', n.count,
        'exact', n.count < 1000, 'needs', n.needs)) order by n.code desc), '[]')
  into v_reasons
  from (
    select n.code, count(*), (array_agg(format('%s (%s)', n.path, n.status) order by n.nth))[:10] as names,
      jsonb_agg(jsonb_build_object('step', n.path, 'status', n.status, 'policy', n.policy) order by n.nth)
        filter (where n.nth <= 10) as needs
    from (
      select x.*, row_number() over (partition by x.code order by x.ord) as nth
      from (
        select s.path, s.status, s.index as ord, e.policy,
          case when s.ended_at is null then 'blocked' else 'waits_for_repair' end as code
        from (
          select e.need_id, policy_name(e.policy) as policy
          from edges e
          where e.dependent_id = p_step.id and e.need_id <> p_step.id
          order by e.dependent_id, e.need_id
          limit 1000
        ) e
        cross join lateral (select s.* from all_steps s where s.id = e.need_id limit 1) s
      ) x
    ) n
    group by n.code
  ) n;
  if v_begin > p_now then
    v_reasons := v_reasons || reason_for('scheduled', format('Scheduled for %s', time_text(v_begin)),
      jsonb_build_object('run_at', v_begin));
  elsif v_reasons = '[]' then
    v_reasons := v_reasons || reason_for('deciding', 'All its needs have ended; the next claim starts it');
  end if;
  return v_reasons;
end $$;

-- Steps of a workflow wait for a need that ended badly, by the policy wait.
create or replace function jobforge.why_repair(p_workflow_id uuid) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jobforge.reason_for('waits_for_repair',
    format('Step %s waits until %s is retried or resolved', r.step, jobforge.names_of(r.needs, r.count)),
    jsonb_build_object('workflow_id', p_workflow_id, 'step', r.step, 'count', r.count, 'needs', to_jsonb(r.needs)))
    order by r.id), '[]')
  from (
    select d.id, d.path as step, count(*), (array_agg(format('%s (%s)', n.path, n.status) order by n.id))[:10] as needs
    from (
      select n.id, n.path, n.status
      from jobforge.steps n
      where n.workflow_id = p_workflow_id and n.status <> 'succeeded'
      order by n.workflow_id, n.id
      limit 1000
    ) n
    join jobforge.edges e on e.need_id = n.id and e.policy = 'w'
    join jobforge.steps d on d.id = e.dependent_id and d.decided_at is null
    group by d.id
    order by d.id
    limit 10
  ) r
$$;

-- Returns how a step ended that has no job, or whose job is forgotten.
create or replace function jobforge.why_step_ended(p_step jobforge.steps) returns jsonb
language sql stable as $$
  select jsonb_build_array(jobforge.reason_for(
    case p_step.reason when 'skipped' then 'skipped' when 'need_failed' then 'need_failed' else p_step.status end,
    format(case
        when p_step.reason = 'need_failed' then 'Canceled at %1$s, because a step that it needs ended badly: %2$s'
        when p_step.reason = 'skipped' then 'Skipped at %1$s, because of the steps that it needs: %2$s'
        when p_step.reason = 'resolved' then 'Resolved by hand at %1$s'
        when p_step.reason = 'timed_out' then 'No signal came in time; it ended at %1$s'
        when p_step.status = 'succeeded' then 'Succeeded at %1$s'
        when p_step.status = 'canceled' then 'Canceled at %1$s'
        else 'Failed at %1$s: %3$s' end,
      jobforge.time_text(p_step.ended_at), jobforge.names_of(n.names, n.count),
      coalesce(p_step.error ->> 'message', 'no error')),
    jsonb_build_object('workflow_id', p_step.workflow_id, 'step', p_step.path, 'reason', p_step.reason,
      'finished_at', p_step.ended_at, 'error', p_step.error, 'needs', n.needs)))
  from (
    select count(*), array_agg(format('%s (%s)', n.path, n.status) order by n.index) as names,
      jsonb_agg(jsonb_build_object('step', n.path, 'status', n.status, 'policy', n.policy) order by n.index)
        as needs
    from (
      select s.path, s.status, s.index, x.policy
      from jsonb_to_recordset(case when p_step.reason in ('need_failed', 'skipped') then p_step.spec -> 'needs'
        else '[]' end) x(step text, policy text)
      cross join lateral (
        select f.id from jobforge.steps f where f.group_id = p_step.group_id and f.name = x.step limit 1) f
      cross join lateral (select s.* from jobforge.all_steps s where s.id = f.id limit 1) s
      where (x.policy = 'compensate') = (s.status in ('succeeded', 'skipped'))
      limit 10
    ) n
  ) n
$$;
