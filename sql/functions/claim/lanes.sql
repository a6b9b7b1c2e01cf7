-- Lanes. A lane is a tenant's place in the turns: a hash of the tenant, so that their order favors no tenant. Turns go
-- through the lanes in ascending order, and from the last lane to the first.

-- Returns the lane of a tenant.
create or replace function jobforge.lane_of(p_tenant_id uuid) returns bigint
language sql immutable parallel safe as $$
  select uuid_hash_extended(p_tenant_id, 0)
$$;

create or replace function jobforge.first_lane() returns bigint
language sql immutable parallel safe as $$
  select -9223372036854775808
$$;

create or replace function jobforge.last_lane() returns bigint
language sql immutable parallel safe as $$
  select 9223372036854775807
$$;

-- Returns a lane at which a search may start. Workers that start at the same lane compete for the same rows.
create or replace function jobforge.random_lane() returns bigint
language sql volatile as $$
  select (random() * 18446744073709549568 - 9223372036854774784)::bigint
$$;

-- Returns the lane at which a search starts after this one was served. Null for null.
create or replace function jobforge.lane_after(p_lane bigint) returns bigint
language sql immutable as $$
  select case
    when p_lane < jobforge.last_lane() then p_lane + 1
    when p_lane is not null then jobforge.first_lane()
  end
$$;

-- How far a lane is from p_from in the order of the turns.
create or replace function jobforge.lane_distance(p_from bigint, p_lane bigint) returns numeric
language sql immutable as $$
  select p_lane::numeric - p_from + case when p_lane < p_from then 18446744073709551616 else 0 end
$$;
