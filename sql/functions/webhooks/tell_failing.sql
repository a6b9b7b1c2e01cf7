-- Returns how many runs of a schedule must fail in a row until endpoints are notified that it is failing.
create or replace function jobforge.failing_after() returns integer
language sql immutable parallel safe as $$
  select 3
$$;

-- Sends the event schedule.failing to the endpoints that want it: for schedules of which the last runs have failed, or
-- which were disabled because they cannot run. Once for each row of failures. Waits for nothing.
create or replace function jobforge.tell_failing(p_schedule_ids uuid[], p_now timestamptz) returns void
language plpgsql
set enable_seqscan = off as $$
begin
  if not exists (select from jobforge.webhook_endpoints) then
    return;
  end if;
  perform jobforge.enqueue_deliveries(d.tenant_id, array_agg(d.delivery), p_now)
  from (
    with failing as materialized (
      select s.tenant_id, s.type, s.tags, jsonb_build_object(
        'id', jobforge.new_id(), 'type', 'schedule.failing', 'timestamp', jobforge.event_time(p_now),
        'data', jsonb_build_object(
          'tenant_id', s.tenant_id, 'type', s.type, 'key', s.key, 'enabled', s.enabled,
          'consecutive_failures', s.consecutive_failures, 'last_error', left(s.last_error, 2000),
          'last_run_at', jobforge.event_time(s.last_run_at), 'next_run_at', jobforge.event_time(s.next_run_at))) as event
      from jobforge.schedules s
      where s.id = any (p_schedule_ids) and not jobforge.is_webhook(s.type)
    )
    select f.tenant_id,
      jobforge.delivery(jsonb_build_object('endpoint_id', w.id), w.id, f.event, p_now) as delivery
    from failing f
    join jobforge.webhook_endpoints w on w.tenant_id = f.tenant_id
    where jobforge.wants(w, 'schedule.failing', f.type, f.tags)
  ) d
  group by d.tenant_id;
end $$;
