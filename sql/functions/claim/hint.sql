-- A worker's memory between two calls of settle+claim, which it keeps and hands back without looking into it:
--   key     what it was made for (types and tenant)
--   at      when the last full look was
--   from    the lane where the next look begins
--   due     where the waiting index held nothing before
--   streams the streams of the last look, if they were all there are, from where they go on; see costly
--   costly    that look was costly, because of dead entries: what it found is gone on with for a second
--   types   the types there are, for a worker of any type and tenant, if it was costly to find them
--   ask     when to ask again for more urgent work, if that was costly
--   many    until when there were more lanes than a hint remembers
-- It spares claims the dead entries that pile up at the head of every lane under a long transaction. Where looking is cheap every call
-- looks, because a tenant whose first job has just come is in no memory: only many lanes are remembered, for a tenth of a
-- second. Advice only: it is ignored when malformed, older than a second or made for something else.

-- Writes a hint. Numbers of 64 bits go as text, because JSON clients would round them, and so do the streams as a whole: an array
-- of records is written and read in a fifth of the time that JSON takes.
create or replace function jobforge.write_hint(p_hint jobforge.hint) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_strip_nulls(jsonb_build_object(
      'key', p_hint.key, 'at', p_hint.at, 'from', p_hint.lane::text, 'due', p_hint.due, 'types', p_hint.types,
      'ask', p_hint.ask, 'many', p_hint.many, 'costly', p_hint.costly,
      'streams', case when p_hint.costly or cardinality(p_hint.streams) > 16 then p_hint.streams end::text)));
end $$;

-- Reads a hint; nothing but the key when there is none or it cannot be read, and the lane alone when it is too old.
create or replace function jobforge.read_hint(p_hint jsonb, p_key text, p_now timestamptz) returns jobforge.hint
language plpgsql stable as $$
declare
  v jobforge.hint;
begin
  v.key := p_key;
  if p_hint is null or p_hint ->> 'key' is distinct from p_key then
    return v;
  end if;
  v.lane := (p_hint ->> 'from')::bigint;
  v.many := (p_hint ->> 'many')::timestamptz;
  if v.many not between p_now and p_now + interval '10 seconds' then
    v.many := null;
  end if;
  v.at := (p_hint ->> 'at')::timestamptz;
  if v.at is null or v.at not between p_now - interval '1 second' and p_now then
    v.at := null;
    return v;
  end if;
  v.due := least((p_hint ->> 'due')::timestamptz, v.at);
  v.ask := (p_hint ->> 'ask')::timestamptz;
  if jsonb_typeof(p_hint -> 'types') = 'array' then
    v.types := array(select jsonb_array_elements_text(p_hint -> 'types'));
  end if;
  v.costly := (p_hint ->> 'costly')::boolean;
  v.streams := (p_hint ->> 'streams')::jobforge.stream[];
  if cardinality(v.streams) > 1000 or (v.costly is not true and v.at < p_now - interval '100 milliseconds') then
    v.streams := null;
  end if;
  return v;
exception when data_exception then
  v := null;
  v.key := p_key;
  return v;
end $$;
