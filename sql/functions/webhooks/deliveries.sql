-- Deliveries are jobs: their subject is the endpoint, and their tag is the type of the event.

-- Returns the deliveries of an endpoint, newest first, with the filters of jobforge_list_jobs except type and subject.
-- Deliveries of an endpoint that was deleted are found as long as they are remembered.
-- Who: the tenant itself, operators. JF002 for an unknown or malformed filter. Locks nothing.
create or replace function :"api_schema".jobforge_list_webhook_deliveries(
  p_tenant_id uuid, p_endpoint_id uuid, p_filters jsonb default '{}'
) returns setof :"api_schema".jobforge_jobs
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return query select * from read_page(p_tenant_id, delivery_filter(p_endpoint_id, read_filters(p_filters)));
end $$;

-- Restricts a filter to the deliveries of an endpoint.
create or replace function jobforge.delivery_filter(p_endpoint_id uuid, p_filter jobforge.job_filter)
returns jobforge.job_filter
language plpgsql stable as $$
begin
  if p_endpoint_id is null then
    perform jobforge.fail_argument('endpoint_id', 'endpoint_id must be the id of an endpoint');
  elsif num_nonnulls(p_filter.types, p_filter.subject) > 0 then
    perform jobforge.fail_argument('filters', 'type and subject are those of deliveries');
  end if;
  p_filter.types := array[jobforge.webhook_type()];
  p_filter.subject := p_endpoint_id::text;
  return p_filter;
end $$;

-- Delivers again, up to p_limit deliveries of an endpoint that a filter selects; by default those that failed or are
-- dead. These return to the queue. Of a delivery that succeeded, was canceled or has expired, a new job with the same
-- event is made. Receivers get the same webhook-id with a new time. Returns {matched, replayed}. The endpoint's limits
-- apply, so a replay is no flood.
-- Who: the tenant itself, operators. JF002 for an unknown or malformed filter, JF016 if there is no such endpoint,
-- JF007 when the tenant's quota has no room. Locks the deliveries that return to the queue.
create or replace function :"api_schema".jobforge_replay_webhook_deliveries(
  p_tenant_id uuid, p_endpoint_id uuid, p_filters jsonb default '{}', p_limit integer default 1000
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_filter job_filter;
  v_found jsonb;
  v_revived uuid[];
  v_copies new_job[];
  v_result jsonb;
begin
  perform require_tenant(p_tenant_id);
  if not exists (select from webhook_endpoints w where w.id = p_endpoint_id and w.tenant_id = p_tenant_id) then
    perform fail_no_endpoint(p_endpoint_id);
  end if;
  v_filter := read_bulk_filters(coalesce(p_filters, '{}') || jsonb_build_object(
    'status', coalesce(p_filters -> 'status', '["failed", "dead"]')), p_limit);
  v_filter := narrowed(delivery_filter(p_endpoint_id, v_filter), finished_statuses());
  v_found := coalesce((
    select jsonb_agg(jsonb_build_object('id', j.id, 'status', j.status, 'payload', j.payload) order by j.id)
    from find_narrowed(p_tenant_id, v_filter) p
    cross join lateral job_at(p.id, p.finished_at) j), '[]');
  v_revived := array(
    select r.id
    from revive(array(
      select (f ->> 'id')::uuid from jsonb_array_elements(v_found) f
      where f ->> 'status' in ('failed', 'dead')), p_tenant_id, v_now, null, v_now) r);
  v_copies := array(
    select delivery((f.value -> 'payload') - 'event', p_endpoint_id, f.value #> '{payload,event}', v_now)
    from jsonb_array_elements(v_found) with ordinality f
    where f.value ->> 'status' in ('succeeded', 'canceled') and f.value #> '{payload,event,type}' is not null
    order by f.ordinality);
  if cardinality(v_copies) > 0 then
    perform require_room(p_tenant_id, cardinality(v_copies));
    perform enqueue_deliveries(p_tenant_id, v_copies, v_now);
  end if;
  perform wake(webhook_type(), v_now, v_now, array[p_tenant_id]);
  v_result := jsonb_build_object('matched', jsonb_array_length(v_found),
    'replayed', cardinality(v_revived) + cardinality(v_copies));
  perform audit_bulk(p_tenant_id, 'WEBHOOKS_REPLAYED', coalesce(p_filters, '{}')
    || jsonb_build_object('endpoint_id', p_endpoint_id), v_result);
  return v_result;
end $$;
