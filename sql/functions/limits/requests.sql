-- Requests to check buckets for jobs that can be unparked (unpark_requests).

-- Requests a check of the buckets of tenants, and of types of tenants, whose jobs have been parked in narrower
-- buckets: p_parked_in has the narrower bucket of each job, all of one scope. Such a job may have been unparked
-- because the wider bucket has room. It does not use this room, so no run ends that would give it to the next job. A
-- bucket without parked jobs needs no check, and a full one is checked when a run ends or a token comes.
--
-- Many jobs in a row may belong to one blocked key. So the check unparks four times as many jobs as were refused now,
-- up to 500, and a few claims get past thousands of them. This ends: each of these jobs has left the wider bucket, and
-- returns to it only after the narrower one had room.
--
-- Reads without locks and appends rows, so a bound role holds nothing that others need. Never waits.
create or replace function jobforge.request_wider(p_parked_in jobforge.bucket[], p_now timestamptz) returns void
language plpgsql
set enable_hashjoin = on as $$
declare
  v_wider jobforge.bucket[] := array(
    select b
    from unnest(
      case (p_parked_in[1]).scope
        when 'key' then array['type_tenant', 'tenant']
        when 'type_tenant' then array['tenant']
      end) x(counts_by)
    cross join lateral jobforge.buckets_of(x.counts_by,
      array(select row(n.type, n.tenant_id, null)::jobforge.slot from unnest(p_parked_in) n)) b);
begin
  if cardinality(v_wider) = 0 then
    return;
  end if;
  v_wider := array(
    select b from unnest(v_wider) b
    where case
      when exists (select from jobforge.queue j where j.state = 'parked' and j.parked_in = b.id)
        then (jobforge.room_in(b, p_now)).room is distinct from 0
    end);
  insert into jobforge.unpark_requests (tenant_id, bucket, type, extra, due_at)
  select w.tenant_id, w.id, n.type, least(4 * count(*), 500), p_now
  from unnest(v_wider) w
  join unnest(p_parked_in) n on n.tenant_id = w.tenant_id and (w.scope = 'tenant' or n.type = w.type)
  group by w.tenant_id, w.id, n.type;
end $$;

-- Returns when the next request is due that the caller may serve; null without such a request.
create or replace function jobforge.next_unpark_at() returns timestamptz
language plpgsql stable as $$
declare
  v_next timestamptz := (select r.due_at from jobforge.unpark_requests r order by r.due_at limit 1);
  v_bound uuid;
begin
  -- Usually there is no request.
  if v_next is not null then
    v_bound := jobforge.bound_tenant();
  end if;
  if v_bound is null then
    return v_next;
  end if;
  return (select r.due_at from jobforge.unpark_requests r where r.tenant_id = v_bound order by r.due_at limit 1);
end $$;

-- Locks requests that are due, up to a hundred. If there are more, one tenant may have made all of them, so some of
-- other tenants are locked as well. A role that is bound to a tenant gets only those of its tenant. Skips what another
-- transaction holds.
create or replace function jobforge.take_requests(p_now timestamptz) returns setof jobforge.unpark_requests
language plpgsql
set enable_sort = off as $$
declare
  v_bound uuid;
  v_first jobforge.unpark_requests[];
begin
  if not exists (select from jobforge.unpark_requests r where r.due_at <= p_now) then
    return;
  end if;
  v_bound := jobforge.bound_tenant();
  if v_bound is not null then
    return query
    select r.* from jobforge.unpark_requests r
    where r.tenant_id = v_bound and r.due_at <= p_now
    order by r.due_at, r.id
    limit 100
    for update skip locked;
    return;
  end if;
  v_first := array(
    select r from jobforge.unpark_requests r
    where r.due_at <= p_now
    order by r.due_at, r.id
    limit 100
    for update skip locked);
  return query select * from unnest(v_first);
  if cardinality(v_first) = 100 then
    return query select * from jobforge.take_turns(array(select r.id from unnest(v_first) r), p_now);
  end if;
end $$;

-- Locks up to five requests of each of up to twenty tenants that are due and not among p_taken, from a random tenant
-- on. Skips what another transaction holds.
create or replace function jobforge.take_turns(p_taken bigint[], p_now timestamptz)
returns setof jobforge.unpark_requests
language plpgsql
set enable_sort = off as $$
declare
  v_from uuid := coalesce(jobforge.random_tenant(), jobforge.global_tenant());
begin
  return query
  with recursive tenants as (
    select jobforge.next_requesting(v_from) as tenant_id, 1 as n
    union all
    select jobforge.next_requesting(t.tenant_id), t.n + 1 from tenants t where t.n < 20
  )
  select x.*
  from (select distinct t.tenant_id from tenants t) t
  cross join lateral (
    select r.*
    from jobforge.unpark_requests r
    where r.tenant_id = t.tenant_id and r.due_at <= p_now and r.id <> all (p_taken)
    order by r.due_at, r.id
    limit 5
    for update skip locked
  ) x;
end $$;

-- Returns the tenant after p_after that has requests; after the last one, the first.
create or replace function jobforge.next_requesting(p_after uuid) returns uuid
language plpgsql stable
set enable_sort = off as $$
begin
  return coalesce(
    (select r.tenant_id from jobforge.unpark_requests r where r.tenant_id > p_after order by r.tenant_id limit 1),
    (select r.tenant_id from jobforge.unpark_requests r where r.tenant_id is not null order by r.tenant_id limit 1));
end $$;
