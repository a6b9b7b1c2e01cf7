-- Returns the ends of runs with each success that has a child of a refused type as a failure that is not retried, like
-- one whose children are invalid. A type is refused if it is new to the tenant and the tenant's quota of types has no
-- room for it, as in an enqueue by the same caller. The ends of a tenant are decided in order, and a refused end takes
-- no room. p_tenant_id: the tenant that the worker is bound to. Locks nothing.
create or replace function jobforge.without_refused_types(p_ends jobforge.run_end[], p_tenant_id uuid)
returns jobforge.run_end[]
language plpgsql stable
set enable_seqscan = off as $$
declare
  v_family record;
  v_refused integer[] := '{}';
begin
  for v_family in
    select j.tenant_id, array_agg(e.ord) as ords
    from unnest(p_ends) e
    cross join lateral (
      select j.tenant_id
      from jobforge.runs j
      where j.id = e.id and (p_tenant_id is null or j.tenant_id = p_tenant_id)
      limit 1
    ) j
    where e.children is not null
    group by j.tenant_id
  loop
    v_refused := v_refused || jobforge.ends_without_room(v_family.tenant_id, array(
      select e from unnest(p_ends) e where e.ord = any (v_family.ords) order by e.ord));
  end loop;
  if v_refused = '{}' then
    return p_ends;
  end if;
  return array(
    select case when e.ord = any (v_refused)
        then jobforge.run_end(p_ord => e.ord, p_id => e.id, p_attempt => e.attempt, p_status => 'failed',
          p_error => jsonb_build_object('name', 'InvalidResult', 'message',
            'Job limit exceeded for tenant: the children have too many types'),
          p_retry => false, p_cost_cents => e.cost_cents, p_next_run_at => e.next_run_at)
        else e
      end
    from unnest(p_ends) e
    order by e.ord);
end $$;

-- Returns the places of those of a tenant's ends, given in order, whose children have more new types than the tenant's
-- quota has room for after the ends before.
create or replace function jobforge.ends_without_room(p_tenant_id uuid, p_ends jobforge.run_end[]) returns integer[]
language plpgsql stable as $$
declare
  v_new text[] := jobforge.unregistered_types(p_tenant_id, array(
    select distinct c.type from unnest(p_ends) e cross join lateral unnest(e.children) c));
  v_left integer;
  v_end jobforge.run_end;
  v_added text[];
  v_refused integer[] := '{}';
begin
  if cardinality(v_new) > 0 then
    v_left := jobforge.types_left(p_tenant_id);
  end if;
  if v_left is null or cardinality(v_new) <= v_left then
    return v_refused;
  end if;
  foreach v_end in array p_ends loop
    v_added := array(select distinct c.type from unnest(v_end.children) c where c.type = any (v_new));
    if cardinality(v_added) > greatest(v_left, 0) then
      v_refused := v_refused || v_end.ord;
    else
      v_left := v_left - cardinality(v_added);
      v_new := array(select t from unnest(v_new) t where t <> all (v_added));
    end if;
  end loop;
  return v_refused;
end $$;

-- Enqueues the children of runs that succeeded, for the tenants of their parents. If an application's open transaction
-- holds the key of a child, the child waits in the outbox, so that no settle waits for an application. Its type is
-- registered all the same, so that the quota of types counts it.
create or replace function jobforge.enqueue_children(
  p_ends jobforge.run_end[], p_outcomes jobforge.run_outcome[], p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_family record;
begin
  for v_family in
    select o.tenant_id, array_agg(c order by e.ord, c.ord) as jobs
    from unnest(p_ends) e
    join unnest(p_outcomes) o on o.ord = e.ord
    cross join lateral unnest(e.children) c
    where o.outcome = 'ok' and o.status = 'succeeded'
    group by o.tenant_id
    order by o.tenant_id
  loop
    perform jobforge.register_types(v_family.tenant_id, array(select j.type from unnest(v_family.jobs) j), p_now);
    insert into jobforge.outbox (tenant_id, jobs)
    select v_family.tenant_id, array[j]
    from unnest(jobforge.enqueue_without_waiting(v_family.tenant_id, v_family.jobs, p_now)) j;
  end loop;
end $$;

-- Enqueues jobs without waiting, and returns those whose keys another transaction holds. It tries all jobs at once. If
-- that would wait, it tries those without keys, and then the others one by one, until ten of them would wait.
create or replace function jobforge.enqueue_without_waiting(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz
) returns jobforge.new_job[]
language plpgsql as $$
declare
  v_held jobforge.new_job[] := '{}';
  v_keyless jobforge.new_job[] := array(
    select j from unnest(p_jobs) j where num_nonnulls(j.idempotency_key, j.dedupe_key) = 0 order by j.ord);
  v_job jobforge.new_job;
  v_tries integer := 0;
begin
  if jobforge.try_enqueue(p_tenant_id, p_jobs, p_now) then
    return '{}';
  elsif cardinality(p_jobs) = 1 then
    return p_jobs;
  end if;
  -- Jobs without keys seldom wait. They do while an index is built, or while the table is extended.
  if cardinality(v_keyless) > 0 and not jobforge.try_enqueue(p_tenant_id, v_keyless, p_now) then
    v_held := v_keyless;
  end if;
  for v_job in
    select j.* from unnest(p_jobs) j where num_nonnulls(j.idempotency_key, j.dedupe_key) > 0 order by j.ord
  loop
    if v_tries >= 10 or not jobforge.try_enqueue(p_tenant_id, array[v_job], p_now) then
      v_held := v_held || v_job;
      v_tries := v_tries + 1;
    end if;
  end loop;
  return v_held;
end $$;

-- Enqueues jobs, whose types are registered, and wakes workers. Returns false, and changes nothing, when another
-- transaction holds one of the keys.
create or replace function jobforge.try_enqueue(p_tenant_id uuid, p_jobs jobforge.new_job[], p_now timestamptz)
returns boolean
language plpgsql as $$
declare
  v_before text := current_setting('lock_timeout');
begin
  perform set_config('lock_timeout', jobforge.brief_lock_timeout(), true);
  perform jobforge.enqueue(p_tenant_id,
    array(
      select jobforge.new_job(p_ord => (row_number() over ())::integer, p_id => j.id, p_type => j.type,
        p_payload => j.payload, p_idempotency_key => j.idempotency_key, p_run_at => j.run_at,
        p_max_attempts => j.max_attempts, p_priority => j.priority, p_dedupe_key => j.dedupe_key,
        p_dedupe_mode => j.dedupe_mode, p_tags => j.tags, p_subject => j.subject,
        p_concurrency_key => j.concurrency_key, p_expires_at => j.expires_at, p_traceparent => j.traceparent,
        p_default_attempts => j.default_attempts, p_notify => j.notify)
      from unnest(p_jobs) j), p_now, true);
  if exists (select from unnest(p_jobs) j where j.notify is not null) then
    perform jobforge.keep_notices(p_tenant_id, p_jobs);
  end if;
  perform set_config('lock_timeout', v_before, true);
  return true;
exception when lock_not_available then
  return false;
end $$;
