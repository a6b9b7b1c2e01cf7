-- A worker's memory between two calls of settle+claim, which it keeps and hands back without looking into it:
--   key     what it was made for (types and tenant)
--   at      when the last full look was
--   from    the lane where the next look begins
--   due     where the waiting index held nothing before
--   streams the streams of the last look, if they were all there are, from where they go on
-- It spares claims the dead entries that pile up at the head of every lane under a long transaction. Advice only: it is
-- ignored when malformed, older than a second or made for something else.

-- Writes a hint. Numbers of 64 bits go as text: JSON clients would round them.
create or replace function jobforge.write_hint(
  p_key text, p_at timestamptz, p_from bigint, p_due timestamptz, p_streams jobforge.stream[]
) returns jsonb
language plpgsql stable as $$
begin
  return (
    select jsonb_build_object(
      'key', p_key, 'at', p_at, 'from', p_from::text, 'due', p_due,
      'streams', (
        select jsonb_agg(jsonb_build_array(s.type, s.rank, s.lane::text, s.from_at, s.from_seq::text))
        from unnest(p_streams) s)));
end $$;

-- Reads a hint; nulls when there is none or it cannot be read.
create or replace function jobforge.read_hint(
  p_hint jsonb, p_key text, p_now timestamptz,
  out at timestamptz, out lane bigint, out due timestamptz, out streams jobforge.stream[]
)
language plpgsql stable as $$
begin
  if p_hint is null or p_hint ->> 'key' is distinct from p_key then
    return;
  end if;
  lane := (p_hint ->> 'from')::bigint;
  at := (p_hint ->> 'at')::timestamptz;
  if at is null or at not between p_now - interval '1 second' and p_now then
    at := null;
    return;
  end if;
  due := least((p_hint ->> 'due')::timestamptz, at);
  if jsonb_typeof(p_hint -> 'streams') = 'array' and jsonb_array_length(p_hint -> 'streams') <= 1000 then
    streams := array(
      select row(s ->> 0, (s ->> 1)::integer, (s ->> 2)::bigint, (s ->> 3)::timestamptz, (s ->> 4)::bigint)::jobforge.stream
      from jsonb_array_elements(p_hint -> 'streams') s);
  end if;
exception when data_exception then
  at := null;
  lane := null;
  due := null;
  streams := null;
end $$;
