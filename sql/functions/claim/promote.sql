-- Moves due jobs of the types from waiting to ready, the oldest of each type first and up to p_limit of each: those of
-- one tenant, or of all with null. Before p_floor the last call found nothing but dead index entries, so the search
-- starts there. Returns how many jobs it moved, and when the next one becomes due. Skips jobs that another transaction
-- has locked; never waits. A claim for one tenant moves that tenant's jobs only: its transaction may stay open, and
-- must not hold the jobs of others.
create or replace function jobforge.promote(
  p_types text[], p_tenant_id uuid, p_now timestamptz, p_limit integer, p_floor timestamptz default '-infinity',
  out promoted integer, out due timestamptz
)
language plpgsql
set enable_sort = off as $$
begin
  promoted := 0;
  due := jobforge.next_due(p_types, p_tenant_id, p_floor);
  if due > p_now or due is null then
    return;
  end if;
  -- Two statements, because each has its own index.
  if p_tenant_id is null then
    with due as materialized (
      select x.id
      from unnest(p_types) t(type)
      cross join lateral (
        select j.id
        from jobforge.queue j
        where j.state = 'waiting' and j.type = t.type and j.run_at <= p_now and j.run_at >= p_floor
        order by j.run_at
        limit p_limit
        for update skip locked
      ) x
    )
    update jobforge.queue j
    set state = 'ready'
    from due d
    where j.id = d.id;
  else
    with due as materialized (
      select x.id
      from unnest(p_types) t(type)
      cross join lateral (
        select j.id
        from jobforge.queue j
        where j.state = 'waiting' and j.tenant_id = p_tenant_id and j.type = t.type and j.run_at <= p_now
          and j.run_at >= p_floor
        order by j.run_at
        limit p_limit
        for update skip locked
      ) x
    )
    update jobforge.queue j
    set state = 'ready'
    from due d
    where j.id = d.id;
  end if;
  get diagnostics promoted = row_count;
  due := jobforge.next_due(p_types, p_tenant_id, p_floor);
end $$;

-- Returns when the next waiting job or schedule of the types becomes due: of one tenant, or with null of all tenants.
-- Returns null when nothing waits.
create or replace function jobforge.next_due(
  p_types text[], p_tenant_id uuid, p_floor timestamptz default '-infinity'
) returns timestamptz
language plpgsql stable
set enable_sort = off as $$
begin
  if p_tenant_id is null then
    return (
      select min(x.run_at)
      from unnest(p_types) t(type)
      cross join lateral (
        (select j.run_at
        from jobforge.queue j
        where j.state = 'waiting' and j.type = t.type and j.run_at >= p_floor
        order by j.run_at
        limit 1)
        union all
        (select s.due_at
        from jobforge.schedules s
        where s.type = t.type and s.due_at >= p_floor
        order by s.due_at
        limit 1)
      ) x);
  end if;
  return (
    select min(x.run_at)
    from unnest(p_types) t(type)
    cross join lateral (
      (select j.run_at
      from jobforge.queue j
      where j.state = 'waiting' and j.tenant_id = p_tenant_id and j.type = t.type and j.run_at >= p_floor
      order by j.run_at
      limit 1)
      union all
      (select s.due_at
      from jobforge.schedules s
      where s.tenant_id = p_tenant_id and s.type = t.type and s.due_at >= p_floor
      order by s.due_at
      limit 1)
    ) x);
end $$;
