-- Explains why a job is not running now, or how it finished: [{code, message, details}], most important reason first.
-- Reads the current state of the tables; returns null if the tenant has no such job. Secrets are masked as in stored
-- errors.
--  queued   canceling, cancel_requested, expired, paused, scheduled, suspended, deferred, retrying, those of limits,
--           no_worker, behind, next, deadline
--  running  canceling, cancel_requested, running, worker_silent, deadline
--  finished succeeded, failed, dead, canceled, expired
-- The id of a step that has no job says what the step waits for, or why it will never have one: see why_step.sql.
-- A tenant learns nothing of other tenants' jobs but their number where they hold the places of a limit of a type.
-- Operators see them.
-- Who: the tenant itself, operators. Locks nothing; counts at most 1,000 jobs.
create or replace function :"api_schema".jobforge_explain_job(p_job_id uuid, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_job live_rows;
  v_ended archive;
  v_step steps;
  v_reasons jsonb;
begin
  perform require_tenant(p_tenant_id);
  -- A job that leaves the archive between the two reads is found by a second round.
  for i in 1 .. 2 loop
    select j.* into v_job from live_rows j where j.id = p_job_id and j.tenant_id = p_tenant_id;
    if found then
      v_reasons := case v_job.state when 'running' then why_running(v_job, v_now) else why_queued(v_job, v_now) end;
      if v_job.step_id is not null then
        v_reasons := why_in_workflow(v_job.step_id, true) || v_reasons || why_in_workflow(v_job.step_id, false);
      end if;
      exit;
    end if;
    select f.* into v_ended
    from archive f
    where f.id = p_job_id and f.tenant_id = p_tenant_id and f.finished_at >= earliest_finish(p_job_id);
    if found then
      v_reasons := why_ended(v_ended);
      exit;
    end if;
    select s.* into v_step
    from steps s
    where s.id = p_job_id and s.tenant_id = p_tenant_id and s.kind <> 'root'
      and (s.decided_at is null or s.status is not null);
    if found then
      v_reasons := why_step(v_step, v_now);
      exit;
    end if;
  end loop;
  return redact(v_reasons, (select p.redact from policy_of(coalesce(v_job.type, v_ended.type, v_step.type)) p));
end $$;

-- Builds one reason; details have no nulls.
create or replace function jobforge.reason_for(p_code text, p_message text, p_details jsonb default '{}') returns jsonb
language sql immutable as $$
  select jsonb_build_object('code', p_code, 'message', p_message, 'details', jsonb_strip_nulls(p_details))
$$;

-- Formats a time for people: in UTC, to the second.
create or replace function jobforge.time_text(p_at timestamptz) returns text
language sql immutable as $$
  select to_char(p_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
$$;

-- Returns the reasons of a queued job.
create or replace function jobforge.why_queued(p_job jobforge.live_rows, p_now timestamptz) returns jsonb
language plpgsql as $$
declare
  v_reasons jsonb := jobforge.why_canceling(p_job);
begin
  if p_job.state = 'suspended' then
    return v_reasons || coalesce(jobforge.why_suspended(p_job), '[]');
  elsif p_job.expires_at <= p_now then
    v_reasons := v_reasons || jobforge.reason_for('expired',
      format('Expired at %s before it started; it will be canceled soon', jobforge.time_text(p_job.expires_at)),
      jsonb_build_object('expires_at', p_job.expires_at));
  end if;
  v_reasons := v_reasons || jobforge.why_paused(p_job.tenant_id, p_job.type, p_now)
    || jobforge.why_later(p_job, p_now) || jobforge.why_limited(p_job, p_now) || jobforge.why_no_worker(p_job, p_now);
  if p_job.run_at <= p_now then
    v_reasons := v_reasons || jobforge.why_behind(p_job);
  end if;
  return v_reasons;
end $$;

-- The job's cancellation was requested.
create or replace function jobforge.why_canceling(p_job jobforge.live_rows) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jobforge.reason_for('cancel_requested',
    format('%s asked at %s to cancel it', c.requested_by, jobforge.time_text(c.requested_at))
      || case p_job.state when 'running' then '; it is canceled when its run ends' else '; it will be canceled soon' end,
    jsonb_build_object('requested_by', c.requested_by, 'requested_at', c.requested_at))), '[]')
  from jobforge.cancel_requests c
  where c.job_id = p_job.id
