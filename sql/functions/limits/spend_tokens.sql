-- Takes a token for each job from every bucket of p_mine with a rate that it belongs to. The caller holds the locks of
-- these buckets. A limit that was set after the claim began is not among them: another transaction may hold its rows,
-- and two claims that waited for each other would deadlock. The limit counts from the next claim on. Of two buckets
-- with the same id, the one that spends more counts. A role that is bound to a tenant appends what it takes from the
-- bucket of a type, because that row is shared by all tenants. Never waits.
create or replace function jobforge.spend_tokens(
  p_jobs jobforge.candidate[], p_mine bigint[], p_now timestamptz
) returns void
language plpgsql
set enable_hashjoin = on as $$
declare
  v_slots constant jobforge.slot[] := array(
    select row(c.type, c.tenant_id, c.concurrency_key)::jobforge.slot from unnest(p_jobs) c);
  v_scopes text[] := array['type', 'tenant', 'type_tenant', 'key'];
begin
  if jobforge.bound_tenant() is not null then
    v_scopes := v_scopes[2:];
    insert into jobforge.type_starts (bucket, set_at, at, starts, token_us)
    select b.id, b.set_at, p_now, (select count(*) from unnest(p_jobs) c where c.type = b.type),
      jobforge.token_time(b.rate, b.per)
    from jobforge.buckets_of('type', v_slots) b
    where b.rate is not null and b.id = any (p_mine);
  elsif exists (select from jobforge.type_starts) then
    perform jobforge.fold_starts(array(
      select b.id from jobforge.buckets_of('type', v_slots) b where b.rate is not null and b.id = any (p_mine)));
  end if;
  with spent as materialized (
    select b.id, b.set_at, jobforge.token_time(b.rate, b.per) as each, count(*) as starts
    from unnest(v_scopes) x(counts_by)
    cross join lateral jobforge.buckets_of(x.counts_by, v_slots) b
    join lateral (
      select y.counts_by,
        case when y.counts_by <> 'tenant' then c.type else '' end as type,
        case when y.counts_by <> 'type' then c.tenant_id else jobforge.global_tenant() end as tenant_id,
        case when y.counts_by = 'key' then c.concurrency_key else '' end as concurrency_key
      from unnest(v_scopes) y(counts_by)
      cross join unnest(v_slots) c
      offset 0
    ) c
      on c.counts_by = b.scope and c.type = coalesce(b.type, '')
        and c.tenant_id = coalesce(b.tenant_id, jobforge.global_tenant())
        and c.concurrency_key = coalesce(b.concurrency_key, '')
    where b.rate is not null and b.id = any (p_mine)
    group by b.id, b.scope, b.type, b.tenant_id, b.concurrency_key, b.set_at, b.rate, b.per
  )
  insert into jobforge.limit_rates as r (bucket, empty_until, set_at)
  select s.id, p_now + max(s.starts * s.each) * interval '1 microsecond', max(s.set_at)
  from spent s
  group by s.id
  on conflict (bucket) do update
  set set_at = excluded.set_at,
    empty_until = excluded.empty_until
      + case when r.set_at = excluded.set_at then greatest(r.empty_until - p_now, interval '0') else interval '0' end;
end $$;
