-- What the ends of deliveries say about an endpoint: the circuit breaker, and when an endpoint is disabled.
--
-- The breaker opens after five deliveries in a row that no server responded to, or when of ten or more within five
-- minutes seven in ten failed. Open means that the endpoint's key is held: for 30 seconds, then twice as long each
-- time, up to half an hour. After that one delivery is tried. A success closes the breaker.
--
-- An endpoint is disabled when its receiver responds with status 410, or when every delivery has failed for five days.

-- Records how deliveries have ended. A success of an endpoint without failures needs no record. If another transaction
-- holds the endpoint's health, the record stays for the next delivery or for maintenance. Waits for nothing.
create or replace function jobforge.note_deliveries(p_ended jobforge.ended_job[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_endpoint_id uuid;
begin
  if cardinality(p_ended) = 0 then
    return;
  end if;
  with noted as (
    insert into jobforge.webhook_ends (endpoint_id, at, outcome)
    select w.id, p_now, o.outcome
    from unnest(p_ended) e
    cross join lateral (select jobforge.delivery_outcome(e) as outcome) o
    join jobforge.webhook_endpoints w on w.id = jobforge.uuid_or_null(e.subject) and w.tenant_id = e.tenant_id
    join jobforge.webhook_health h on h.endpoint_id = w.id
    where o.outcome is not null
      and (o.outcome <> 'delivered' or h.opened > 0 or h.window_failures > 0 or h.first_failed_at is not null)
    returning endpoint_id
  )
  select n.endpoint_id into v_endpoint_id from noted n limit 1;
  if v_endpoint_id is not null then
    perform jobforge.judge_endpoints(array(
      select distinct jobforge.uuid_or_null(e.subject) from unnest(p_ended) e), p_now);
  end if;
end $$;

-- Returns what the end of a delivery says about its receiver; null for one that says nothing, such as a worker without
-- the master key.
create or replace function jobforge.delivery_outcome(p_job jobforge.ended_job) returns text
language sql immutable as $$
  select case
    when p_job.ended = 'succeeded' then 'delivered'
    when p_job.error #>> '{details,status}' = '410' then 'gone'
    when p_job.error #>> '{details,code}' in (
      'dns_failed', 'connect_failed', 'connection_lost', 'tls_failed', 'timeout', 'invalid_response') then 'unreached'
    when p_job.error #>> '{details,code}' in (
      'http_status', 'blocked_address', 'blocked_host', 'blocked_port', 'blocked_scheme', 'invalid_url') then 'failed'
  end
$$;

