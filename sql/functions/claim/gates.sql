-- Returns whether a gate pauses this scope and key now.
create or replace function jobforge.is_paused(p_scope text, p_key text, p_now timestamptz) returns boolean
language plpgsql stable as $$
begin
  return (
    select exists (
      select from jobforge.gates g
      where g.scope = p_scope and g.key = p_key and (g.until is null or g.until > p_now)));
end $$;

-- Returns the lanes of the tenants that a gate pauses now.
create or replace function jobforge.paused_lanes(p_now timestamptz) returns bigint[]
language plpgsql stable as $$
begin
  return (
    select array(
      select jobforge.lane_of(g.key::uuid)
      from jobforge.gates g
      where g.scope = 'tenant' and (g.until is null or g.until > p_now)));
end $$;
