-- Returns the weight of each stream's tenant.
create or replace function jobforge.weights_of(p_streams jobforge.stream[]) returns integer[]
language plpgsql stable as $$
begin
  return array(
    select coalesce((
      select t.weight from jobforge.tenants t where jobforge.lane_of(t.tenant_id) = s.lane and t.weight > 1 limit 1), 1)
    from unnest(p_streams) with ordinality s(type, rank, lane, from_at, from_seq, ord)
    order by s.ord);
end $$;

-- Returns the turns, each repeated as often as its tenant weighs. Without weights (null) they stay as they are.
create or replace function jobforge.repeat_by_weight(p_turns integer[], p_weights integer[]) returns integer[]
language plpgsql immutable as $$
begin
  if p_weights is null then
    return p_turns;
  end if;
  return array(
    select t.turn
    from unnest(p_turns) with ordinality t(turn, place)
    cross join lateral generate_series(1, p_weights[t.turn]) n
    order by t.place, n);
end $$;

-- Returns how many turns a tenant has in each round.
create or replace function jobforge.weight_of(p_tenant_id uuid) returns integer
language plpgsql stable as $$
begin
  return coalesce((select t.weight from jobforge.tenants t where t.tenant_id = p_tenant_id), 1);
end $$;
