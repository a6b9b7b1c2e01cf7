-- Events: what the ends of jobs tell the outside. An event becomes one delivery, a job of the type
-- connector.webhook.deliver, for each endpoint that wants it. Deliveries are enqueued in the transaction that ends the
-- job, without keys, so that nothing waits for an application, and a rollback leaves neither.

-- Returns whether the end of a job may concern a receiver. A database without endpoints pays this look and no more.
create or replace function jobforge.has_webhooks() returns boolean
language plpgsql stable as $$
begin
  return exists (select from jobforge.webhook_endpoints) or exists (select from jobforge.job_notices n where n.live);
end $$;

-- Returns whether a receiver wants to know of the success of a job, or, if it is a delivery, the health of its
-- endpoint does. If not, the run may end on the short path. Called only if has_webhooks().
create or replace function jobforge.is_told(p_job_id uuid, p_tenant_id uuid, p_type text, p_tags text[])
returns boolean
language plpgsql stable as $$
begin
  return jobforge.is_webhook(p_type)
    or exists (
      select from jobforge.webhook_endpoints w
      where w.tenant_id = p_tenant_id and jobforge.wants(w, 'job.succeeded', p_type, p_tags))
    or exists (select from jobforge.job_notices n where n.job_id = p_job_id and n.live);
end $$;

-- Returns whether an endpoint wants an event of a job of this type with these tags.
create or replace function jobforge.wants(
  p_endpoint jobforge.webhook_endpoints, p_event text, p_type text, p_tags text[]
) returns boolean
language sql immutable parallel safe as $$
  select jobforge.matches_any(p_endpoint.events, p_event)
    and (p_endpoint.job_types = '{}' or jobforge.matches_any(p_endpoint.job_types, p_type))
    and p_endpoint.tags <@ p_tags
$$;

