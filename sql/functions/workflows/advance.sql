-- How workflows move on.
--
--     jobforge_start_workflow    end_runs, finish_queued       claims, heartbeats, jobforge_maintain
--         | read_steps               | end_steps                       | do_wakeups
--         | insert_steps             |                                 |
--         |                          +---------> advance <-------------+
--         |                                         |
--         |            A  the ends of steps         |   steps: status, result
--         |                                         |   edges: deleted; dooms: what a bad end means
--         |            B  look at who waited        |   edges left, one not stamped: its end comes later
--         |                                         |   edges left, all stamped: busy, a wakeup
--         |                                         v   none left: free
--         |            C  lock the free nodes ---- decide
--         |                                         |
--         +-------------> D                     decide_steps <--------------------+
--                                                   |                             |
--              job: start_jobs -> queue             | map, group: open, or end    | steps of a group that opens
--              signal: open, or take a signal       | root: end the workflow      |
--                                                   +-- open_step ----------------+
--                                                   |
--                                                   +--> further ends: the next wave of A
--
-- A need that has not ended is a row of jobforge.edges. The end of the need deletes the row. There are no counters, and
-- no transaction waits for a lock: whether a node is free is read from the rows that are left. A row whose xmax is not
-- zero is being deleted by a transaction in flight. If all that is left is like that, none of these transactions may
-- see that it is the last one, so each leaves a wakeup, and the next claim looks again.
--
-- No decision is lost: let Z be the last end of a need of a node to stamp its edge. After its own delete Z sees every
-- other edge gone or stamped. If all are gone, Z decides. If not, Z leaves a wakeup, and a wakeup is deleted only when
-- the node is free or has an edge that is not stamped. After Z there is none, so it stays until the node is free. Two
-- decisions are excluded by the lock on the node's row and decided_at.

-- Ends steps whose jobs have ended, and starts what has waited for them, in the transaction that ends the jobs. One bad
-- step spoils no settle: if it raises, the ends are kept as wakeups and done one by one later. So are they in a
-- transaction above READ COMMITTED, whose old snapshot does not show what others have done meanwhile. Waits for nothing
-- that an application can hold.
create or replace function jobforge.end_steps(p_ends jobforge.step_end[], p_now timestamptz) returns void
language plpgsql as $$
begin
  if current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
    perform jobforge.keep_ends(p_ends, null, p_now);
    return;
  end if;
  begin
    perform jobforge.leave_looks(jobforge.advance(p_ends, '{}', '{}', p_now), p_now);
  exception when others then
    perform jobforge.keep_ends(p_ends, sqlerrm, p_now);
  end;
end $$;

-- Keeps ends of steps as wakeups, with the error that kept them from being recorded.
create or replace function jobforge.keep_ends(p_ends jobforge.step_end[], p_error text, p_now timestamptz) returns void
language plpgsql as $$
begin
  insert into jobforge.wakeups (tenant_id, node_id, what, data, due_at)
  select s.tenant_id, e.id, 'end', jsonb_build_object('end', to_jsonb(e), 'error', p_error), p_now
  from unnest(p_ends) e
  cross join lateral (select s.tenant_id from jobforge.steps s where s.id = e.id limit 1) s;
  perform jobforge.wake_all(p_now);
end $$;

-- Leaves wakeups for nodes that a claim must look at again.
create or replace function jobforge.leave_looks(p_nodes uuid[], p_now timestamptz) returns void
language plpgsql as $$
begin
  if cardinality(p_nodes) > 0 then
    insert into jobforge.wakeups (tenant_id, node_id, what, due_at)
    select n.tenant_id, i.id, 'look', p_now
    from unnest(p_nodes) i(id)
    cross join lateral (
      select s.tenant_id from jobforge.steps s where s.id = i.id
      union all
      select j.tenant_id from jobforge.live_rows j where j.id = i.id
      limit 1
    ) n;
    perform jobforge.wake_all(p_now);
  end if;
end $$;

-- Records the ends of steps, and decides what has waited for them, wave by wave. One end releases at most 1,000 nodes,
-- and one call follows 100 waves; wakeups do the rest, so no settle grows with the graph.
--   p_rest needs that have ended before and still have edges
--   p_look nodes to look at in addition
-- Returns the nodes that must be looked at again. Locks steps without waiting.
create or replace function jobforge.advance(
  p_ends jobforge.step_end[], p_rest uuid[], p_look uuid[], p_now timestamptz
) returns uuid[]
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set enable_nestloop = on
set plan_cache_mode = force_generic_plan as $$
declare
  v_ends step_end[] := p_ends;
  v_ended uuid[] := p_rest;
  v_touched uuid[];
  v_decided record;
  v_held uuid[] := '{}';
  v_bad boolean;
  v_count integer;
