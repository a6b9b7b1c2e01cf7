-- Ranks that are open: those in which a claim may start a job, because a lane of the rank is neither paused nor, for a
-- claim of one tenant, another tenant's.

-- Returns the ranks of the types, with those equal to p_rank replaced by the next rank that is open (null: none).
create or replace function jobforge.next_open_ranks(
  p_types text[], p_ranks integer[], p_rank integer, p_paused bigint[], p_tenant_id uuid
) returns integer[]
language plpgsql stable as $$
declare
  v_ranks integer[] := p_ranks;
  v_next record;
  v_given_up text[] := '{}';
begin
  for i in 1 .. cardinality(p_types) loop
    if p_ranks[i] = p_rank then
      v_next := jobforge.next_open_rank(p_types[i], p_rank, p_paused, jobforge.lane_of(p_tenant_id));
      v_ranks[i] := v_next.rank;
      if v_next.gave_up then
        v_given_up := v_given_up || p_types[i];
      end if;
    end if;
  end loop;
  if cardinality(v_given_up) > 0 then
    v_ranks := array(
      select coalesce(r.rank, t.rank)
      from unnest(p_types, v_ranks) with ordinality t(type, rank, ord)
      left join jobforge.ranks_by_tenant(v_given_up, p_rank, p_tenant_id) r on r.type = t.type
      order by t.ord);
  end if;
  return v_ranks;
end $$;

-- Returns the first rank of a type after p_above that is open. Goes from lane to lane and from rank to rank through the
-- index: for one tenant with at most two steps in each rank, and otherwise with one step for each paused lane in it.
-- Gives up after 256 steps, which is more than the priorities that a tenant can use by default.
create or replace function jobforge.next_open_rank(
  p_type text, p_above integer, p_paused bigint[], p_only bigint, out rank integer, out gave_up boolean
)
language plpgsql stable
set enable_sort = off as $$
declare
  v_most constant integer := 256;
  v_steps integer;
begin
  gave_up := false;
  if p_only = any (p_paused) then
    return;
  end if;
  with recursive places as (
    (select j.rank, j.lane, 1 as step
    from jobforge.queue j
    where j.state = 'ready' and j.type = p_type and j.rank > p_above
    order by j.rank, j.lane
    limit 1)
    union all
    select x.rank, x.lane, p.step + 1
    from places p
    -- The next place: a later lane of the same rank, or the next rank. With p_only, no lane before it, and none after.
    cross join lateral (
      select j.rank, j.lane
      from jobforge.queue j
      where j.state = 'ready' and j.type = p_type
        and (j.rank, j.lane) > (p.rank, case when p_only is null then p.lane
          when p.lane < p_only then p_only - 1 else jobforge.last_lane() end)
      order by j.rank, j.lane
      limit 1
    ) x
    where p.step < v_most and case when p_only is null then p.lane = any (p_paused) else p.lane <> p_only end
  )
  select p.rank, p.step, case when p_only is null then p.lane = any (p_paused) else p.lane <> p_only end
  into rank, v_steps, gave_up
  from places p
  order by p.step desc
  limit 1;
  if coalesce(gave_up, false) then
    rank := null;
  end if;
  gave_up := coalesce(gave_up and v_steps >= v_most, false);
end $$;

-- Returns a rank after p_above of each type that is open, as far as a few queued jobs of tenants show it: up to 500
-- jobs of the tenant, or up to 20 jobs of each of 32 tenants that are not paused. Claims ask this where the jobs of
-- paused or other tenants have more priorities than next_open_rank visits. The ranks are open, but they need not be the
-- best.
create or replace function jobforge.ranks_by_tenant(p_types text[], p_above integer, p_tenant_id uuid)
returns table (type text, rank integer)
language plpgsql stable
set enable_sort = off as $$
begin
  return query
  select x.type::text, min(x.rank)
  from unnest(case when p_tenant_id is null then jobforge.some_tenants('jobs', jobforge.now(), 32)
    else array[p_tenant_id] end) i(tenant_id)
  cross join lateral (
    select j.type, j.rank, j.state
    from jobforge.queue j
    -- A range and not an equality: see jobforge.some_types_of.
    where j.tenant_id between i.tenant_id and i.tenant_id and j.state <> ''
    order by j.tenant_id, j.id
    limit case when p_tenant_id is null then 20 else 500 end
  ) x
  where x.state = 'ready' and x.rank > p_above and x.type = any (p_types)
  group by x.type;
end $$;