-- Enqueues the deliveries for jobs that this transaction has ended, and learns from deliveries that have ended. An end
-- of a connector.webhook job makes no event, whatever endpoints ask for, so deliveries cannot cause deliveries. Waits
-- for nothing.
create or replace function jobforge.emit_events(p_ended jobforge.ended_job[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_nestloop = on
set enable_hashjoin = on as $$
declare
  v_ended ended_job[] := array(
    select e from unnest(p_ended) e
    where not is_webhook(e.type) and (e.status <> 'queued' or e.ended in ('failed', 'lost')));
begin
  perform note_deliveries(array(
    select e from unnest(p_ended) e
    where e.type = webhook_type() and e.ended in ('succeeded', 'failed') and e.subject is not null), p_now);
  if cardinality(v_ended) = 0 then
    return;
  end if;
  perform enqueue_deliveries(w.tenant_id, array_agg(w.delivery), p_now)
  from (
    select e.tenant_id, delivery(
      p_target => jsonb_build_object('endpoint_id', w.id),
      p_endpoint_id => w.id,
      p_event => event_of_job(e, w.include, p_now),
      p_traceparent => e.traceparent,
      p_now => p_now) as delivery
    from unnest(v_ended) e
    join webhook_endpoints w on w.tenant_id = e.tenant_id
    where wants(w, event_type(e.status), e.type, e.tags)
    union all
    select e.tenant_id, delivery(
      p_target => n.target,
      p_endpoint_id => uuid_or_null(n.target ->> 'endpoint_id'),
      p_event => event_of_job(e, '{}', p_now),
      p_traceparent => e.traceparent,
      p_now => p_now)
    from unnest(v_ended) e
    join job_notices n on n.job_id = e.id and n.live
    where event_type(e.status) = any (n.events)
      -- An endpoint that wants the event anyway gets it once.
      and not exists (
        select from webhook_endpoints w
        where w.id = uuid_or_null(n.target ->> 'endpoint_id') and w.tenant_id = e.tenant_id
          and wants(w, event_type(e.status), e.type, e.tags))
  ) w
  group by w.tenant_id;
  if exists (select from job_notices n where n.live) then
    update job_notices n
    set live = false
    where n.live and n.job_id = any (array(select e.id from unnest(v_ended) e where e.status <> 'queued'));
  end if;
end $$;

-- Returns the type of the jobs that deliver, and whether a type belongs to a connector of webhooks.
create or replace function jobforge.webhook_type() returns text
language sql immutable parallel safe as $$
  select 'connector.webhook.deliver'
$$;

create or replace function jobforge.is_webhook(p_type text) returns boolean
language sql immutable parallel safe as $$
  select starts_with(p_type, 'connector.webhook.')
$$;

-- Returns how many executions a delivery gets, if no operator has set another number: those of the preset webhook.
create or replace function jobforge.delivery_attempts() returns integer
language sql immutable parallel safe as $$
  select 12
$$;

-- Returns how long a delivery may wait before it is canceled: for a disabled endpoint, or behind others.
create or replace function jobforge.delivery_lifetime() returns interval
language sql immutable parallel safe as $$
  select interval '7 days'
$$;

-- Returns the type of the event of a job that has this status now.
create or replace function jobforge.event_type(p_status text) returns text
language sql immutable parallel safe as $$
  select case p_status when 'queued' then 'job.attempt_failed' else 'job.' || p_status end
$$;

-- Returns whether a word is on a list of patterns: the word itself, or a beginning such as job.* and *.
create or replace function jobforge.matches_any(p_patterns text[], p_word text) returns boolean
language sql immutable parallel safe as $$
  select p_word = any (p_patterns)
    or exists (
      select from unnest(p_patterns) p(pattern)
      where right(p.pattern, 1) = '*' and starts_with(p_word, left(p.pattern, -1)))
$$;

-- Returns a time as events write it.
create or replace function jobforge.event_time(p_time timestamptz) returns text
language sql stable parallel safe as $$
  select to_char(p_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- Returns the event of a job's end: {id, type, timestamp, data}. Its id is the job's with the number of the run, so
-- each end has its own, and a repeated delivery the same. A job that ends without a run has the number of its last run
-- and a letter. The data is a copy: retention does not hollow it out. Payload and result are part of it if p_include
-- names them and they have at most 32 kB together; omitted lists those that are too large.
create or replace function jobforge.event_of_job(p_job jobforge.ended_job, p_include text[], p_now timestamptz)
returns jsonb
language plpgsql stable as $$
declare
  v_data jsonb := jsonb_build_object(
    'id', p_job.id, 'tenant_id', p_job.tenant_id, 'type', p_job.type, 'status', p_job.status,
    'reason', nullif(p_job.reason, 'queued'),
    'attempts', p_job.attempts, 'subject', p_job.subject, 'tags', p_job.tags,
    'created_at', jobforge.event_time(p_job.created_at), 'started_at', jobforge.event_time(p_job.started_at),
    'finished_at', jobforge.event_time(p_now), 'duration_ms', jobforge.ms_between(p_job.started_at, p_now),
    'error', case when p_job.error is not null then jsonb_strip_nulls(jsonb_build_object(
      'name', p_job.error -> 'name',
      'message', left(coalesce(p_job.error ->> 'fullMessage', p_job.error ->> 'message'), 2000))) end,
    'schedule', (select s.key from jobforge.schedules s where s.id = p_job.schedule_id),
    'result_ref', p_job.artifact_ref);
  v_part text;
  v_value jsonb;
  v_room integer := 32768;
  v_omitted text[] := '{}';
begin
  foreach v_part in array p_include loop
    v_value := case v_part
      when 'result' then p_job.result
      else coalesce(p_job.payload, (select p.payload::jsonb from jobforge.payloads p where p.job_id = p_job.id))
    end;
    if v_value is not null and octet_length(v_value::text) > v_room then
      v_omitted := v_omitted || v_part;
    else
      v_room := v_room - coalesce(octet_length(v_value::text), 0);
      v_data := v_data || jsonb_build_object(v_part, v_value);
    end if;
  end loop;
  if cardinality(v_omitted) > 0 then
    v_data := v_data || jsonb_build_object('omitted', to_jsonb(v_omitted));
  end if;
  return jsonb_build_object(
    'id', p_job.id || '-' || p_job.attempts || case when p_job.ended is null then 'c' else '' end,
    'type', jobforge.event_type(p_job.status), 'timestamp', jobforge.event_time(p_now), 'data', v_data);
end $$;

-- Returns the job that delivers an event. p_target: {endpoint_id}, or {url, secret}. All deliveries of an endpoint have
-- its id as their subject and concurrency key; those to a URL have its origin as the key.
create or replace function jobforge.delivery(
  p_target jsonb, p_endpoint_id uuid, p_event jsonb, p_now timestamptz, p_traceparent text default null
) returns jobforge.new_job
language sql volatile as $$
  select jobforge.new_job(
    p_type => jobforge.webhook_type(),
    p_id => jobforge.new_id(),
    p_payload => p_target || jsonb_build_object('event', p_event),
    p_tags => array[p_event ->> 'type'],
    p_subject => p_endpoint_id::text,
    p_concurrency_key => coalesce(p_endpoint_id::text,
      left('origin:' || substring(p_target ->> 'url' from '^[^/]*//[^/?#]*'), 1024)),
    p_expires_at => p_now + jobforge.delivery_lifetime(),
    p_traceparent => p_traceparent,
    p_default_attempts => jobforge.delivery_attempts())
$$;

-- Enqueues deliveries of a tenant, and wakes workers. No quota of the tenant refuses them: the end of a job must not
-- fail because of its event. They count as pending jobs all the same.
create or replace function jobforge.enqueue_deliveries(
  p_tenant_id uuid, p_deliveries jobforge.new_job[], p_now timestamptz
) returns void
language plpgsql as $$
begin
  perform jobforge.register_types(p_tenant_id, array[jobforge.webhook_type()], p_now);
  perform jobforge.enqueue_new_jobs(p_tenant_id, null, p_deliveries, p_now, true);
end $$;
