-- Writes the ends of runs back to their schedules.

-- Returns when a claim must look at a schedule that is not being fired: at once if a run was requested, at its time
-- while it is enabled. For a schedule that skips missed runs, a time that has passed counts as one run from now. For
-- others the time itself tells what is oldest, so that claims fire the oldest first.
create or replace function jobforge.due_of(p_schedule jobforge.schedules, p_now timestamptz) returns timestamptz
language sql immutable as $$
  select case
    when p_schedule.run_requested then p_now
    when not p_schedule.enabled or p_schedule.next_run_at is null then null
    when p_schedule.missed <> 'skip' or p_schedule.kind = 'dynamic' then p_schedule.next_run_at
    else greatest(p_schedule.next_run_at, p_now)
  end
$$;

-- Writes the ends of runs to their schedules: at once if the row is free. Otherwise the end is appended, shown by the
-- view, and folded in later. The end of a run whose schedule was deleted changes nothing else. Locks schedules in id
-- order and never waits.
create or replace function jobforge.end_scheduled_runs(p_ends jobforge.schedule_end[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_nestloop = on
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_ids uuid[] := array(select distinct e.schedule_id from unnest(p_ends) e);
  v_free uuid[] := array(
    select s.id from schedules s where s.id = any (v_ids) order by s.id for update skip locked);
  v_ends schedule_end[] := array(
    select row(e.schedule_id, e.tenant_id, e.scheduled_for, e.ended_at, e.status, e.error,
      coalesce(e.next_run_at, time_unnamed(s, e.status, p_now)), e.exact)::schedule_end
    from unnest(p_ends) with ordinality
      e(schedule_id, tenant_id, scheduled_for, ended_at, status, error, next_run_at, exact, ord)
    join schedules s on s.id = e.schedule_id
    order by e.ord);
begin
  if cardinality(v_free) < cardinality(v_ids) then
    insert into schedule_ends (schedule_id, tenant_id, scheduled_for, ended_at, status, error, next_run_at, exact)
    select e.* from unnest(v_ends) e where e.schedule_id <> all (v_free);
  end if;
  perform fold(v_free, array(select e from unnest(v_ends) e where e.schedule_id = any (v_free)), p_now);
end $$;

-- Returns the next run of a dynamic schedule whose handler did not name a time: none after a success, otherwise after
-- the backoff of its type. Null for a schedule with a rhythm, which keeps its rhythm.
create or replace function jobforge.time_unnamed(p_schedule jobforge.schedules, p_status text, p_now timestamptz)
returns timestamptz
language plpgsql volatile as $$
begin
  if p_schedule.kind <> 'dynamic' or p_status = 'succeeded' then
    return null;
  end if;
  return p_now + (
    select jobforge.backoff(p, greatest(1, s.consecutive_failures + (p_status = 'failed')::integer))
    from jobforge.policy_of(p_schedule.type) p
    cross join (select a.consecutive_failures from jobforge.all_schedules a where a.id = p_schedule.id) s);
end $$;

-- Folds ends into schedules that the caller has locked, after the ends that were appended earlier, wakes workers for
-- the next runs, and tells endpoints of webhooks which schedules have begun to fail.
create or replace function jobforge.fold(p_ids uuid[], p_ends jobforge.schedule_end[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_ends jobforge.schedule_end[] := p_ends;
  v_next record;
begin
  if exists (select from jobforge.schedule_ends) then
    with late as (
      delete from jobforge.schedule_ends e where e.schedule_id = any (p_ids) returning e.*
    )
    select array_agg(row(l.schedule_id, l.tenant_id, l.scheduled_for, l.ended_at, l.status, l.error, l.next_run_at,
      l.exact)
      ::jobforge.schedule_end order by l.id) || p_ends
    into v_ends
    from late l;
  end if;
  for v_next in
    with changed as (
      update jobforge.schedules s
      set next_run_at = f.next_run_at,
        run_requested = f.run_requested,
        due_at = case
          when s.due_at is not null and f.next_run_at is not distinct from s.next_run_at then s.due_at
          else jobforge.due_of(f, p_now)
        end,
        last_run_at = f.last_run_at,
        last_scheduled_for = f.last_scheduled_for,
        last_status = f.last_status,
        last_error = f.last_error,
        consecutive_failures = f.consecutive_failures,
        updated_at = p_now
      from (
        select e.schedule_id, array_agg(e order by e.ended_at) as ends from unnest(v_ends) e group by e.schedule_id
      ) e
      join jobforge.schedules b on b.id = e.schedule_id
      cross join lateral jobforge.folded(b, e.ends) f
      where s.id = e.schedule_id
      returning s.id, s.type, s.tenant_id, s.due_at,
        b.consecutive_failures < jobforge.failing_after()
          and f.consecutive_failures >= jobforge.failing_after() as failing
    )
    select c.type, min(c.due_at) as due_at,
      array_agg(distinct c.tenant_id) filter (where c.due_at is not null) as tenant_ids,
      array_agg(c.id) filter (where c.failing) as failing
    from changed c
    where c.due_at is not null or c.failing
    group by c.type
  loop
    if v_next.due_at is not null then
      perform jobforge.wake(v_next.type, v_next.due_at, p_now, v_next.tenant_ids);
    end if;
    if v_next.failing is not null then
      perform jobforge.tell_failing(v_next.failing, p_now);
    end if;
  end loop;
end $$;

-- Folds in the appended ends of schedules that are free again, of one tenant or of all with null. Deletes those of
-- schedules that no longer exist. Returns how many schedules it wrote. Never waits.
create or replace function jobforge.fold_ends(p_tenant_id uuid, p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_ids uuid[];
  v_free uuid[];
begin
  if not exists (select from jobforge.schedule_ends) then
    return 0;
  end if;
  if p_tenant_id is null then
    v_ids := array(
      select e.schedule_id
      from (select distinct e.schedule_id from jobforge.schedule_ends e) e
      order by random()
      limit p_limit);
  else
    v_ids := array(
      select e.schedule_id
      from (select distinct e.schedule_id from jobforge.schedule_ends e where e.tenant_id = p_tenant_id) e
      order by random()
      limit p_limit);
  end if;
  v_free := array(
    select s.id from jobforge.schedules s where s.id = any (v_ids) order by s.id for update skip locked);
  perform jobforge.fold(v_free, '{}', p_now);
  delete from jobforge.schedule_ends e
  where e.ctid = any (array(
    select g.ctid
    from jobforge.schedule_ends g
    where g.schedule_id = any (v_ids)
      and (select s.id from jobforge.schedules s where s.id = g.schedule_id) is null
    for update skip locked));
  return cardinality(v_free);
end $$;