$$;

-- Returns what a sentence calls the tenant: 'tenant Acme', or 'tenant' if it has no label.
create or replace function jobforge.tenant_words(p_tenant_id uuid) returns text
language sql stable as $$
  select 'tenant' || coalesce(' ' || jobforge.label_of(p_tenant_id), '')
$$;

-- Gates are closed for a type and tenant, or with no type for the tenant.
create or replace function jobforge.why_paused(p_tenant_id uuid, p_type text, p_now timestamptz) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(jobforge.reason_for('paused',
      format('%s was paused by %s at %s',
        case g.scope when 'all' then 'Everything' when 'type' then 'The type'
          else 'The ' || jobforge.tenant_words(p_tenant_id) end,
          g.set_by, jobforge.time_text(g.set_at))
        || coalesce(' until ' || jobforge.time_text(g.until), '') || coalesce(': ' || g.reason, ''),
      jsonb_build_object('scope', g.scope, 'key', nullif(g.key, ''), 'set_by', g.set_by, 'set_at', g.set_at,
        'until', g.until,
        'reason', g.reason)) order by g.scope), '[]')
  from jobforge.gates g
  where (g.scope, g.key) in (('all', ''), ('type', p_type), ('tenant', p_tenant_id::text))
    and (g.until is null or g.until > p_now)
$$;

-- The job is not due yet, because it was planned for later, was deferred, or failed and waits for its retry. A
-- job that failed says so also after its retry became due.
create or replace function jobforge.why_later(p_job jobforge.live_rows, p_now timestamptz) returns jsonb
language plpgsql stable as $$
declare
  v_last text := (
    select a.status from jobforge.attempts a where a.job_id = p_job.id and a.attempt_no = p_job.attempts);
  v_details jsonb := jsonb_build_object('run_at', p_job.run_at, 'attempts', p_job.attempts,
    'max_attempts', p_job.max_attempts);
begin
  if v_last in ('failed', 'lost') then
    return jsonb_build_array(jobforge.reason_for('retrying',
      format('Attempt %s of %s %s (%s); ', p_job.attempts - p_job.uncounted, p_job.max_attempts,
          case v_last when 'lost' then 'was lost' else 'failed' end,
          coalesce(p_job.error ->> 'fullMessage', p_job.error ->> 'message', 'no error'))
        || case when p_job.run_at > p_now then 'tried again at ' || jobforge.time_text(p_job.run_at)
          else 'due again' end,
      v_details || jsonb_build_object('error', p_job.error)));
  elsif p_job.run_at > p_now and jobforge.why_suspended(p_job) is not null then
    return jsonb_build_array(jobforge.why_suspended(p_job));
  elsif p_job.run_at <= p_now then
    return '[]';
  elsif v_last = 'deferred' then
    return jsonb_build_array(jobforge.reason_for('deferred',
      format('Its handler deferred it until %s', jobforge.time_text(p_job.run_at)), v_details));
  end if;
  return jsonb_build_array(jobforge.reason_for('scheduled',
    format('Scheduled for %s', jobforge.time_text(p_job.run_at)), v_details
      || jsonb_build_object('schedule_id', p_job.schedule_id)));
end $$;

-- Limits hold the job back, each as one reason: at_limit with the jobs that hold the places, rate_limited with the
-- time of the next token. Only the limit of a type counts the jobs of other tenants.
create or replace function jobforge.why_limited(p_job jobforge.live_rows, p_now timestamptz) returns jsonb
language plpgsql stable as $$
declare
  v_slot constant jobforge.slot := row(p_job.type, p_job.tenant_id, p_job.concurrency_key);
  v_reasons jsonb := '[]';
  v_bucket jobforge.bucket;
  v_room record;
  v_what text;
