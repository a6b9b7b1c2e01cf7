-- Hand-off: an enqueue gives its job to an idle worker at once. The job starts as a run of that worker, in the commit
-- of the enqueue, and a notification with the job's id tells the worker. So there is one commit between the call and
-- the handler, and no claim. Nothing is handed over that a claim might have to leave or to order: see is_unrestrained.
--
--   jobforge_heartbeat_worker   the worker offers its slots                  offers, idle_workers
--   jobforge_enqueue_job        hand_over: finds an offer, starts the run    runs (handed), NOTIFY
--   jobforge_receive_jobs       the worker reads the job                     runs
--   jobforge_heartbeat_worker   names jobs whose notification was lost       runs
--
-- A run that the worker has not received goes back into the queue without costing an attempt: when something restrains
-- the job meanwhile, when the worker was restarted, stops or falls silent, or when it does not list the run for as long
-- as it takes to send a heartbeat.

-- Hands a job without keys to an idle worker. Returns its document, as enqueue_new_job does; null if the job must be
-- queued. Locks an offer. Skips offers that another transaction has locked; never waits. A column that is added to the
-- inserts of enqueue_new.sql or start_runs must be added here, too.
create or replace function jobforge.hand_over(
  p_tenant_id uuid, p_job jobforge.new_job, p_now timestamptz, p_label text
) returns text
language plpgsql as $$
declare
  v_pages bigint := pg_stat_get_xact_blocks_fetched('jobforge.runs_worker'::regclass);
  v_offer record;
  v_payload jsonb;
  v_document text;
begin
  if p_job.run_at > p_now or p_job.expires_at <= p_now then
    return null;
  end if;
  v_offer := jobforge.find_offer(p_tenant_id, p_job.type, p_now);
  if v_offer.worker_id is null then
    return null;
  end if;
  -- The counter goes back further than this call: Postgres resets it about once a second.
  v_pages := pg_stat_get_xact_blocks_fetched('jobforge.runs_worker'::regclass) - v_pages;
  if not jobforge.is_unrestrained(p_tenant_id, p_job.type, v_offer, v_pages, p_now) then
    return null;
  end if;
  v_payload := jobforge.inline_payload(p_job.payload, p_job.bytes);
  insert into jobforge.runs (
    id, seq, tenant_id, type, rank, attempts, uncounted, failures, losses, max_attempts, budget, run_at, created_at,
    updated_at, expires_at, started_at, worker_id, payload, concurrency_key, subject, tags, traceparent, counted, bound,
    handed)
  select
    p_job.id, nextval('jobforge.queue_seq_seq'), p_tenant_id, p_job.type,
    jobforge.rank_of(p_job.priority, p.max_priority), 1, 0, 0, 0, a.attempts, a.attempts,
    coalesce(p_job.run_at, p_now), p_now, p_now, p_job.expires_at, p_now, v_offer.worker_id, v_payload,
    p_job.concurrency_key, p_job.subject, p_job.tags, p_job.traceparent, false,
    v_offer.scope <> jobforge.all_tenants(), true
  from jobforge.policy_of(p_job.type) p
  cross join lateral (
    select jobforge.attempts_for(p_job.max_attempts, p_job.default_attempts, p.max_attempts,
      jobforge.is_by_hand(p, 'max_attempts')) as attempts
  ) a
  returning jobforge.created_document(p_job, p_tenant_id, p_label, rank, max_attempts, p_now, worker_id)
  into v_document;
  if v_payload is null then
    insert into jobforge.payloads (job_id, tenant_id, bytes, payload)
    values (p_job.id, p_tenant_id, p_job.bytes, p_job.payload::text);
  end if;
  -- A condition, because perform would run a statement. There is nothing to decide.
  if jobforge.notify(jobforge.hand_channel(v_offer.worker_id, v_offer.instance), p_job.id::text) is null then
    null;
  end if;
  return v_document;
end $$;

-- Returns the channel that notifies an instance of a worker of jobs that are handed to it: an earlier process with the
-- same id does not hear of them. Every login may listen, so a notification has nothing but the id of a job. It is
-- stable, as convert_to is: Postgres would not inline it if it were declared immutable.
create or replace function jobforge.hand_channel(p_worker_id text, p_instance text) returns text
language sql stable as $$
  select 'jobforge_hand_'
    || left(encode(sha256(convert_to(p_worker_id || '/' || coalesce(p_instance, ''), 'UTF8')), 'hex'), 32)
$$;

-- Locks an offer of a worker that is alive, takes jobs of the type and of the tenant, and has a free slot. Returns it;
-- null if there is none. Asks up to sixteen workers, in random order, so that all get their share. The offer with the
-- number n counts only while the worker has n free slots. Several enqueues at once may use the last slots twice; then
-- the worker hands jobs back. Never waits.
create or replace function jobforge.find_offer(
  p_tenant_id uuid, p_type text, p_now timestamptz, out worker_id text, out scope uuid, out slot integer, out instance text
)
language plpgsql
set enable_sort = on as $$
begin
  select o.worker_id, o.scope, o.slot, i.instance
  into worker_id, scope, slot, instance
  from (
    select x.worker_id, x.scope, w.instance
    from (
      select y.worker_id, y.scope
      from jobforge.idle_workers y
      where y.type = p_type and y.scope in (p_tenant_id, jobforge.all_tenants()) and y.takes
      limit 16
    ) x
    join jobforge.workers w on w.id = x.worker_id and w.scope = x.scope
    where w.seen_at > p_now - jobforge.offer_lifetime() and w.stopped_at is null
    order by random()
  ) i
  -- One worker after the other, until one has an offer: with the limits, no other plan is possible.
  cross join lateral (
    select f.worker_id, f.scope, f.slot
    from jobforge.offers f
    where f.worker_id = i.worker_id and f.scope = i.scope and f.rests_until <= p_now
      and not exists (
        select from jobforge.runs r
        where r.worker_id = i.worker_id
        order by r.worker_id, r.started_at
        offset f.slots - f.slot
        limit 1)
    limit 1
    for update skip locked
  ) o
  limit 1;
end $$;

-- Returns whether a job of the tenant may pass the queue: no job of its type is ready or due, its tenant has no quota,
-- no gate, limit or weight exists, and no job is being canceled. If a long transaction makes the answer costly, because
-- dead index entries remain, the caller's offer rests. p_pages: how many pages the search for the offer has read.
create or replace function jobforge.is_unrestrained(
  p_tenant_id uuid, p_type text, p_offer record, p_pages bigint, p_now timestamptz
) returns boolean
language plpgsql
set enable_sort = off as $$
declare
  v_pages bigint := jobforge.all_pages_read();
  v_free boolean;
begin
  select d.due > p_now
    and not exists (select from jobforge.queue j where j.state = 'ready' and j.type = p_type)
    and not exists (
      select from jobforge.tenants t where t.tenant_id = p_tenant_id and t.max_pending is not null)
    and pg_notification_queue_usage() < 0.5
  into v_free
  from jobforge.due_unless_restrained(p_type) d(due);
  if jobforge.all_pages_read() - v_pages + p_pages > 100 then
    update jobforge.offers o
    set rests_until = p_now + interval '10 seconds'
    where o.worker_id = p_offer.worker_id and o.scope = p_offer.scope and o.slot = p_offer.slot;
  end if;
  return v_free;
end $$;
