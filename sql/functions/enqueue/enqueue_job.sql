-- Enqueues one job in the caller's transaction. Promises one job per idempotency key for as long as the job is
-- remembered, and one live job per dedupe key. Returns the job's columns and the outcome: created, existing or
-- replaced. With p_delay_ms, the job is due p_delay_ms milliseconds from now, on the database's clock. p_notify_to says
-- whom a webhook tells about the end of the job, if this call creates it. A payload that is stored outside the database
-- is kept as long as its job: see functions/artifacts/bind_payloads.sql. With p_hand_off (and p_notify), a job without
-- keys may start at once, as a run of an idle worker: then its status is running. Meant for calls that are committed at
-- once: until the commit, the job cannot be changed as a queued one can.
-- Who: the tenant itself, workers, operators. JF007 when the tenant's quota of pending jobs or of types is used up.
-- Waits only for another transaction that holds the same key, or binds the same stored payload.
create or replace function :"api_schema".jobforge_enqueue_job(
  p_tenant_id uuid,
  p_type text,
  p_payload jsonb default '{}',
  p_idempotency_key text default null,
  p_run_at timestamptz default null,
  p_max_attempts integer default null,
  p_priority integer default 0,
  p_dedupe_key text default null,
  p_dedupe_mode text default 'skip',
  p_tags text[] default '{}',
  p_subject text default null,
  p_concurrency_key text default null,
  p_expires_at timestamptz default null,
  p_traceparent text default null,
  p_notify boolean default true,
  p_delay_ms bigint default null,
  p_default_attempts integer default null,
  p_notify_to jsonb default null,
  p_hand_off boolean default false
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_now timestamptz := jobforge.now();
  v_job new_job := new_job(
    p_id => new_id(), p_type => p_type, p_payload => p_payload, p_idempotency_key => p_idempotency_key,
    p_run_at => coalesce(p_run_at, case when p_delay_ms is not null then delayed(v_now, p_delay_ms) end),
    p_max_attempts => p_max_attempts, p_priority => p_priority, p_dedupe_key => p_dedupe_key, p_dedupe_mode => p_dedupe_mode,
    p_tags => p_tags, p_subject => p_subject, p_concurrency_key => p_concurrency_key, p_expires_at => p_expires_at,
    p_traceparent => p_traceparent, p_default_attempts => p_default_attempts,
    p_notify => p_notify_to);
  v_known record;
  v_made record;
  v_document text;
begin
  -- One statement, because each costs about as much as reading a row. Nothing of it is returned before the check.
  select
    exists (select from role_bindings) as bindings,
    exists (
      select from tenant_types r
      where r.tenant_id = p_tenant_id and r.type = p_type and r.seen_at > v_now - registration_renewal()) as registered,
    exists (select from idle_workers i where i.type = p_type and i.takes) as idle,
    t.max_pending is not null as quota, t.label
  into v_known
  from (select) x
  left join tenants t on t.tenant_id = p_tenant_id;
  if v_known.bindings or p_tenant_id is null or not acts_for_all() then
    perform require_tenant(p_tenant_id);
  end if;
  if p_delay_ms is not null and not is_delay(to_jsonb(p_delay_ms), to_jsonb(p_run_at)) then
    perform fail_argument('delay_ms', delay_problem());
  end if;
  if problem_with(v_job, v_now) is not null then
    perform require_valid(array[v_job], v_now, false);
  end if;
  if not v_known.registered then
    perform add_types(p_tenant_id, array[p_type], v_now, 'type');
  end if;
  if num_nonnulls(p_idempotency_key, p_dedupe_key) = 0 then
    if v_known.quota then
      perform require_room(p_tenant_id, 1);
    end if;
    if p_hand_off and v_known.idle and coalesce(p_notify, true) then
      v_document := hand_over(p_tenant_id, v_job, v_now, v_known.label);
    end if;
    if v_document is null then
      v_document := enqueue_new_job(p_tenant_id, v_job, v_now, coalesce(p_notify, true), v_known.label);
    end if;
  else
    select e.id, e.outcome into v_made from enqueue(p_tenant_id, array[v_job], v_now, coalesce(p_notify, true)) e;
    -- Checked afterwards, because a key that leads to an existing job needs no room.
    if v_made.outcome = 'replaced' and p_payload ? '$artifact' then
      perform bind_payload(p_tenant_id, v_made.id, p_payload, v_now);
    end if;
    if v_made.outcome <> 'created' then
      return existing_document(p_tenant_id,
        jsonb_build_object('type', p_type, 'idempotency_key', p_idempotency_key), v_made.id, v_made.outcome);
    end if;
    perform require_room(p_tenant_id, 0);
    select left(to_json(j)::text, -1) || ',"outcome":"created"}' into v_document from live_jobs j where j.id = v_made.id;
  end if;
  if p_payload ? '$artifact' then
    perform bind_payload(p_tenant_id, v_job.id, p_payload, v_now);
  end if;
  if p_notify_to is not null then
    perform require_notified(p_tenant_id, array[v_job]);
    perform keep_notices(p_tenant_id, array[v_job]);
  end if;
  return v_document::jsonb;
end $$;
