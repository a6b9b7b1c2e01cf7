-- References in the payloads of steps. They are filled in when the step starts, so any job type can be a step without
-- knowing it. A reference is an object with one key that begins with $:
--   {"$result": "extract.path"}   the result of a step that ends before, or a part of it
--   {"$input": "callId"}          the input of the workflow or sub-workflow, or a part of it
--   {"$item": "name"}             in a map: the item, or a part of it · {"$index": true}: its index
--   {"$literal": …}               the value itself, whatever it looks like
-- The path is a text with dots or an array of keys. References are found in objects and arrays, three levels deep.

-- Returns whether a value is a reference.
create or replace function jobforge.is_reference(p_value jsonb) returns boolean
language sql immutable parallel safe as $$
  select jsonb_typeof(p_value) = 'object'
    and (select count(*) = 1 and bool_and(k like '$%') from jsonb_object_keys(
      case jsonb_typeof(p_value) when 'object' then p_value else '{}' end) k)
$$;

-- Returns whether a document may have references: a quick look, which most documents pass without.
create or replace function jobforge.may_refer(p_template jsonb) returns boolean
language sql immutable parallel safe as $$
  select strpos(p_template::text, '"$') > 0
$$;

-- Returns the references in a template.
create or replace function jobforge.references_in(p_template jsonb, p_level integer default 0) returns setof jsonb
language plpgsql immutable as $$
begin
  if jobforge.is_reference(p_template) then
    return next p_template;
  elsif p_level < 3 and jsonb_typeof(p_template) = 'object' then
    return query
    select r from jsonb_each(p_template) e cross join lateral jobforge.references_in(e.value, p_level + 1) r;
  elsif p_level < 3 and jsonb_typeof(p_template) = 'array' then
    return query
    select r from jsonb_array_elements(p_template) e cross join lateral jobforge.references_in(e, p_level + 1) r;
  end if;
end $$;

-- Returns the path of a reference: the keys that lead to the value.
create or replace function jobforge.reference_path(p_path jsonb) returns text[]
language sql immutable as $$
  select case jsonb_typeof(p_path)
    when 'string' then string_to_array(p_path #>> '{}', '.')
    when 'array' then array(select e #>> '{}' from jsonb_array_elements(p_path) with ordinality a(e, ord) order by ord)
    else '{}'
  end
$$;

-- Returns what is wrong with the references of a template, as the end of a sentence; null if nothing is. p_item: it is
-- the payload of a map.
create or replace function jobforge.problem_with_references(p_template jsonb, p_item boolean) returns text
language plpgsql immutable as $$
declare
  v_reference jsonb;
  v_key text;
  v_value jsonb;
begin
  for v_reference in select r from jobforge.references_in(p_template) r loop
    select e.key, e.value into v_key, v_value from jsonb_each(v_reference) e;
    if v_key not in ('$result', '$input', '$item', '$index', '$literal') then
      return format('has the unknown reference %s: write {"$literal": …} for a value that looks like one', v_key);
    elsif v_key in ('$item', '$index') and not p_item then
      return format('has a reference %s, which is for the payload of a map', v_key);
    elsif v_key in ('$result', '$input', '$item') and (
      jsonb_typeof(v_value) not in ('string', 'array')
      or jsonb_path_exists(v_value, 'strict $[*] ? (@.type() != "string" && @.type() != "number")', silent => true)
      or (v_key = '$result' and coalesce((jobforge.reference_path(v_value))[1], '') = ''))
    then
      return format('has a reference %s whose path is no text such as name.key and no array of keys', v_key);
    end if;
  end loop;
  return null;
end $$;

-- Returns the names of the steps whose results a template refers to.
create or replace function jobforge.steps_referred_to(p_template jsonb) returns text[]
language sql immutable as $$
  select array(
    select distinct (jobforge.reference_path(r -> '$result'))[1]
    from jobforge.references_in(p_template) r
    where r ? '$result')
$$;

-- Returns a template with all references filled in. A path that leads nowhere gives null.
--   p_sources {results: {name: result}, input}. Those of a map are the same for all its items, and may be large, so
--             item and index are apart from them
create or replace function jobforge.fill_in(
  p_template jsonb, p_sources jsonb, p_item jsonb default null, p_index integer default null, p_level integer default 0
) returns jsonb
language plpgsql immutable as $$
declare
  v_key text;
  v_value jsonb;
  v_path text[];
begin
  if jobforge.is_reference(p_template) then
    select e.key, e.value into v_key, v_value from jsonb_each(p_template) e;
    v_path := jobforge.reference_path(v_value);
    return coalesce(case v_key
      when '$literal' then v_value
      when '$index' then to_jsonb(p_index)
      when '$input' then p_sources #> (array['input'] || v_path)
      when '$item' then p_item #> v_path
      when '$result' then p_sources #> (array['results'] || v_path)
    end, 'null');
  elsif p_level < 3 and jsonb_typeof(p_template) = 'object' then
    return coalesce((
      select jsonb_object_agg(e.key, jobforge.fill_in(e.value, p_sources, p_item, p_index, p_level + 1))
      from jsonb_each(p_template) e), '{}');
  elsif p_level < 3 and jsonb_typeof(p_template) = 'array' then
    return coalesce((
      select jsonb_agg(jobforge.fill_in(e.value, p_sources, p_item, p_index, p_level + 1) order by e.ord)
      from jsonb_array_elements(p_template) with ordinality e(value, ord)), '[]');
  end if;
  return p_template;
end $$;

-- Returns what the references of a step lead to, except for item and index: the results of the steps named in refs, and
-- the input of its group.
create or replace function jobforge.sources_of(p_group_id uuid, p_refs jsonb) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
begin
  return jsonb_build_object(
    'results', (
      select jsonb_object_agg(s.name, result_of(s))
      from jsonb_array_elements_text(p_refs) r(name)
      cross join lateral (select * from steps s where s.group_id = p_group_id and s.name = r.name limit 1) s),
    'input', (
      select case s.kind
          when 'root' then (select w.input from workflows w where w.id = s.id)
          else s.input
        end
      from steps s
      where s.id = p_group_id));
end $$;

-- Returns the result of a step. The result of a map is the array of its items' results, in the order of the list; null
-- stands for an item without one. Results of 64 MiB and more are not put together: what refers to them gets a text that
-- is too large for any payload.
create or replace function jobforge.result_of(p_step jobforge.steps) returns jsonb
language plpgsql stable as $$
begin
  if p_step.kind = 'map' then
    if (
      select sum(octet_length(i.result::text)) >= 64 * 1024 * 1024
      from jobforge.steps i
      where i.group_id = p_step.id and i.name is null)
    then
      return to_jsonb(repeat('x', jobforge.document_bytes() + 1));
    end if;
    return (
      select coalesce(jsonb_agg(i.result order by i.ord), '[]')
      from jobforge.steps i
      where i.group_id = p_step.id and i.name is null);
  end if;
  return p_step.result;
end $$;
