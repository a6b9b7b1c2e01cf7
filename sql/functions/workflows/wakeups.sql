-- Returns when the next wakeup is due: of one tenant, or with null of all.
create or replace function jobforge.next_wakeup(p_tenant_id uuid) returns timestamptz
language plpgsql stable
set enable_sort = off as $$
begin
  if p_tenant_id is null then
    return (select w.due_at from jobforge.wakeups w order by w.due_at, w.id limit 1);
  end if;
  return (
    select w.due_at
    from jobforge.wakeups w
    where w.tenant_id = p_tenant_id
    order by w.tenant_id, w.due_at, w.id
    limit 1);
end $$;

-- Does up to p_limit wakeups that are due: those of one tenant, or with null of all. Returns how many it has looked at.
-- A claim for one tenant does that tenant's wakeups only, because its transaction may stay open. Skips what another
-- transaction has locked; never waits.
create or replace function jobforge.do_wakeups(p_tenant_id uuid, p_now timestamptz, p_limit integer) returns integer
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
  v_due wakeups[];
  v_wakeup wakeups;
  v_again bigint[];
  v_each boolean;
  -- Wakeups that start or cancel up to 1,000 jobs each. Only the first ones are done, so that no claim takes long
  -- because many maps open at once; the next claims do the others.
  v_large integer := 0;
  v_later bigint[] := '{}';
begin
  if p_tenant_id is null then
    v_due := array(
      select w from wakeups w where w.due_at <= p_now order by w.due_at, w.id limit p_limit for update skip locked);
  else
    v_due := array(
      select w
      from wakeups w
      where w.tenant_id = p_tenant_id and w.due_at <= p_now
      order by w.tenant_id, w.due_at, w.id
      limit p_limit
      for update skip locked);
  end if;
  if v_due = '{}' then
    return 0;
  end if;
  -- Looks are done at once; the others, and all after a failure, one by one.
  v_again := look_again(v_due, p_now);
  v_each := v_again is null;
  v_again := coalesce(v_again, '{}');
  foreach v_wakeup in array v_due loop
    v_large := v_large + (v_wakeup.what in ('expand', 'stop'))::integer;
    if v_large > 4 and v_wakeup.what in ('expand', 'stop') then
      v_later := v_later || v_wakeup.id;
    elsif v_each or v_wakeup.what not in ('look', 'rest', 'begin') then
      if not do_wakeup(v_wakeup, p_now) then
        v_again := v_again || v_wakeup.id;
      end if;
    end if;
  end loop;
  delete from wakeups w
  where w.id = any (array(select d.id from unnest(v_due) d)) and w.id <> all (v_again || v_later);
  -- After a few tries another transaction stays open for long, so look less often.
  update wakeups w
  set tries = w.tries + 1,
    due_at = p_now + case
      when w.tries < 20 then least(interval '50 milliseconds', interval '1 millisecond' * power(2, w.tries))
      else interval '1 second' end
  where w.id = any (v_again);
  return cardinality(v_due) - cardinality(v_later);
end $$;

-- Does the wakeups that are looks at nodes, all at once. Returns those that must be done again; null, with nothing
-- changed, if one of them fails.
create or replace function jobforge.look_again(p_wakeups jobforge.wakeups[], p_now timestamptz) returns bigint[]
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_held uuid[];
  v_looks uuid[] := array(select w.node_id from unnest(p_wakeups) w where w.what in ('look', 'begin'));
  v_rests uuid[] := array(select w.node_id from unnest(p_wakeups) w where w.what = 'rest');
begin
  if v_looks = '{}' and v_rests = '{}' then
    return '{}';
  end if;
  delete from edges e
  where (e.dependent_id, e.need_id) in (
    select w.node_id, w.node_id from unnest(p_wakeups) w where w.what = 'begin');
  v_held := advance('{}', v_rests, v_looks, p_now);
  perform leave_looks(array(select h.id from unnest(v_held) h(id) where h.id <> all (v_looks)), p_now);
  return array(
    select w.id
    from unnest(p_wakeups) w
    where (w.what in ('look', 'begin') and w.node_id = any (v_held))
      -- A need whose end is under way: its settle may not have seen the new edge.
      or (w.what = 'rest' and exists (
        select from steps s where s.id = w.node_id and s.status is null and s.xmax <> '0')));
exception when others then
  return null;
end $$;

