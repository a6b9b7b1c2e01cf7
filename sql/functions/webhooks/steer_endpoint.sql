-- Calls that read and steer an endpoint. Each names it by its id.

-- Returns an endpoint's row, locked. Raises JF016 if the tenant has no such endpoint.
create or replace function jobforge.lock_endpoint(p_tenant_id uuid, p_endpoint_id uuid)
returns jobforge.webhook_endpoints
language plpgsql as $$
declare
  v_endpoint jobforge.webhook_endpoints;
begin
  select w.* into v_endpoint
  from jobforge.webhook_endpoints w
  where w.id = p_endpoint_id and w.tenant_id = p_tenant_id
  for update;
  if not found then
    perform jobforge.fail_no_endpoint(p_endpoint_id);
  end if;
  return v_endpoint;
end $$;

-- Raises JF016.
create or replace function jobforge.fail_no_endpoint(p_endpoint_id uuid) returns void
language sql as $$
  select jobforge.fail('JF016', format('Webhook endpoint not found: the tenant has no endpoint %s', p_endpoint_id),
    'endpoint_not_found', 'endpoint_id', 'jobforge_list_webhook_endpoints lists the tenant''s endpoints.')
$$;

-- Returns an endpoint as clients and workers see it. It has no secret: keys are derived where the master key is. health
-- says since when deliveries fail, and held_until until when none starts.
create or replace function jobforge.endpoint_document(p_endpoint_id uuid, p_now timestamptz) returns jsonb
language plpgsql stable
set enable_seqscan = off as $$
begin
  return (
    select jsonb_build_object(
      'id', w.id, 'tenant_id', w.tenant_id, 'url', w.url, 'description', w.description, 'events', w.events,
      'job_types', w.job_types, 'tags', w.tags, 'include', w.include, 'format', w.format, 'signature', w.signature,
      'headers', w.headers, 'ordered', w.ordered, 'retry_schedule', w.retry_schedule, 'state', w.state,
      'reason', w.reason, 'disabled_at', w.disabled_at,
      'keys', (
        select jsonb_agg(k.key order by k.ord)
        from jsonb_array_elements(w.keys) with ordinality k(key, ord)
        where coalesce((k.key ->> 'until')::timestamptz > p_now, true)),
      'failing_since', h.first_failed_at,
      'held_until', case when x.until > p_now and isfinite(x.until) then x.until end,
      'created_at', w.created_at, 'updated_at', w.updated_at)
    from jobforge.webhook_endpoints w
    left join jobforge.webhook_health h on h.endpoint_id = w.id
    cross join lateral (
      select jobforge.held_until(w.tenant_id, jobforge.webhook_type(), w.id::text) as until
    ) x
    where w.id = p_endpoint_id);
end $$;

-- Returns an endpoint.
-- Who: the tenant itself, workers, operators. JF016 if there is no such endpoint. Locks nothing.
create or replace function :"api_schema".jobforge_get_webhook_endpoint(p_tenant_id uuid, p_endpoint_id uuid)
returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  if not exists (select from webhook_endpoints w where w.id = p_endpoint_id and w.tenant_id = p_tenant_id) then
    perform fail_no_endpoint(p_endpoint_id);
  end if;
  return endpoint_document(p_endpoint_id, jobforge.now());
end $$;

-- Returns the endpoints of a tenant as a JSON array, the oldest first.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_webhook_endpoints(p_tenant_id uuid) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return coalesce((
    select jsonb_agg(endpoint_document(w.id, jobforge.now()) order by w.id)
    from webhook_endpoints w
    where w.tenant_id = p_tenant_id), '[]');
end $$;

