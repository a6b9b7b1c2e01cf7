-- Durable steps: a handler saves what its steps returned (checkpoints), and a run may end as suspended: its job waits
-- for a time, for a signal or for children, without a worker and at the cost of no attempt. Afterwards the handler runs
-- from the top, with its checkpoints.
--
--     settle, status suspended --> start_child_workflows: those children that are workflows
--                                      |
--                                 suspend_runs --> checkpoints: the wait · queue: suspended, or waiting until its time
--                                      |            steps, edges: the children, which the job waits for
--     the last child ends -------------+--> decide --> resume_parents ---+
--     jobforge_send_signal ------------+--> deliver_to_job --------------+--> queue: ready
--     its time comes ------------------+--> promote ---------------------+
--
-- The node of a job that waits for children is its step, or the job itself if it is no part of a workflow.

-- Returns the run that a worker holds. JF003 when it does not. Keeps the run from ending until the transaction ends.
create or replace function jobforge.held_run(p_job_id uuid, p_worker_id text, p_attempt integer) returns jobforge.runs
language plpgsql as $$
declare
  v_bound uuid := jobforge.claimable_tenant(null);
  v_run jobforge.runs;
begin
  select r.* into v_run
  from jobforge.runs r
  where r.id = p_job_id and r.worker_id = p_worker_id and (p_attempt is null or r.attempts = p_attempt)
    and (v_bound is null or (r.tenant_id = v_bound and r.bound))
  for key share;
  if not found then
    perform jobforge.fail_not_held(p_job_id);
  end if;
  return v_run;
end $$;

-- Returns what is wrong with the wait of a suspended run: an error for the run, or null.
create or replace function jobforge.problem_with_wait(p_wait jsonb, p_now timestamptz) returns jsonb
language plpgsql as $$
begin
  perform jobforge.require_wait(p_wait, p_now);
  return null;
exception when sqlstate 'JF002' or sqlstate 'JF008' or sqlstate 'JF014' then
  return jsonb_build_object('name', 'InvalidWait', 'message', sqlerrm);
when program_limit_exceeded or statement_too_complex then
  return '{"name": "InvalidWait", "message": "The wait is too large or nested too deeply"}';
end $$;

-- Raises if {name, until, signals, children, abandon} is not a wait.
create or replace function jobforge.require_wait(p_wait jsonb, p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  if jsonb_typeof(p_wait) is distinct from 'object'
    or p_wait - array['name', 'until', 'signals', 'children', 'abandon'] <> '{}'
    or jsonb_typeof(p_wait -> 'name') is distinct from 'string' or not is_checkpoint_name(p_wait ->> 'name')
  then
    perform fail_argument('wait', 'wait must be an object with name, until, signals, children and abandon');
  elsif jsonb_typeof(p_wait -> 'abandon') not in ('boolean', 'null') then
    perform fail_argument('wait.abandon', 'abandon must be true or false');
  elsif jsonb_typeof(p_wait -> 'until') not in ('string', 'null') or (
    jsonb_typeof(p_wait -> 'until') = 'string' and time_or_null(p_wait ->> 'until') is null)
  then
    perform fail_argument('wait.until', 'until must be a time');
  elsif jsonb_typeof(p_wait -> 'signals') not in ('array', 'null')
    or jsonb_path_exists(p_wait -> 'signals', 'strict $[*] ? (@.type() != "string")')
    or jsonb_array_length(case jsonb_typeof(p_wait -> 'signals') when 'array' then p_wait -> 'signals' else '[]' end) > 100
  then
    perform fail_argument('wait.signals', 'signals must be an array of at most 100 names');
  elsif num_nonnulls(nullif(p_wait -> 'until', 'null'), nullif(p_wait -> 'signals', 'null'),
    nullif(p_wait -> 'children', 'null')) = 0
  then
    perform fail_argument('wait', 'a wait needs until, signals or children');
  elsif jsonb_typeof(p_wait -> 'children') = 'array' then
    if jsonb_array_length(p_wait -> 'children') > 10000 then
      perform fail_workflow_limit('wait.children', 'more than 10000 children of one wait');
    elsif jsonb_path_exists(p_wait -> 'children',
      'strict $[*] ? (exists (@.workflow) && exists (@.keyvalue() ? (
        @.key != "workflow" && @.key != "steps" && @.key != "input" && @.key != "options")))')
    then
      perform fail_argument('wait.children', 'a child that is a workflow has the keys workflow, steps, input and options');
    elsif jsonb_path_exists(p_wait -> 'children',
      'lax $[*].options ? (exists (@.idempotency_key) || exists (@.dedupe_key))')
    then
      perform fail_argument('wait.children', 'children that a job waits for have no keys');
    elsif jsonb_path_exists(p_wait -> 'children', '$[*] ? (exists (@.idempotency_key) || exists (@.dedupe_key))') then
      perform fail_argument('wait.children', 'children that a job waits for have no keys');
    elsif jsonb_path_exists(p_wait -> 'children', '$[*] ? (exists (@.notify))') then
      perform fail_argument('wait.children', 'children that a job waits for tell their parent, and have no notify');
    end if;
    perform child_jobs(p_wait -> 'children', p_now);
  elsif jsonb_typeof(p_wait -> 'children') <> 'null' then
    perform fail_argument('wait.children', 'children must be a JSON array');
  end if;
end $$;

-- Returns whether a text may be the name of a checkpoint.
create or replace function jobforge.is_checkpoint_name(p_name text) returns boolean
language sql immutable parallel safe as $$
  select p_name <> '' and octet_length(p_name) <= 500
