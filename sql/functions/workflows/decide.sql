-- Looks at nodes, and decides those that nothing keeps from it. Returns the ends that follow, and the nodes that must
-- be looked at again because other transactions are ending their last needs, or hold them. See advance.sql.
create or replace function jobforge.decide(
  p_nodes uuid[], p_now timestamptz, out ends jobforge.step_end[], out held uuid[]
)
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_free uuid[];
  v_locked uuid[];
  v_skipped uuid[] := '{}';
begin
  -- B. A scalar subquery with an order: the newest need first, because jobs end in their order, and the entries of
  -- those that have ended stay in the index under a long transaction. In an EXISTS, Postgres would drop the order.
  select coalesce(array_agg(x.id) filter (where x.state = 'free'), '{}'),
    coalesce(array_agg(x.id) filter (where x.state = 'busy'), '{}')
  into v_free, held
  from (
    select n.id, case
        when (
          select true from edges e
          where e.dependent_id = n.id and e.xmax = '0'
          order by e.need_id desc
          limit 1) then 'open'
        when exists (select from edges e where e.dependent_id = n.id) then 'busy'
        else 'free'
      end as state
    from (select distinct n.id from unnest(p_nodes) n(id)) n
  ) x;
  ends := '{}';
  if v_free = '{}' then
    return;
  end if;

  -- C. Who adds an edge to a node that is not decided holds its row, so look again under the lock.
  v_locked := array(
    select s.id from steps s where s.id = any (v_free) and s.decided_at is null order by s.id for update skip locked);
  if cardinality(v_locked) < cardinality(v_free) then
    v_skipped := array(
      select s.id from steps s where s.id = any (v_free) and s.decided_at is null and s.id <> all (v_locked));
    held := held || v_skipped;
  end if;
  -- Other free nodes are jobs that wait for their children.
  if cardinality(v_locked) + cardinality(v_skipped) < cardinality(v_free) then
    held := held || resume_parents(array(
      select n.id
      from unnest(v_free) n(id)
      where not exists (select from steps s where s.id = n.id and s.decided_at is null)), p_now);
  end if;
  v_locked := array(
    select l.id
    from unnest(v_locked) l(id)
    where not exists (select from edges e where e.dependent_id = l.id));
  if cardinality(v_locked) > 0 then
    ends := decide_steps(v_locked, p_now);
  end if;
end $$;

-- D. Decides steps: starts, opens or ends them. Returns the ends. The caller has locked the steps, or has just made
-- them. p_notify: wake workers for the jobs.
create or replace function jobforge.decide_steps(
  p_step_ids uuid[], p_now timestamptz, p_notify boolean default true
) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_starting uuid[];
  v_opening uuid[];
  v_closing uuid[];
  v_doomed boolean;
  v_ends step_end[];
  v_id uuid;
begin
  select
    coalesce(array_agg(n.id order by n.nth) filter (where n.fate = 'start'), '{}'),
    coalesce(array_agg(n.id order by n.nth) filter (where n.fate = 'open'), '{}'),
    coalesce(array_agg(n.id order by n.nth) filter (where n.fate = 'close'), '{}'),
    coalesce(array_agg(row(n.id, 'canceled', n.fate, null, null, null)::step_end)
      filter (where n.fate in ('need_failed', 'skipped', 'canceled')), '{}'),
    bool_or(n.doomed)
  into v_starting, v_opening, v_closing, v_ends, v_doomed
  from (
    select s.id, i.nth, d.doomed, case
        when s.kind = 'root' or (s.kind in ('map', 'group') and s.opened_at is not null) then 'close'
        when d.canceled then 'canceled'
        when d.doomed then case when d.skipped then 'skipped' else 'need_failed' end
        when w.stopped and not s.cleanup then 'canceled'
        when s.kind = 'job' then 'start'
        else 'open'
      end as fate
    from unnest(p_step_ids) with ordinality i(id, nth)
    cross join lateral (select s.* from steps s where s.id = i.id limit 1) s
    cross join lateral (
      select count(*) > 0 as doomed, bool_and(d.skipped) as skipped, bool_or(d.need_id = i.id) as canceled
      from dooms d
      where d.node_id = i.id
    ) d
    cross join lateral (
      select coalesce((select w.cancel_at is not null from workflows w where w.id = s.workflow_id), false) as stopped
    ) w
  ) n;
  foreach v_id in array v_closing loop
    v_ends := v_ends || close_step(v_id, p_now);
  end loop;
  if v_doomed then
    delete from dooms d where d.node_id = any (p_step_ids);
  end if;
  if cardinality(v_starting) > 0 then
    v_ends := v_ends || start_jobs(v_starting, p_now, p_notify);
  end if;
  foreach v_id in array v_opening loop
    v_ends := v_ends || open_step(v_id, p_now);
  end loop;
  return v_ends;
end $$;
