-- Sends a notification. Every notification of the kernel goes through this function. Notifications are best effort:
-- workers poll, and heartbeats return cancel requests. But a NOTIFY into a full queue fails the commit, and no
-- exception handler can catch that. Any login can fill the queue: it listens, and leaves a transaction open. So nothing
-- is sent once the queue is half full.
create or replace function jobforge.notify(p_channel text, p_payload text) returns void
language plpgsql as $$
declare
  -- One expression, because perform would run a statement. Postgres sends nothing if the first part is false.
  v_sent boolean := case when pg_notification_queue_usage() < 0.5 then pg_notify(p_channel, p_payload) is not null end;
begin
end $$;

-- Wakes the sleeping workers that have a handler for the type. A NOTIFY in every commit would halve the commit rate, so
-- it is sent only if a worker has marked itself idle; otherwise the call is one index lookup. p_tenant_ids: whose jobs
-- these are, so that an idle worker that is bound to another tenant makes no commit send a notification; null for
-- unknown. The payload is the type, and for work in the future a second line with its time. Best effort: workers also
-- poll.
create or replace function jobforge.wake(
  p_type text, p_run_at timestamptz, p_now timestamptz, p_tenant_ids uuid[] default null
) returns void
language plpgsql as $$
begin
  if exists (select from jobforge.idle_workers i where i.type in (p_type, '*'))
    and (p_tenant_ids is null or exists (
      select from jobforge.idle_workers i
      where i.type in (p_type, '*') and i.scope = any (p_tenant_ids || jobforge.all_tenants())))
  then
    perform jobforge.notify('jobforge_wake', p_type || case when p_run_at > p_now
      then to_char(p_run_at at time zone 'UTC', E'\nYYYY-MM-DD"T"HH24:MI:SS.US"Z"') else '' end);
  end if;
end $$;

-- Wakes every sleeping worker, for work of any type.
create or replace function jobforge.wake_all(p_now timestamptz) returns void
language plpgsql as $$
begin
  perform jobforge.notify('jobforge_wake', t.type)
  from (select distinct i.type from jobforge.idle_workers i) t;
end $$;
