-- Holds: a concurrency key of a tenant and type rests until a time, because a server asked for it (Retry-After),
-- because it does not respond (the circuit breaker of an endpoint), or because its endpoint is disabled. Claims park
-- its jobs, so a hold costs nothing, however many wait.

-- Holds the concurrency key of a job that a worker runs: until p_until no job of the key starts, of its type and
-- tenant. Running jobs continue. A later time that was set before stays. Returns {concurrency_key, until}; both are
-- null for a job without a key.
-- Who: workers, operators. JF003 when the worker does not hold the job (or not in this attempt), JF002 for a time more
-- than a day ahead. Appends rows; waits for nothing.
create or replace function :"api_schema".jobforge_hold_key(
  p_job_id uuid,
  p_worker_id text,
  p_until timestamptz,
  p_attempt integer default null,
  p_reason text default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := claimable_tenant(null);
  v_run runs;
begin
  if p_until is null or not is_time(p_until) or p_until > v_now + interval '25 hours' then
    perform fail_argument('until', 'until must be a time at most a day ahead');
  elsif octet_length(p_reason) > 1024 then
    perform fail_argument('reason', 'reason is longer than 1024 bytes');
  end if;
  select r.* into v_run
  from runs r
  where r.id = p_job_id and r.worker_id = p_worker_id and r.attempts = coalesce(p_attempt, r.attempts)
    and (v_bound is null or (r.tenant_id = v_bound and r.bound));
  if not found then
    perform fail_not_held(p_job_id);
  end if;
  if v_run.concurrency_key is not null and p_until > v_now then
    perform hold(v_run.tenant_id, v_run.type, v_run.concurrency_key, p_until, false,
      coalesce(p_reason, 'A worker was asked to wait.'), v_now);
  end if;
  return jsonb_build_object('concurrency_key', v_run.concurrency_key,
    'until', held_until(v_run.tenant_id, v_run.type, v_run.concurrency_key));
end $$;

-- Holds a key until a time; infinity: until the hold is lifted. p_probes: afterwards one job at a time runs until the
-- hold is lifted.
create or replace function jobforge.hold(
  p_tenant_id uuid, p_type text, p_key text, p_until timestamptz, p_probes boolean, p_reason text, p_now timestamptz
) returns void
language plpgsql as $$
begin
  insert into jobforge.key_holds (tenant_id, type, concurrency_key, until, probes, reason, set_at, set_by)
  values (p_tenant_id, p_type, p_key, p_until, p_probes, p_reason, p_now, jobforge.caller());
  if isfinite(p_until) then
    perform jobforge.request_unpark(p_tenant_id, p_type, p_key, p_until);
  end if;
end $$;

-- Lifts the holds of a key: all, or only those of the circuit breaker (p_only_probes). An order stays. Skips a hold
-- that another transaction is lifting.
create or replace function jobforge.lift_holds(
  p_tenant_id uuid, p_type text, p_key text, p_only_probes boolean, p_now timestamptz
) returns void
language plpgsql as $$
begin
  delete from jobforge.key_holds h
  where h.id = any (array(
    select f.id from jobforge.key_holds f
    where f.tenant_id = p_tenant_id and f.type = p_type and f.concurrency_key = p_key
      and (f.probes or not p_only_probes) and not f.ordered
    for update skip locked));
  perform jobforge.request_unpark(p_tenant_id, p_type, p_key, p_now);
  perform jobforge.wake(p_type, p_now, p_now, array[p_tenant_id]);
end $$;

-- Requests a check of the jobs that are parked in the bucket of a key.
create or replace function jobforge.request_unpark(
  p_tenant_id uuid, p_type text, p_key text, p_due timestamptz
) returns void
language sql as $$
  insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
  select p_tenant_id, jobforge.bucket_id(s.secret, 'key', p_type, p_tenant_id, p_key), p_due
  from jobforge.bucket_secret s
$$;

-- Makes the jobs of a key run one by one, in their order, or no longer.
create or replace function jobforge.set_ordered(
  p_tenant_id uuid, p_type text, p_key text, p_ordered boolean, p_now timestamptz
) returns void
language plpgsql as $$
begin
  delete from jobforge.key_holds h
  where h.tenant_id = p_tenant_id and h.type = p_type and h.concurrency_key = p_key and h.ordered;
  if p_ordered then
    insert into jobforge.key_holds (tenant_id, type, concurrency_key, until, ordered, reason, set_at, set_by)
    values (p_tenant_id, p_type, p_key, '-infinity', true, 'One at a time, in their order.', p_now, jobforge.caller());
  end if;
  perform jobforge.request_unpark(p_tenant_id, p_type, p_key, p_now);
end $$;

-- Returns until when a key is held; null if it is not and never was.
create or replace function jobforge.held_until(p_tenant_id uuid, p_type text, p_key text) returns timestamptz
language plpgsql stable as $$
begin
  return (
    select h.until from jobforge.key_holds h
    where h.tenant_id = p_tenant_id and h.type = p_type and h.concurrency_key = p_key
    order by h.until desc
    limit 1);
end $$;

-- Returns whether the jobs of a key run one by one, in their order.
create or replace function jobforge.is_ordered(p_tenant_id uuid, p_type text, p_key text) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from jobforge.key_holds h
    where h.tenant_id = p_tenant_id and h.type = p_type and h.concurrency_key = p_key and h.ordered);
end $$;

-- Returns whether one job of a key runs at a time, because its circuit breaker has been open.
create or replace function jobforge.is_probed(p_tenant_id uuid, p_type text, p_key text) returns boolean
language plpgsql stable as $$
begin
  return exists (
    select from jobforge.key_holds h
    where h.tenant_id = p_tenant_id and h.type = p_type and h.concurrency_key = p_key and h.probes);
end $$;

-- Maintenance: deletes holds whose time has passed; those of a circuit breaker after a day without deliveries. Never
-- waits.
create or replace function jobforge.forget_holds(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_count integer;
begin
  delete from jobforge.key_holds h
  where h.id = any (array(
    select f.id from jobforge.key_holds f
    where f.until < p_now and f.until > '-infinity' and (not f.probes or f.until < p_now - interval '1 day')
    order by f.until
    limit p_limit
    for update skip locked));
  get diagnostics v_count = row_count;
  return v_count;
end $$;
