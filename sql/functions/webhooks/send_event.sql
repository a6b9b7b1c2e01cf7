-- Sends an event of the application, such as invoice.paid, to the tenant's endpoints that want it, in the caller's
-- transaction. p_event: {type, data, id, timestamp}. The id defaults to a new one; receivers ignore an id that they
-- have seen. Types that begin with "job.", "schedule." or "webhook." are JobForge's own. Returns {id, deliveries: the
-- ids of the jobs}; an empty list if no endpoint wants the event.
-- Who: the tenant itself, workers, operators. JF002 for an invalid event, JF007 when the tenant's quota has no room.
-- Locks nothing.
create or replace function :"api_schema".jobforge_send_event(p_tenant_id uuid, p_event jsonb) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_event jsonb;
begin
  perform require_tenant(p_tenant_id);
  v_event := read_event(p_event, v_now);
  return jsonb_build_object('id', v_event -> 'id', 'deliveries', send_event(p_tenant_id, v_event, null, true, v_now));
end $$;

-- Returns an application's event with its defaults. Raises JF002 for one that cannot be delivered.
create or replace function jobforge.read_event(p_event jsonb, p_now timestamptz) returns jsonb
language plpgsql stable as $$
declare
  v_type text := jobforge.text_under(p_event, 'type');
  v_unknown text;
begin
  perform jobforge.require_printable(p_event, 'event');
  if p_event is null or jsonb_typeof(p_event) <> 'object' then
    perform jobforge.fail_argument('event', 'event must be a JSON object', 'Such as {"type": "invoice.paid", "data": {}}.');
  end if;
  select k into v_unknown from jsonb_object_keys(p_event - '{id,type,timestamp,data}'::text[]) k limit 1;
  if found then
    perform jobforge.fail_argument('event.' || v_unknown, format('unknown key %s', v_unknown),
      'Known keys: id, type, timestamp, data.');
  elsif not coalesce(v_type ~ '^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$', false) then
    perform jobforge.fail_argument('event.type', 'type must have 1 to 100 letters, digits and _ . -',
      'Such as invoice.paid.');
  elsif v_type ~ '^(job|schedule|webhook)\.' then
    perform jobforge.fail_argument('event.type',
      'types that begin with job., schedule. or webhook. are JobForge''s own');
  elsif p_event ? 'id' and not coalesce(jobforge.text_under(p_event, 'id') ~ '^[A-Za-z0-9_-]{1,64}$', false) then
    perform jobforge.fail_argument('event.id', 'id must have 1 to 64 letters, digits, - and _',
      'The signed text is separated by full stops, so an id has none.');
  elsif p_event ? 'timestamp' and jobforge.time_or_null(jobforge.text_under(p_event, 'timestamp')) is null then
    perform jobforge.fail_argument('event.timestamp', 'timestamp must be a time');
  elsif octet_length((p_event -> 'data')::text) > 262144 then
    perform jobforge.fail('JF008', 'Payload too large: data is over 256 kB', 'payload_too_large', 'event.data',
      'Send a reference that the receiver can fetch.');
  end if;
  return jsonb_build_object('id', coalesce(p_event ->> 'id', jobforge.new_id()::text), 'type', v_type,
    'timestamp', jobforge.event_time(coalesce(jobforge.time_or_null(p_event ->> 'timestamp'), p_now)),
    'data', coalesce(p_event -> 'data', '{}'));
end $$;

-- Enqueues the deliveries of an event to the tenant's endpoints that want it, except p_except. Returns their ids.
-- p_quota: whether the tenant's quota may refuse them.
create or replace function jobforge.send_event(
  p_tenant_id uuid, p_event jsonb, p_except uuid, p_quota boolean, p_now timestamptz
) returns jsonb
language plpgsql
set enable_seqscan = off as $$
declare
  v_deliveries jobforge.new_job[] := array(
    select jobforge.delivery(jsonb_build_object('endpoint_id', w.id), w.id, p_event, p_now)
    from jobforge.webhook_endpoints w
    where w.tenant_id = p_tenant_id and w.id is distinct from p_except
      and jobforge.matches_any(w.events, p_event ->> 'type')
    order by w.id);
begin
  if cardinality(v_deliveries) = 0 then
    return '[]';
  end if;
  if p_quota then
    perform jobforge.add_types(p_tenant_id, array[jobforge.webhook_type()], p_now, 'event.type');
    perform jobforge.require_room(p_tenant_id, cardinality(v_deliveries));
  end if;
  perform jobforge.enqueue_deliveries(p_tenant_id, v_deliveries, p_now);
  return (select jsonb_agg(d.id) from unnest(v_deliveries) d);
end $$;