begin
  for v_wave in 1 .. 100 loop
    -- A. The ends, then the edges that lead to them. Two statements: who adds an edge to a need, and sees that the need
    -- is not stamped, has committed before the second one begins.
    if cardinality(v_ends) > 0 then
      update steps s
      set status = e.status, reason = e.reason, ended_at = p_now, result = e.result, error = e.error,
        cost_cents = e.cost_cents, decided_at = coalesce(s.decided_at, p_now)
      from unnest(v_ends) e
      where s.id = e.id and s.status is null;
      get diagnostics v_count = row_count;
      if v_count < cardinality(v_ends) then
        -- A retry has deleted the step of a child that was still being canceled.
        delete from edges g
        where g.need_id = any (array(
          select e.id from unnest(v_ends) e where not exists (select from steps s where s.id = e.id)));
      end if;
      v_ended := v_ended || array(select e.id from unnest(v_ends) e);
      v_bad := exists (select from unnest(v_ends) e where e.status <> 'succeeded' and e.reason is distinct from 'skipped');
    end if;
    with over as materialized (
      select s.id, s.status::text as status, coalesce(s.reason = 'skipped', false) as skipped,
        s.status = 'succeeded' or s.reason = 'skipped' or (
          select w.cancel_at is not null from workflows w where w.id = s.workflow_id) as good
      from unnest(v_ended) i(id)
      cross join lateral (select * from steps s where s.id = i.id and s.status is not null limit 1) s
    ), found as materialized (
      select x.place, x.nth, o.id, o.status, o.skipped
      from over o
      cross join lateral (
        select e.ctid as place, row_number() over () as nth
        from edges e
        where e.need_id = o.id and (e.policy <> 'w' or o.good)
        limit 1001
      ) x
    ), gone as (
      delete from edges e
      using found f
      where e.ctid = f.place and f.nth <= 1000
      returning e.dependent_id, e.need_id, e.policy, f.status, f.skipped
    ), rest as (
      insert into wakeups (tenant_id, node_id, what, due_at)
      select s.tenant_id, f.id, 'rest', p_now
      from found f
      cross join lateral (select s.tenant_id from steps s where s.id = f.id limit 1) s
      where f.nth = 1001
    ), doomed as (
      insert into dooms (node_id, need_id, skipped)
      select g.dependent_id, g.need_id, g.skipped or g.policy = 'f'
      from gone g
      where (g.policy in ('c', 'w') and g.status <> 'succeeded')
        or (g.policy = 'f' and (g.status = 'succeeded' or g.skipped))
    )
    select array_agg(distinct g.dependent_id) into v_touched from gone g;
    if v_bad then
      perform doom_groups(array(select e.id from unnest(v_ends) e), p_now);
    end if;
    v_touched := coalesce(v_touched, '{}') || p_look;
    exit when cardinality(v_touched) = 0;
    if v_wave = 100 then
      v_held := v_held || v_touched;
      exit;
    end if;
    v_decided := decide(v_touched, p_now);
    v_held := v_held || v_decided.held;
    v_ends := v_decided.ends;
    v_ended := '{}';
    p_look := '{}';
    v_bad := false;
    exit when cardinality(v_ends) = 0;
  end loop;
  return v_held;
end $$;

-- Records that steps which have ended badly fail what they are part of, and stops their workflows if these want it.
create or replace function jobforge.doom_groups(p_step_ids uuid[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  with bad as materialized (
    select s.id, s.group_id, s.workflow_id, s.tenant_id
    from unnest(p_step_ids) i(id)
    cross join lateral (select * from steps s where s.id = i.id limit 1) s
    where s.status <> 'succeeded' and s.reason is distinct from 'skipped' and not s.optional and s.group_id is not null
  ), doomed as (
    insert into dooms (node_id, need_id, skipped)
    select b.group_id, b.id, false from bad b
  )
  insert into wakeups (tenant_id, node_id, what, data, due_at)
  select b.tenant_id, b.workflow_id, 'stop', '"failed"', p_now
  from (select distinct b.tenant_id, b.workflow_id from bad b) b
  cross join lateral (
    select from workflows w where w.id = b.workflow_id and w.on_failure = 'cancel' and w.cancel_at is null limit 1) w;
end $$;
