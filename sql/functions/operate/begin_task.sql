-- Maintenance tasks: who does one, and what happens when one fails.

-- Returns whether a maintenance task is due (p_every null: always), the caller may do it, and no other session is
-- doing it. If so, the caller's transaction holds the task until it ends. A role that is bound to a tenant does no
-- maintenance: its transaction may stay open, and until it ends no other session could do the task.
create or replace function jobforge.begin_task(p_task text, p_now timestamptz, p_every interval) returns boolean
language plpgsql as $$
begin
  -- Read first: most calls come too early and must not write.
  if not exists (
    select from jobforge.maintenance m
    where m.task = p_task and (p_every is null or p_now >= m.ran_at + p_every or p_now < m.ran_at - p_every)
  ) then
    return false;
  end if;
  if jobforge.bound_tenant() is not null then
    return false;
  end if;
  perform from jobforge.maintenance m where m.task = p_task for update skip locked;
  if not found then
    return false;
  end if;
  update jobforge.maintenance set ran_at = p_now where task = p_task;
  return true;
end $$;

-- Runs the steps of a task that the caller has begun, each alone: a step that fails undoes only its own changes. It
-- fails neither the other steps nor the heartbeat or claim that does the maintenance, because these must go on while
-- an operator repairs the cause. The task is tried again after its interval. Returns how much the steps did; null if
-- all failed. A canceled statement is not a failure of the step, so the caller's statement_timeout still counts.
create or replace function jobforge.run_steps(p_task text, p_steps text[], p_now timestamptz, p_limit integer)
returns integer
language plpgsql as $$
declare
  v_step text;
  v_done integer;
  v_total integer;
begin
  foreach v_step in array p_steps loop
    begin
      v_done := jobforge.run_step(v_step, p_now, p_limit);
      v_total := coalesce(v_total, 0) + v_done;
    exception when others then
      perform jobforge.record_failure(p_task, v_step, sqlerrm, p_now);
    end;
  end loop;
  update jobforge.maintenance m
  set failures = 0, failed_at = null, error = null
  where m.task = p_task and m.failures > 0 and m.failed_at <> p_now;
  return v_total;
end $$;

-- Runs one step of a task. Returns how much it did. Each step is a statement of its own, so that a step that cannot be
-- parsed, because something that it needs is gone, stops no other.
create or replace function jobforge.run_step(p_step text, p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
begin
  case p_step
    when 'apply_cancel_requests' then return jobforge.apply_cancel_requests(p_now, p_limit);
    when 'do_wakeups' then return jobforge.do_wakeups(null, p_now, least(p_limit, 100));
    when 'reclaim' then return jobforge.reclaim(p_now, p_limit);
    when 'expire' then return jobforge.expire(p_now, p_limit);
    when 'empty_outbox' then return jobforge.empty_outbox(p_now, p_limit);
    when 'fold_ends' then return jobforge.fold_ends(null, p_now, p_limit);
    when 'fold_webhook_ends' then return jobforge.fold_webhook_ends(p_now, p_limit);
    when 'unpark_due' then return jobforge.unpark_due(p_now);
    when 'count_early_runs' then
      if (jobforge.claim_rules()).early then
        perform jobforge.count_early_runs(p_now);
      end if;
      return 0;
    when 'forget' then return jobforge.forget(p_now, p_limit);
    when 'forget_workflows' then return jobforge.forget_workflows(p_now, p_limit);
    when 'count_pending' then return jobforge.count_pending(p_now, p_limit);
    when 'roll_up_usage' then return (jobforge.roll_up_usage(p_now)).merged;
    when 'sample_depth' then return jobforge.sample_depth(p_now);
    when 'maintain_next_leaves' then return jobforge.maintain_next_leaves(p_now);
    when 'empty_default_leaves' then return jobforge.empty_default_leaves(p_now, p_limit);
    when 'retire_leaves' then return jobforge.retire_leaves(p_now, p_limit);
  end case;
end $$;

-- Records that a step of a task has failed. Steps that fail in the same run count as one failure of the task. The
-- error is short and without secrets, because readers see it in jobforge_health. The caller holds the task, so this
-- does not wait.
create or replace function jobforge.record_failure(p_task text, p_step text, p_error text, p_now timestamptz)
returns void
language plpgsql as $$
declare
  v_error text := p_step || ': ' || jobforge.redact_text(left(p_error, 300), '{}');
begin
  update jobforge.maintenance m
  set failures = m.failures + (m.failed_at is distinct from p_now)::integer,
    failed_at = p_now,
    error = left(case when m.failed_at = p_now then m.error || '; ' || v_error else v_error end, 1000)
  where m.task = p_task;
end $$;

-- Makes a task due again at once, because it has more to do.
create or replace function jobforge.repeat_task(p_task text) returns void
language plpgsql as $$
begin
  update jobforge.maintenance m set ran_at = '-infinity' where m.task = p_task;
end $$;
