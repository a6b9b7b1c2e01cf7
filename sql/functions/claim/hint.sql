-- The hint: what a worker passes from one call of settle and claim to the next. The worker stores it unread. In JSON:
--   key     what the hint was made for: the types and the tenant
--   at      when the last full search was
--   from    the lane where the next search starts
--   due     the waiting index had no live entry before this time
--   streams the streams of the last search, if it found all there are, with the positions where they continue
--   costly  the last search met many dead index entries, so claims continue with its streams for up to a second
--   types   the types that have work, for a worker of any type that is bound to no tenant, if finding them was costly
--   ask     when to look for more urgent work again, if that was costly
--   many    more lanes wait than a hint can hold; this is assumed until then
-- Under a long transaction, dead entries pile up at the head of every lane. The hint lets claims skip them. Where a
-- search is cheap every call searches, because no hint knows a tenant whose first job has just come. Then streams are
-- remembered only if there are many of them, and for a tenth of a second. A hint is advice only: it is ignored when it
-- is malformed, older than a second, or made for something else.

-- Returns how long a hint remembers that there were more lanes than it holds.
create or replace function jobforge.many_lanes_lifetime() returns interval
language sql immutable as $$
  select interval '10 seconds'
$$;

-- Writes a hint. 64-bit numbers are written as text, because JSON clients would round them. So are the streams as a
-- whole: an array of records is written and read in a fifth of the time that JSON takes.
create or replace function jobforge.write_hint(p_hint jobforge.hint) returns jsonb
language plpgsql stable as $$
begin
  return jsonb_strip_nulls(jsonb_build_object(
    'key', p_hint.key, 'at', p_hint.at, 'from', p_hint.lane::text, 'due', p_hint.due, 'types', p_hint.types,
    'ask', p_hint.ask, 'many', p_hint.many, 'costly', p_hint.costly,
    'streams', case when p_hint.costly or cardinality(p_hint.streams) > 16 then p_hint.streams end::text));
end $$;

-- Reads a hint. Without a hint, or if it is malformed, the result has only the key. If it is too old, the result also
-- has the lane and `many`.
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
  if v.many not between p_now and p_now + jobforge.many_lanes_lifetime() then
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