-- Does one wakeup. Returns false if it must be done again. A failure undoes only its own changes.
create or replace function jobforge.do_wakeup(p_wakeup jobforge.wakeups, p_now timestamptz) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
begin
  case p_wakeup.what
    when 'end' then
      perform leave_looks(advance(
        array[jsonb_populate_record(null::step_end, p_wakeup.data -> 'end')], '{}', '{}', p_now), p_now);
      return true;
    when 'expand' then return expand_further(p_wakeup.node_id, (p_wakeup.data)::integer, p_now);
    when 'mail' then
      return case when exists (select from workflows w where w.id = p_wakeup.node_id)
        then deliver_mail(p_wakeup.node_id, p_now) else deliver_to_job(p_wakeup.node_id, p_now) end;
    when 'timeout' then return time_out(p_wakeup.node_id, p_now);
    when 'stop' then return stop_later(p_wakeup, p_wakeup.data #>> '{}', p_now);
    when 'deadline' then return stop_later(p_wakeup, 'deadline', p_now);
    else return coalesce(cardinality(look_again(array[p_wakeup], p_now)) = 0, false);
  end case;
exception when others then
  update wakeups w
  set data = coalesce(case jsonb_typeof(w.data) when 'object' then w.data end, jsonb_build_object('was', w.data))
    || jsonb_build_object('error', left(sqlerrm, 1000))
  where w.id = p_wakeup.id and p_wakeup.what = 'end';
  return false;
end $$;

-- Makes the next items of a map. Returns false if another transaction holds the map.
create or replace function jobforge.expand_further(p_map_id uuid, p_from integer, p_now timestamptz) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_map steps;
  v_stopped boolean;
  v_ends step_end[];
begin
  select s.* into v_map from steps s where s.id = p_map_id and s.decided_at is null for update skip locked;
  if not found then
    return not exists (select from steps s where s.id = p_map_id and s.decided_at is null);
  end if;
  v_stopped := exists (select from workflows w where w.id = v_map.workflow_id and w.cancel_at is not null)
    and not v_map.cleanup;
  if not v_stopped then
    v_ends := expand_map(v_map, list_of(v_map), p_from, p_now);
  else
    insert into dooms (node_id, need_id, skipped) values (p_map_id, p_map_id, false);
  end if;
  if v_stopped or not exists (
    select from wakeups w where w.tenant_id = v_map.tenant_id and w.node_id = p_map_id and w.what = 'expand'
      and w.due_at = p_now and w.data = to_jsonb(p_from + 1000))
  then
    delete from edges e where e.dependent_id = p_map_id and e.need_id = p_map_id;
  end if;
  perform leave_looks(advance(coalesce(v_ends, '{}'), '{}', array[p_map_id], p_now), p_now);
  return true;
end $$;

-- Gives the signals in a mailbox to the steps that wait for them. Returns false if another transaction holds such a
-- step: it may be opening it, and not see the signal.
create or replace function jobforge.deliver_mail(p_workflow_id uuid, p_now timestamptz) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_waiting uuid[];
  v_locked uuid[];
  v_step steps;
  v_end step_end;
  v_ends step_end[] := '{}';
begin
  v_waiting := array(
    select s.id
    from steps s
    where s.workflow_id = p_workflow_id and s.kind = 'signal' and s.decided_at is null
      and exists (
        select from signals g
        where g.target_id = p_workflow_id and g.name = s.spec ->> 'signal' and g.taken_by is null));
  v_locked := array(select s.id from steps s where s.id = any (v_waiting) order by s.id for update skip locked);
  for v_step in
    select s.* from steps s where s.id = any (v_locked) and s.decided_at is null and s.opened_at is not null order by s.id
  loop
    v_end := take_mail(v_step);
    if v_end.id is not null then
      v_ends := v_ends || v_end;
    end if;
  end loop;
  perform leave_looks(advance(v_ends, '{}', '{}', p_now), p_now);
  return cardinality(v_locked) = cardinality(v_waiting);
end $$;

-- Ends a signal step that has waited long enough. Returns false if another transaction holds it.
create or replace function jobforge.time_out(p_step_id uuid, p_now timestamptz) returns boolean
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_step steps;
  v_end step_end;
begin
  select s.* into v_step from steps s where s.id = p_step_id and s.decided_at is null for update skip locked;
  if not found then
    return not exists (select from steps s where s.id = p_step_id and s.decided_at is null);
  elsif v_step.opened_at is null
    or v_step.opened_at + (v_step.spec ->> 'timeout_ms')::bigint * interval '1 millisecond' > p_now
  then
    -- The step was reopened by a retry, and has a wakeup of its own.
    return true;
  end if;
  v_end := take_mail(v_step);
  if v_end.id is null then
    v_end := case when v_step.spec ->> 'on_timeout' = 'continue'
      then row(p_step_id, 'succeeded', 'timed_out', '{"timed_out": true}', null, null)
      else row(p_step_id, 'failed', 'timed_out', '{"timed_out": true}', jsonb_build_object('name', 'TimedOut',
        'message', format('No signal %s came in time', v_step.spec ->> 'signal')), null)
    end;
  end if;
  perform leave_looks(advance(array[v_end], '{}', '{}', p_now), p_now);
  return true;
end $$;
