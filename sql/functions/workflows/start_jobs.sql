-- Enqueues the jobs of steps, with their references filled in. A step that has had a job before gets a new one. Returns
-- the ends of steps that cannot start, because their payload has become too large. The caller holds the steps.
create or replace function jobforge.start_jobs(
  p_step_ids uuid[], p_now timestamptz, p_notify boolean default true
) returns jobforge.step_end[]
language plpgsql
set search_path = jobforge, pg_temp
-- Steps are found one by one, whatever the tables looked like when the plan was made.
set enable_hashjoin = off
set enable_mergejoin = off
set enable_nestloop = on as $$
declare
  v_step record;
  v_group_id uuid;
  v_refs jsonb;
  v_sources jsonb;
  -- The payloads of steps with references, at their places in p_step_ids.
  v_filled jsonb[];
  v_refused step_end[];
begin
  -- Steps that refer to the same results share what is read for them, which may be large.
  for v_step in
    select i.nth, s.group_id, s.spec -> 'refs' as refs, s.payload
    from unnest(p_step_ids) with ordinality i(id, nth)
    cross join lateral (select s.* from steps s where s.id = i.id and s.spec ? 'refs' limit 1) s
    order by s.group_id, s.spec -> 'refs'
  loop
    if v_sources is null or v_step.group_id <> v_group_id or v_step.refs <> v_refs then
      v_group_id := v_step.group_id;
      v_refs := v_step.refs;
      v_sources := sources_of(v_group_id, v_refs);
    end if;
    v_filled := coalesce(v_filled, array_fill(null::jsonb, array[cardinality(p_step_ids)]));
    v_filled[v_step.nth] := fill_in(v_step.payload, v_sources);
  end loop;
  with chosen as materialized (
    select s.id, s.tenant_id, s.type::text as type, i.nth, s.max_attempts, s.concurrency_key,
      case when s.job_id is null then s.id else new_id() end as job_id,
      greatest(p_now + s.delay_ms * interval '1 millisecond', (s.spec ->> 'run_at')::timestamptz) as run_at,
      coalesce(s.subject, w.subject) as subject, coalesce(s.tags, w.tags, '{}') as tags, w.traceparent, w.keep_days,
      coalesce(s.rank, w.rank, 0) as asked_rank, (s.spec ->> 'expires_at')::timestamptz as expires_at,
      case when s.spec ? 'refs' then v_filled[i.nth] else s.payload end as payload
    from unnest(p_step_ids) with ordinality i(id, nth)
    cross join lateral (select s.* from steps s where s.id = i.id limit 1) s
    left join lateral (select w.* from workflows w where w.id = s.workflow_id limit 1) w on true
  ), measured as materialized (
    select c.*, m.bytes, inline_payload(c.payload, m.bytes) as inline_payload,
      m.bytes between 0 and document_bytes() as fits
    from chosen c
    cross join lateral (select text_bytes(c.payload) as bytes offset 0) m
  ), policy as materialized (
    select t.type, p.max_attempts, p.max_priority
    from (select distinct c.type from chosen c) t
    cross join lateral policy_of(t.type) p
  ), registered as (
    insert into tenant_types (tenant_id, type, seen_at)
    select t.tenant_id, t.type, p_now
    from (select distinct m.tenant_id, m.type from measured m where m.fits) t
    where (
      select true
      from tenant_types r
      where r.tenant_id = t.tenant_id and r.type = t.type and r.seen_at > p_now - registration_renewal()
      limit 1) is null
  ), marked as (
    update steps s
    set job_id = m.job_id, decided_at = p_now
    from measured m
    where s.id = m.id and m.fits
  ), queued as (
    insert into queue (
      id, tenant_id, lane, type, state, rank, max_attempts, budget, run_at, created_at, updated_at, expires_at, payload,
      concurrency_key, subject, tags, traceparent, step_id, keep_days)
    select
      m.job_id, m.tenant_id, lane_of(m.tenant_id), m.type, queued_state(m.run_at, p_now),
      rank_of(-m.asked_rank, p.max_priority), coalesce(m.max_attempts, p.max_attempts),
      coalesce(m.max_attempts, p.max_attempts), coalesce(m.run_at, p_now), p_now, p_now, m.expires_at,
      m.inline_payload, coalesce(endpoint_key(m.type, m.payload), m.concurrency_key),
      coalesce(endpoint_key(m.type, m.payload), m.subject), m.tags, m.traceparent, m.id, m.keep_days
    from measured m
    join policy p on p.type = m.type
    where m.fits
    order by m.nth
  ), stored as (
    insert into payloads (job_id, tenant_id, bytes, payload)
    select m.job_id, m.tenant_id, m.bytes, m.payload::text
    from measured m
    where m.fits and m.inline_payload is null
  ), woken as (
    select wake(m.type, min(coalesce(m.run_at, p_now)), p_now, array_agg(distinct m.tenant_id))
    from measured m
    where m.fits and p_notify
    group by m.type
  )
  select
    array_agg(row(m.id, 'failed', 'payload_too_large', null, jsonb_build_object(
      'name', 'PayloadTooLarge', 'message', 'The payload is over 1 MiB with its references filled in'),
      null)::step_end) filter (where not m.fits)
  into v_refused
  from measured m
  left join (select count(*) as types from woken) k on true;
  perform note_all_pending(array(
    select s.tenant_id from steps s where s.id = any (p_step_ids) and s.decided_at = p_now and s.status is null), 1);
  return coalesce(v_refused, '{}');
end $$;