-- Adds the recorded ends of deliveries to the health of their endpoints, and acts on it. Skips endpoints whose health
-- another transaction holds.
create or replace function jobforge.judge_endpoints(p_endpoint_ids uuid[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_endpoint record;
begin
  for v_endpoint in
    select h as health, w.tenant_id
    from jobforge.webhook_health h
    join jobforge.webhook_endpoints w on w.id = h.endpoint_id
    where h.endpoint_id = any (p_endpoint_ids)
    order by h.endpoint_id
    for update of h skip locked
  loop
    perform jobforge.judge_endpoint(v_endpoint.health, v_endpoint.tenant_id, p_now);
  end loop;
end $$;

-- Does this for one endpoint, whose health the caller has locked.
create or replace function jobforge.judge_endpoint(
  p_health jobforge.webhook_health, p_tenant_id uuid, p_now timestamptz
) returns void
language plpgsql
set enable_sort = on as $$
declare
  v jobforge.webhook_health := p_health;
  v_key text := p_health.endpoint_id::text;
  v_ends jobforge.webhook_ends[];
  v_end jobforge.webhook_ends;
  v_disable text;
begin
  with taken as (
    delete from jobforge.webhook_ends e where e.endpoint_id = v.endpoint_id returning e.*
  )
  select array_agg(row(t.*)::jobforge.webhook_ends order by t.id) into v_ends from taken t;
  if v_ends is null then
    return;
  end if;
  foreach v_end in array v_ends loop
    if v.window_at is null or v_end.at > v.window_at + interval '5 minutes' then
      v.window_at := v_end.at;
      v.window_runs := 0;
      v.window_failures := 0;
    end if;
    v.window_runs := v.window_runs + 1;
    if v_end.outcome = 'delivered' then
      v.unreached := 0;
      v.first_failed_at := null;
      v.last_failed_at := null;
    else
      v.window_failures := v.window_failures + 1;
      v.unreached := case v_end.outcome when 'unreached' then v.unreached + 1 else 0 end;
      v.first_failed_at := coalesce(v.first_failed_at, v_end.at);
      v_disable := coalesce(v_disable, case
        when v_end.outcome = 'gone' then 'The receiver responded with status 410.'
        when v_end.at >= v.first_failed_at + interval '5 days'
          and v.last_failed_at >= v.first_failed_at + interval '12 hours'
          then 'Every delivery has failed for five days.'
      end);
      v.last_failed_at := v_end.at;
    end if;
  end loop;
  if v_disable is not null then
    perform jobforge.disable_endpoint(v.endpoint_id, v_disable, p_now);
  elsif v_end.outcome = 'delivered' then
    if v.opened > 0 then
      v.opened := 0;
      v.window_at := null;
      v.window_runs := 0;
      v.window_failures := 0;
      perform jobforge.lift_holds(p_tenant_id, jobforge.webhook_type(), v_key, true, p_now);
    end if;
  elsif (v.opened > 0 or v.unreached >= 5 or (v.window_runs >= 10 and v.window_failures >= 0.7 * v.window_runs))
    -- Deliveries that began before the breaker opened say nothing new.
    and coalesce(jobforge.held_until(p_tenant_id, jobforge.webhook_type(), v_key) <= p_now, true)
  then
    perform jobforge.hold(p_tenant_id, jobforge.webhook_type(), v_key,
      p_now + least(interval '30 seconds' * power(2, least(v.opened, 10)), interval '30 minutes'), true,
      'The receiver does not respond, or refuses most deliveries.', p_now);
    v.opened := v.opened + 1;
  end if;
  update jobforge.webhook_health h
  set unreached = v.unreached, window_at = v.window_at, window_runs = v.window_runs,
    window_failures = v.window_failures, opened = v.opened, first_failed_at = v.first_failed_at,
    last_failed_at = v.last_failed_at
  where h.endpoint_id = v.endpoint_id;
end $$;

-- Disables an endpoint, unless it is disabled already or an application is changing it: then the next failure does.
-- Its deliveries wait from now on. Tells the tenant's other endpoints.
create or replace function jobforge.disable_endpoint(p_endpoint_id uuid, p_reason text, p_now timestamptz) returns void
language plpgsql as $$
declare
  v_endpoint jobforge.webhook_endpoints;
begin
  update jobforge.webhook_endpoints w
  set state = 'disabled', reason = p_reason, disabled_at = p_now, updated_at = p_now, updated_by = jobforge.actor()
  where w.id = any (array(
    select f.id from jobforge.webhook_endpoints f
    where f.id = p_endpoint_id and f.state = 'enabled'
    for update skip locked))
  returning * into v_endpoint;
  if not found then
    return;
  end if;
  perform jobforge.hold(v_endpoint.tenant_id, jobforge.webhook_type(), p_endpoint_id::text, 'infinity', false,
    'The endpoint is disabled.', p_now);
  perform jobforge.audit_endpoint(v_endpoint, 'WEBHOOK_ENDPOINT_DISABLED', p_now, jsonb_build_object('reason', p_reason));
  perform jobforge.send_event(v_endpoint.tenant_id, jsonb_build_object(
      'id', jobforge.new_id(), 'type', 'webhook.endpoint_disabled', 'timestamp', jobforge.event_time(p_now),
      'data', jsonb_build_object('endpoint_id', p_endpoint_id, 'url', v_endpoint.url, 'reason', p_reason)),
    p_endpoint_id, false, p_now);
end $$;

-- Maintenance: adds ends of deliveries that were left, because another transaction held the health of their endpoint,
-- and deletes those of endpoints that are gone. Never waits.
create or replace function jobforge.fold_webhook_ends(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
begin
  if jobforge.has_webhooks() then
    perform jobforge.ensure_delivery_policy(p_now);
  end if;
  if not exists (select from jobforge.webhook_ends) then
    return 0;
  end if;
  perform jobforge.judge_endpoints(array(
    select distinct e.endpoint_id
    from (select o.endpoint_id from jobforge.webhook_ends o order by o.id limit p_limit) e), p_now);
  delete from jobforge.webhook_ends e
  where e.id = any (array(
    select f.id from jobforge.webhook_ends f
    where not exists (select from jobforge.webhook_endpoints w where w.id = f.endpoint_id)
    limit p_limit
    for update skip locked));
  return 0;
end $$;

-- Gives the type of deliveries the preset webhook, unless it has a policy already: a receiver that is down for a day
-- must not need an operator who knows that. Only maintenance calls it: if tenants did, others would wait for their
-- uncommitted row.
create or replace function jobforge.ensure_delivery_policy(p_now timestamptz) returns void
language plpgsql as $$
begin
  if not exists (select from jobforge.policies p where p.type = jobforge.webhook_type()) then
    insert into jobforge.policies
    select n.*
    from jobforge.policy_of('*') p
    cross join lateral jobforge.changed_policy(p, jobforge.preset('webhook') || jsonb_build_object(
      'type', jobforge.webhook_type(), 'by_hand', '[]'::jsonb, 'updated_at', p_now,
      'updated_by', jobforge.actor())) n
    on conflict (type) do nothing;
  end if;
end $$;
