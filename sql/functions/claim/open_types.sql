-- The tenants' lanes that a gate closes now.
create or replace function jobforge.closed_lanes(p_now timestamptz) returns bigint[]
language plpgsql stable as $$
begin
  return (
    select array(
      select uuid_hash_extended(g.key::uuid, 0)
      from jobforge.gates g
      where g.scope = 'tenant' and (g.until is null or g.until > p_now)));
end $$;

-- Whether a gate of this scope and key is closed now.
create or replace function jobforge.is_paused(p_scope text, p_key text, p_now timestamptz) returns boolean
language plpgsql stable as $$
begin
  return (
    select exists (
      select from jobforge.gates g
      where g.scope = p_scope and g.key = p_key and (g.until is null or g.until > p_now)));
end $$;

-- The types to claim from: those asked for, else every type with a queued job or a schedule, found by hopping through the indexes;
-- without those that a gate closes, which is none at all when everything is paused.
create or replace function jobforge.open_types(p_types text[], p_now timestamptz) returns text[]
language plpgsql stable as $$
begin
  -- Mostly nothing is paused, and a worker of one type need not ask for it twice.
  if exists (select from jobforge.gates) then
    if jobforge.is_paused('all', '', p_now) then
      return '{}';
    end if;
  elsif cardinality(p_types) = 1 and p_types[1] is not null then
    return p_types;
  end if;
  return array(
    select distinct t.type
    from unnest(coalesce(p_types, jobforge.types_in('ready') || jobforge.types_in('waiting') || jobforge.scheduled_types())) t(type)
    where t.type is not null and not jobforge.is_paused('type', t.type, p_now));
end $$;

-- The types that have jobs in a queued state.
create or replace function jobforge.types_in(p_state text) returns text[]
language plpgsql stable
set enable_sort = off as $$
declare
  v_types text[] := '{}';
  v_type text := '';
begin
  loop
    -- The state is written out so that each branch has its own partial index.
    if p_state = 'ready' then
      select j.type into v_type from jobforge.jobs j where j.state = 'ready' and j.type > v_type order by j.type limit 1;
    else
      select j.type into v_type from jobforge.jobs j where j.state = 'waiting' and j.type > v_type order by j.type limit 1;
    end if;
    exit when not found;
    v_types := v_types || v_type;
  end loop;
  return v_types;
end $$;

-- The types that have a schedule which may become due, found by hopping through the index.
create or replace function jobforge.scheduled_types() returns text[]
language plpgsql stable
set enable_sort = off as $$
declare
  v_types text[] := '{}';
  v_type text := '';
begin
  loop
    select s.type into v_type
    from jobforge.schedules s
    where s.due_at is not null and s.type > v_type
    order by s.type
    limit 1;
    exit when not found;
    v_types := v_types || v_type;
  end loop;
  return v_types;
end $$;