-- Disables an endpoint: its deliveries wait in the queue, also new ones, until it is enabled or they expire. Returns
-- the endpoint. Repeating the call is not an error.
-- Who: the tenant itself, operators. JF016 if there is no such endpoint. Locks the endpoint's row.
create or replace function :"api_schema".jobforge_disable_webhook_endpoint(
  p_tenant_id uuid, p_endpoint_id uuid, p_reason text default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
begin
  perform require_tenant(p_tenant_id);
  if octet_length(p_reason) > 1024 then
    perform fail_argument('reason', 'reason is longer than 1024 bytes');
  end if;
  perform lock_endpoint(p_tenant_id, p_endpoint_id);
  perform disable_endpoint(p_endpoint_id, coalesce(p_reason, 'Disabled by hand.'), v_now);
  return endpoint_document(p_endpoint_id, v_now);
end $$;

-- Enables an endpoint: the deliveries that wait for it go out, also those that its circuit breaker held back. Returns
-- the endpoint. Repeating the call is not an error.
-- Who: the tenant itself, operators. JF016 if there is no such endpoint. Locks the endpoint's row and its health.
create or replace function :"api_schema".jobforge_enable_webhook_endpoint(p_tenant_id uuid, p_endpoint_id uuid)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_endpoint webhook_endpoints;
begin
  perform require_tenant(p_tenant_id);
  v_endpoint := lock_endpoint(p_tenant_id, p_endpoint_id);
  update webhook_health h
  set unreached = 0, window_at = null, window_runs = 0, window_failures = 0, opened = 0, first_failed_at = null,
    last_failed_at = null
  where h.endpoint_id = p_endpoint_id;
  perform lift_holds(p_tenant_id, webhook_type(), p_endpoint_id::text, false, v_now);
  if v_endpoint.state = 'disabled' then
    update webhook_endpoints w
    set state = 'enabled', reason = null, disabled_at = null, updated_at = v_now, updated_by = actor()
    where w.id = p_endpoint_id;
    perform audit_endpoint(v_endpoint, 'WEBHOOK_ENDPOINT_ENABLED', v_now);
  end if;
  return endpoint_document(p_endpoint_id, v_now);
end $$;

-- Gives an endpoint a new signing key. The one before signs as well for p_keep, so that the receiver has time to take
-- the new one over; at most two older ones sign. p_master_key: the name of the master key of the new one; null: as
-- before. Returns the endpoint.
-- Who: the tenant itself, operators. JF002 for p_keep over 30 days, JF016 if there is no such endpoint. Locks the
-- endpoint's row.
create or replace function :"api_schema".jobforge_rotate_webhook_endpoint(
  p_tenant_id uuid, p_endpoint_id uuid, p_keep interval default '24 hours', p_master_key text default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_endpoint webhook_endpoints;
  v_version integer;
begin
  perform require_tenant(p_tenant_id);
  if p_keep is null or p_keep < interval '0' or p_keep > interval '30 days' then
    perform fail_argument('keep', 'keep must be between 0 and 30 days');
  elsif p_master_key !~ '^[A-Za-z0-9_-]{1,64}$' then
    perform fail_argument('master_key', 'master_key must be the name of a master key, not the key itself');
  end if;
  v_endpoint := lock_endpoint(p_tenant_id, p_endpoint_id);
  v_version := (v_endpoint.keys #>> '{0,version}')::integer + 1;
  update webhook_endpoints w
  set keys = jsonb_build_array(jsonb_build_object(
        'version', v_version, 'master_key', coalesce(p_master_key, w.keys #>> '{0,master_key}')))
      || coalesce((
        select jsonb_agg(k.key || jsonb_build_object('until',
          to_jsonb(least((k.key ->> 'until')::timestamptz, v_now + p_keep))) order by k.ord)
        from jsonb_array_elements(w.keys) with ordinality k(key, ord)
        where k.ord <= 2 and coalesce((k.key ->> 'until')::timestamptz > v_now, true) and p_keep > interval '0'), '[]'),
    updated_at = v_now, updated_by = actor()
  where w.id = p_endpoint_id;
  perform audit_endpoint(v_endpoint, 'WEBHOOK_ENDPOINT_ROTATED', v_now, jsonb_build_object('version', v_version));
  return endpoint_document(p_endpoint_id, v_now);
end $$;

-- Deletes an endpoint and cancels its deliveries that are queued, up to 10,000; the others fail when their turn comes.
-- Deliveries that were made stay in the history of jobs. Returns {id, deleted, canceled}.
-- Who: the tenant itself, operators. JF016 if there is no such endpoint. Locks the endpoint's row and the deliveries.
create or replace function :"api_schema".jobforge_delete_webhook_endpoint(p_tenant_id uuid, p_endpoint_id uuid)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_endpoint webhook_endpoints;
  v_canceled integer;
begin
  perform require_tenant(p_tenant_id);
  v_endpoint := lock_endpoint(p_tenant_id, p_endpoint_id);
  delete from webhook_endpoints w where w.id = p_endpoint_id;
  delete from webhook_health h where h.endpoint_id = p_endpoint_id;
  delete from webhook_ends e where e.endpoint_id = p_endpoint_id;
  if v_endpoint.ordered then
    perform set_ordered(p_tenant_id, webhook_type(), p_endpoint_id::text, false, v_now);
  end if;
  v_canceled := finish_queued(array(
    select j.id from queue j
    where j.tenant_id = p_tenant_id and j.subject = p_endpoint_id::text and j.type = webhook_type()
      and j.subject is not null
    limit 10000
    for update skip locked), 'canceled', v_now);
  perform lift_holds(p_tenant_id, webhook_type(), p_endpoint_id::text, false, v_now);
  perform audit_endpoint(v_endpoint, 'WEBHOOK_ENDPOINT_DELETED', v_now);
  return jsonb_build_object('id', p_endpoint_id, 'deleted', true, 'canceled', v_canceled);
end $$;

-- Sends the event webhook.test to one endpoint, on the same way as every other delivery. Returns {id: of the event,
-- job_id: of the delivery}.
-- Who: the tenant itself, operators. JF016 if there is no such endpoint. Locks nothing.
create or replace function :"api_schema".jobforge_test_webhook_endpoint(p_tenant_id uuid, p_endpoint_id uuid)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_id uuid := new_id();
  v_delivery new_job;
begin
  perform require_tenant(p_tenant_id);
  if not exists (select from webhook_endpoints w where w.id = p_endpoint_id and w.tenant_id = p_tenant_id) then
    perform fail_no_endpoint(p_endpoint_id);
  end if;
  perform require_room(p_tenant_id, 1);
  v_delivery := delivery(jsonb_build_object('endpoint_id', p_endpoint_id), p_endpoint_id, jsonb_build_object(
    'id', v_id, 'type', 'webhook.test', 'timestamp', event_time(v_now), 'data', jsonb_build_object(
      'endpoint_id', p_endpoint_id, 'message', 'This is a test. If you can verify its signature, all is well.')), v_now);
  perform enqueue_deliveries(p_tenant_id, array[v_delivery], v_now);
  return jsonb_build_object('id', v_id, 'job_id', v_delivery.id);
end $$;