begin
  for v_bucket in
    select b.* from unnest('{type,tenant,type_tenant,key}'::text[]) s(scope)
      cross join lateral jobforge.buckets_of(s.scope, array[v_slot]) b
  loop
    v_room := jobforge.room_in(v_bucket, p_now);
    v_what := case v_bucket.scope
      when 'type' then 'the type ' || p_job.type
      when 'tenant' then 'the ' || jobforge.tenant_words(p_job.tenant_id)
      when 'type_tenant' then format('the type %s of the %s', p_job.type, jobforge.tenant_words(p_job.tenant_id))
      else format('the concurrency key %s', p_job.concurrency_key)
    end;
    if v_bucket.scope = 'key'
      and jobforge.held_until(p_job.tenant_id, p_job.type, p_job.concurrency_key) > p_now
    then
      v_reasons := v_reasons || jobforge.why_held(p_job, v_what, p_now);
    elsif v_room.room = 0 and v_room.next_at is not null then
      v_reasons := v_reasons || jobforge.reason_for('rate_limited',
        format('%s starts in each %s of %s are used up; the next is free at %s', v_bucket.rate, v_bucket.per, v_what,
          jobforge.time_text(v_room.next_at)),
        jsonb_build_object('scope', v_bucket.scope, 'rate', v_bucket.rate, 'per', v_bucket.per,
          'burst', v_bucket.burst, 'until', v_room.next_at));
    elsif v_room.room = 0 or v_room.only_id <> p_job.id then
      v_reasons := v_reasons || jobforge.reason_for('at_limit',
        format('At most %s of %s run at once', coalesce(v_bucket.max_running, 1), v_what)
          || case when v_room.room = 0 then '' else format(', in their order: %s comes first', v_room.only_id) end,
        jsonb_build_object('scope', v_bucket.scope, 'max_running', coalesce(v_bucket.max_running, 1),
          'first', v_room.only_id)
          || jobforge.held_in(v_bucket, p_job.tenant_id));
    end if;
  end loop;
  return v_reasons;
end $$;

-- The concurrency key of the job is held until a time.
create or replace function jobforge.why_held(p_job jobforge.live_rows, p_what text, p_now timestamptz) returns jsonb
language sql stable as $$
  select jsonb_build_array(jobforge.reason_for('held',
    format('%s is held %s: %s', p_what,
      case when isfinite(h.until) then 'until ' || jobforge.time_text(h.until) else 'until that is lifted' end, h.reason),
    jsonb_build_object('concurrency_key', h.concurrency_key, 'until', case when isfinite(h.until) then h.until end,
      'reason', h.reason)))
  from jobforge.key_holds h
  where h.tenant_id = p_job.tenant_id and h.type = p_job.type and h.concurrency_key = p_job.concurrency_key
    and h.until > p_now
  order by h.until desc
  limit 1
$$;

-- Returns the running jobs that hold the places of a limit: {held_by, held_by_others}. held_by has up to ten of those
-- that the caller may know: an operator who names no tenant all, others those of the job's tenant. held_by_others
-- counts the rest, up to 1,000, without naming them.
create or replace function jobforge.held_in(p_bucket jobforge.bucket, p_tenant_id uuid) returns jsonb
language plpgsql stable as $$
declare
  v_operator constant boolean := jobforge.caller_tenant() is null and jobforge.caller_is('jobforge_operator');
