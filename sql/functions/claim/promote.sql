-- How jobs are found. Every question is answered by an index in its own order: sorting is switched off where one is asked, because a
-- table that was analysed while it was empty has no rows as far as Postgres can tell, and then any index, read from end to
-- end and sorted, is as good as the right one.

-- Moves due jobs of the types from waiting to ready, the oldest of each type first, up to p_limit of each. p_floor: a time
-- before which the last look found nothing but dead entries. Answers how many, and when the next one becomes due. Never waits.
create or replace function jobforge.promote(
  p_types text[], p_now timestamptz, p_limit integer, p_floor timestamptz default '-infinity',
  out promoted integer, out due timestamptz
)
language plpgsql
set enable_sort = off as $$
begin
  promoted := 0;
  due := jobforge.next_due(p_types, p_floor);
  if due > p_now or due is null then
    return;
  end if;
  with due as materialized (
    select x.id
    from unnest(p_types) t(type)
    cross join lateral (
      select j.id
      from jobforge.jobs j
      where j.state = 'waiting' and j.type = t.type and j.run_at <= p_now and j.run_at >= p_floor
      order by j.run_at
      limit p_limit
      for update skip locked
    ) x
  )
  update jobforge.jobs j
  set state = 'ready'
  from due d
  where j.id = d.id;
  get diagnostics promoted = row_count;
  due := jobforge.next_due(p_types, p_floor);
end $$;

-- When the next waiting job or schedule of the types becomes due; null when none waits.
create or replace function jobforge.next_due(p_types text[], p_floor timestamptz default '-infinity') returns timestamptz
language plpgsql stable
set enable_sort = off as $$
begin
  return (
    select min(x.run_at)
    from unnest(p_types) t(type)
    cross join lateral (
      (select j.run_at
      from jobforge.jobs j
      where j.state = 'waiting' and j.type = t.type and j.run_at >= p_floor
      order by j.run_at
      limit 1)
      union all
      (select s.due_at from jobforge.schedules s where s.type = t.type and s.due_at >= p_floor order by s.due_at limit 1)
    ) x);
end $$;
