-- Returns the types to claim from: p_types, or with null every type that has a queued job or a schedule. Without types
-- that a gate pauses; empty when everything is paused.
create or replace function jobforge.open_types(p_types text[], p_now timestamptz) returns text[]
language plpgsql stable as $$
begin
  -- Usually nothing is paused. Then a list of one type is the result.
  if exists (select from jobforge.gates) then
    if jobforge.is_paused('all', '', p_now) then
      return '{}';
    end if;
  elsif cardinality(p_types) = 1 and p_types[1] is not null then
    return p_types;
  end if;
  return array(
    select distinct t.type
    from unnest(coalesce(p_types,
      jobforge.types_with('ready') || jobforge.types_with('waiting') || jobforge.types_with('scheduled'))) t(type)
    where t.type is not null and not jobforge.is_paused('type', t.type, p_now));
end $$;

-- Returns the types that have ready jobs, waiting jobs, or schedules that may become due ('scheduled'). Goes from type
-- to type through the index, so the cost depends on the number of types, not of rows.
create or replace function jobforge.types_with(p_kind text) returns text[]
language plpgsql stable
set enable_sort = off as $$
declare
  v_types text[] := '{}';
  v_type text := '';
begin
  loop
    -- Each kind has its own statement, because each has its own partial index.
    if p_kind = 'ready' then
      select j.type into v_type
      from jobforge.jobs j
      where j.state = 'ready' and j.type > v_type
      order by j.type
      limit 1;
    elsif p_kind = 'waiting' then
      select j.type into v_type
      from jobforge.jobs j
      where j.state = 'waiting' and j.type > v_type
      order by j.type
      limit 1;
    else
      select s.type into v_type
      from jobforge.schedules s
      where s.due_at is not null and s.type > v_type
      order by s.type
      limit 1;
    end if;
    exit when not found;
    v_types := v_types || v_type;
  end loop;
  return v_types;
end $$;