begin
  return jsonb_build_object(
    'held_by', (
      select coalesce(jsonb_agg(to_jsonb(h)), '[]')
      from (
        select j.id as job_id, j.worker_id, j.started_at
        from jobforge.runs j
        where (v_operator or j.tenant_id = p_tenant_id)
          and (p_bucket.type is null or j.type = p_bucket.type)
          and (p_bucket.tenant_id is null or j.tenant_id = p_bucket.tenant_id)
          and (p_bucket.concurrency_key is null or j.concurrency_key = p_bucket.concurrency_key)
        order by j.started_at, j.id
        limit 10
      ) h),
    'held_by_others', case when p_bucket.scope = 'type' and not v_operator then (
      select count(*)
      from (
        select from jobforge.runs j
        where j.type = p_bucket.type and j.tenant_id <> p_tenant_id
        limit 1000
      ) o) end);
end $$;

-- No worker that heartbeats has a handler for the type and serves this tenant.
create or replace function jobforge.why_no_worker(p_job jobforge.live_rows, p_now timestamptz) returns jsonb
language sql stable as $$
  select case when count(*) filter (where w.types is null or p_job.type = any (w.types)) > 0 then '[]'
    else jsonb_build_array(jobforge.reason_for('no_worker',
      format('No live worker handles the type %s', p_job.type)
        || case count(*) when 0 then ': none is alive' else format('; %s alive for others', count(*)) end,
      jsonb_build_object('type', p_job.type, 'workers_alive', count(*)))) end
  from (
    select jobforge.worker_types(w.info) as types
    from jobforge.workers w
    where jobforge.is_alive(w, p_now)
      and w.scope in (p_job.tenant_id, jobforge.all_tenants())
  ) w
$$;

-- Counts how many of the tenant's jobs of this type come first: those with a higher priority, or older. Counts up to
-- 1,000, priority by priority, because a tenant's jobs are adjacent in the index only within one priority.
create or replace function jobforge.why_behind(p_job jobforge.live_rows) returns jsonb
language plpgsql stable as $$
declare
  v_most constant integer := 1000;
  v_rank integer := -2147483648;
  v_ranks integer := 0;
  v_ahead integer := 0;
begin
  while v_ahead < v_most and v_ranks < 100 loop
    select j.rank into v_rank
    from jobforge.queue j
    where j.state = 'ready' and j.type = p_job.type and j.rank > v_rank and j.rank <= p_job.rank
    order by j.rank
    limit 1;
    exit when not found;
    v_ranks := v_ranks + 1;
    v_ahead := v_ahead + (
      select count(*)
      from (
        select from jobforge.queue j
        where j.state = 'ready' and j.type = p_job.type and j.rank = v_rank and j.lane = p_job.lane
          and j.tenant_id = p_job.tenant_id
          and (v_rank < p_job.rank or (j.run_at, j.seq) < (p_job.run_at, p_job.seq))
        limit v_most - v_ahead
      ) j);
    exit when v_rank = p_job.rank;
  end loop;
  if v_ahead = 0 then
    return jsonb_build_array(jobforge.reason_for('next',
      'The next of the tenant''s jobs of this type: it starts when a worker is free and it is the tenant''s turn'));
  end if;
  return jsonb_build_array(jobforge.reason_for('behind',
    format('Behind %s of the tenant''s jobs of this type',
      case when v_ahead < v_most then v_ahead::text else '1000 or more' end),
    jsonb_build_object('ahead', v_ahead, 'exact', v_ahead < v_most and v_ranks < 100)));
end $$;

-- Returns the reasons of a running job: who holds the lease, and whether that worker is still alive.
create or replace function jobforge.why_running(p_job jobforge.live_rows, p_now timestamptz) returns jsonb
language plpgsql stable as $$
declare
  v_seen_at timestamptz := (
    select max(w.seen_at)
    from jobforge.workers w
    where w.id = p_job.worker_id and w.scope in (p_job.tenant_id, jobforge.all_tenants()));
  v_heard_at timestamptz := greatest(p_job.started_at, p_job.heartbeat_at, v_seen_at);
  v_reasons jsonb := jobforge.why_canceling(p_job);