$$;

-- Makes the jobs wait whose runs a call has ended as suspended: writes the waits, starts the children, and lets a job
-- run at once whose wait is over. A job that was canceled does not wait. Called in the transaction that ends the runs,
-- by a later statement, so it sees the signals that were sent before.
create or replace function jobforge.suspend_runs(
  p_ends jobforge.run_end[], p_outcomes jobforge.run_outcome[], p_now timestamptz
) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_end record;
begin
  for v_end in
    select e.id, e.wait, e.attempt, o.tenant_id, o.type, coalesce(q.step_id, q.id) as node_id
    from unnest(p_ends) e
    join unnest(p_outcomes) o on o.ord = e.ord and o.outcome = 'ok' and o.status = 'queued'
    -- Found by id, one by one: end_runs forbids nested loops, and a hash join would read the whole queue.
    cross join lateral (select j.id, j.step_id from queue j where j.id = e.id limit 1) q
    where e.wait is not null
    order by e.ord
  loop
    insert into checkpoints (job_id, name, tenant_id, kind, attempt, signals, children, due_at, done, at)
    values (
      v_end.id, v_end.wait ->> 'name', v_end.tenant_id,
      case when coalesce(nullif(v_end.wait -> 'signals', 'null'), nullif(v_end.wait -> 'children', 'null')) is null
        then 'sleep' else 'wait' end,
      coalesce(v_end.attempt, 1), words_of(v_end.wait -> 'signals'),
      coalesce(jsonb_typeof(v_end.wait -> 'children') = 'array', false), time_or_null(v_end.wait ->> 'until'), false, p_now)
    on conflict (job_id, name) do nothing;
    if jsonb_typeof(v_end.wait -> 'children') = 'array' then
      perform start_children(v_end.id, v_end.node_id, v_end.tenant_id, v_end.wait,
        child_jobs(v_end.wait -> 'children', p_now), p_now);
    end if;
    update queue q
    set expires_at = null,
      run_at = case when w.over then p_now else coalesce(w.due_at, p_now) end,
      state = case when w.over then 'ready' when w.due_at is null then 'suspended' else 'waiting' end
    from (
      select c.due_at, c.done or coalesce(c.due_at <= p_now, false)
        or (c.children and not exists (select from edges e where e.dependent_id = v_end.node_id))
        or exists (
          select from signals g where g.target_id = v_end.id and g.name = any (c.signals) and g.taken_by is null) as over
      from checkpoints c
      where c.job_id = v_end.id and c.name = v_end.wait ->> 'name'
    ) w
    where q.id = v_end.id;
  end loop;
end $$;

-- Lets jobs run whose children have all ended. Returns the nodes that must be looked at again, because another
-- transaction holds the job or ends its run at this moment.
create or replace function jobforge.resume_parents(p_nodes uuid[], p_now timestamptz) returns uuid[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_jobs uuid[] := array(
    select coalesce((select s.job_id from steps s where s.id = n.id and s.status is null), n.id)
    from unnest(p_nodes) n(id));
  v_locked uuid[];
  v_held uuid[];
begin
  v_locked := array(
    select q.id
    from queue q
    where q.id = any (v_jobs) and q.state in ('suspended', 'waiting')
      and exists (select from checkpoints c where c.job_id = q.id and c.children and not c.done)
    order by q.id
    for update skip locked);
  perform make_ready_now(v_locked, p_now);
  v_held := array(
    select q.id
    from queue q
    where q.id = any (v_jobs) and q.state in ('suspended', 'waiting') and q.id <> all (v_locked)
      and exists (select from checkpoints c where c.job_id = q.id and c.children and not c.done)
    union all
    select r.id from runs r where r.id = any (v_jobs) and r.xmax <> '0');
  return array(
    select n.id
    from unnest(p_nodes) n(id)
    where coalesce((select s.job_id from steps s where s.id = n.id and s.status is null), n.id) = any (v_held));
end $$;

-- Makes jobs ready that the caller has locked in the queue.
create or replace function jobforge.make_ready_now(p_job_ids uuid[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  update queue q set state = 'ready', run_at = p_now where q.id = any (p_job_ids);
  perform wake(r.type, p_now, p_now, r.tenant_ids)
  from (
    select q.type, array_agg(distinct q.tenant_id) as tenant_ids
    from queue q
    where q.id = any (p_job_ids)
    group by q.type
  ) r;
end $$;

-- Lets a job run that waits for a signal in its mailbox. Returns false if it must be done again: another transaction
-- holds the job, or ends its run at this moment and may not see the signal.
create or replace function jobforge.deliver_to_job(p_job_id uuid, p_now timestamptz) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_locked uuid[];
begin
  v_locked := array(
    select q.id
    from queue q
    where q.id = p_job_id and q.state in ('suspended', 'waiting') and exists (
      select from checkpoints c
      join signals g on g.target_id = q.id and g.name = any (c.signals) and g.taken_by is null
      where c.job_id = q.id and not c.done)
    for update skip locked);
  perform make_ready_now(v_locked, p_now);
  return cardinality(v_locked) > 0 or not exists (
    select from queue q where q.id = p_job_id and q.state in ('suspended', 'waiting')
      and exists (select from checkpoints c
        join signals g on g.target_id = q.id and g.name = any (c.signals) and g.taken_by is null
        where c.job_id = q.id and not c.done)
    union all
    select from runs r where r.id = p_job_id and r.xmax <> '0');
end $$;
