-- Returns the gates that are closed now, with the number of due jobs that wait behind each. A role that is bound to a
-- tenant sees the gates that concern its tenant, with that tenant's jobs. A job behind two gates counts at both. With
-- up to 10,000 live jobs the number is exact. With more, the gate of a type or tenant with at most 1,000 jobs is
-- counted and others are estimated: exact is false.
-- Who: operators, readers. Locks nothing.
create or replace function :"api_schema".jobforge_list_gates()
returns table (
  scope text, key text, reason text, until timestamptz, set_at timestamptz, set_by text, waiting bigint, exact boolean,
  tenant_label text
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := bound_tenant();
  v_live live_count[];
begin
  if not exists (select from gates g where g.until is null or g.until > v_now) then
    return;
  end if;
  v_live := live_counts(v_bound, 10000, true, v_now);
  return query
  select g.scope::text, g.key, g.reason, g.until, g.set_at, g.set_by, w.waiting, w.exact,
    case g.scope when 'tenant' then label_of(g.key::uuid) end
  from gates g
  cross join lateral waiting_behind(g.scope, g.key, v_bound, v_live, v_now) w
  where (g.until is null or g.until > v_now)
    and (v_bound is null or g.scope <> 'tenant' or g.key = v_bound::text)
  order by g.scope, g.key;
end $$;

-- Returns how many due jobs wait behind a gate, and whether that number is exact. p_live has the live jobs of the
-- tenant (null: of all tenants). If p_live is exact, it is the result. If it is an estimate and the gate has few
-- jobs, these are counted.
create or replace function jobforge.waiting_behind(
  p_scope text,
  p_key text,
  p_tenant_id uuid,
  p_live jobforge.live_count[],
  p_now timestamptz
) returns table (waiting bigint, exact boolean)
language plpgsql stable
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_estimated boolean := exists (select from unnest(p_live) l where not l.exact);
  v_few jobforge.live_count[];
begin
  if v_estimated and p_scope = 'tenant' then
    v_few := jobforge.count_up_to(p_key::uuid, 1000, p_now);
  elsif v_estimated and p_scope = 'type' and p_tenant_id is null then
    select array_agg(c) into v_few from jobforge.count_small_type(p_key, p_now) c where c.exact;
  end if;
  return query
  select coalesce(sum(l.queued), 0)::bigint, coalesce(bool_and(l.exact), v_few is not null or not v_estimated)
  from unnest(coalesce(v_few, p_live)) l
  where p_scope = 'all' or (p_scope = 'type' and l.type = p_key) or (p_scope = 'tenant' and l.tenant_id = p_key::uuid);
end $$;