begin
  v_reasons := v_reasons || jobforge.reason_for('running',
    format(case when p_job.handed then 'Handed to worker %s at %s by its enqueue, in attempt %s'
        else 'Worker %s has held the lease since %s, in attempt %s' end, p_job.worker_id,
      jobforge.time_text(p_job.started_at), p_job.attempts),
    jsonb_build_object('worker_id', p_job.worker_id, 'since', p_job.started_at, 'attempt', p_job.attempts,
      'handed', p_job.handed, 'heard_at', v_heard_at, 'progress', case when jobforge.is_small(p_job.progress) then p_job.progress
        else to_jsonb(left(p_job.progress::text, 8000)) end));
  if v_heard_at < p_now - 3 * jobforge.heartbeat_interval() then
    v_reasons := v_reasons || jobforge.reason_for('worker_silent',
      format('Worker %s was last seen at %s; the run is lost when its lease expires', p_job.worker_id,
        jobforge.time_text(v_heard_at)),
      jsonb_build_object('worker_id', p_job.worker_id, 'heard_at', v_heard_at, 'heartbeats', v_seen_at is not null));
  end if;
  return v_reasons;
end $$;

-- Returns the reason of a finished job.
create or replace function jobforge.why_ended(p_job jobforge.archive) returns jsonb
language sql stable as $$
  select jsonb_build_array(jobforge.reason_for(
    case p_job.reason when 'expired' then 'expired' else p_job.status end,
    format(case p_job.reason
        when 'done' then 'Succeeded at %1$s in attempt %2$s'
        when 'refused' then 'Failed at %1$s in attempt %2$s, and its handler refused a retry: %3$s'
        when 'failed' then 'The run failed at %1$s, and its schedule goes on: %3$s'
        when 'exhausted' then 'Dead since %1$s, after its last attempt (%2$s): %3$s'
        when 'crashed' then 'Dead since %1$s: its workers were lost three times in a row, the last time in attempt %2$s: %3$s'
        when 'expired' then 'Expired: it had not started at %4$s'
        else 'Canceled at %1$s' || coalesce(' by ' || c.actor, '') end,
      jobforge.time_text(p_job.finished_at), p_job.attempts,
      coalesce(p_job.error ->> 'fullMessage', p_job.error ->> 'message', 'no error'),
      jobforge.time_text(p_job.expires_at)),
    jsonb_build_object('reason', p_job.reason, 'finished_at', p_job.finished_at, 'attempts', p_job.attempts,
      'max_attempts', p_job.max_attempts, 'error', p_job.error, 'canceled_by', c.actor,
        'expires_at', p_job.expires_at)))
  from (select 1) one
  left join lateral (
    select a.actor
    from jobforge.audit_log a
    where a.entity_type = 'job' and a.entity_id = p_job.id::text and a.action = 'JOB_CANCELED'
      and p_job.reason = 'canceled'
    order by a.id desc
    limit 1
  ) c on true
$$;

-- The job waits for a time, for a signal or for its children: the reason, or null.
create or replace function jobforge.why_suspended(p_job jobforge.live_rows) returns jsonb
language sql stable as $$
  select jobforge.reason_for('suspended',
    case
      when c.signals is not null then 'Its handler waits for the signal ' || array_to_string(c.signals, ' or ')
      when c.children then format('Its handler waits for its children; %s have not ended', n.open)
      else 'Its handler sleeps'
    end || coalesce(' until ' || jobforge.time_text(c.due_at), ''),
    jsonb_strip_nulls(jsonb_build_object('wait', c.name, 'signals', to_jsonb(c.signals), 'until', c.due_at,
      'children', case when c.children then n.open end)))
  from jobforge.checkpoints c
  cross join lateral (
    select count(*) as open from jobforge.edges e where e.dependent_id = coalesce(p_job.step_id, p_job.id)) n
  where c.job_id = p_job.id and c.kind in ('sleep', 'wait') and not c.done
  order by c.at desc
  limit 1
$$;
