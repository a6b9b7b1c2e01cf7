-- Counts the schedules whose time has come and of which no claim has made a run yet, by type; of a tenant, or with null
-- of all tenants, then also by tenant if p_by_tenant is true. There is no job that shows them, so everything that
-- counts jobs for operators calls this function as well. Counts at most 1,000 of a type and looks at 1,000 types at
-- most, each through the index that claims use, so the cost is bounded. Types without a due schedule are left out.
create or replace function jobforge.due_schedules(p_tenant_id uuid, p_by_tenant boolean, p_now timestamptz)
returns jobforge.due_count[]
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off
set enable_sort = off as $$
begin
  if p_tenant_id is not null then
    return array(
      with recursive types as (
        (select s.type
        from jobforge.schedules s
        where s.tenant_id = p_tenant_id and s.due_at is not null
        order by s.type
        limit 1)
        union all
        select x.type
        from types t
        cross join lateral (
          select s.type
          from jobforge.schedules s
          where s.tenant_id = p_tenant_id and s.due_at is not null and s.type > t.type
          order by s.type
          limit 1
        ) x
      )
      select row(p_tenant_id, t.type, c.due, c.oldest_at)::jobforge.due_count
      from (select t.type from types t limit 1000) t
      cross join lateral (
        select count(*) as due, min(x.due_at) as oldest_at
        from (
          select s.due_at
          from jobforge.schedules s
          where s.tenant_id = p_tenant_id and s.type = t.type and s.due_at <= p_now
          order by s.due_at
          limit 1000
        ) x
      ) c
      where c.due > 0);
  end if;
  return array(
    select row(c.tenant_id, t.type, c.due, c.oldest_at)::jobforge.due_count
    from unnest(jobforge.types_with('scheduled', 1000)) t(type)
    cross join lateral (
      select case when p_by_tenant then x.tenant_id end as tenant_id, count(*) as due, min(x.due_at) as oldest_at
      from (
        select s.tenant_id, s.due_at
        from jobforge.schedules s
        where s.type = t.type and s.due_at <= p_now
        order by s.due_at
        limit 1000
      ) x
      group by 1
    ) c);
end $$;
