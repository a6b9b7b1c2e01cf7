-- Unparking: parked jobs return to the queue when there is room for them.

-- Frees the slots of jobs that left the queue or whose runs ended: unparks jobs that have room now, or leaves that to
-- the next claim if another transaction holds the bucket. Wakes workers for types that may continue. Without limits
-- it costs one read. Never waits.
create or replace function jobforge.free_slots(p_slots jobforge.slot[], p_now timestamptz) returns void
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set enable_nestloop = on
set enable_hashjoin = off
set enable_mergejoin = off as $$
declare
  v_buckets bucket[] := '{}';
  v_mine bigint[];
  v_scope text;
begin
  foreach v_scope in array array['key', 'type_tenant', 'tenant'] loop
    v_buckets := v_buckets || array(select b from buckets_of(v_scope, p_slots) b);
  end loop;
  if cardinality(v_buckets) > 0 then
    v_mine := lock_buckets(
      array(select b.id from unnest(v_buckets) b), array(select b.tenant_id from unnest(v_buckets) b), false);
    perform unpark_buckets(v_mine, p_now);
    insert into unpark_requests (tenant_id, bucket, due_at)
    select distinct b.tenant_id, b.id, p_now
    from unnest(v_buckets) b
    where b.id <> all (v_mine);
  end if;
  perform wake(b.type, p_now, p_now) from buckets_of('type', p_slots) b;
end $$;

-- Leaves the buckets of jobs that an application takes out of the queue, or moves within it, to the next claim: the
-- application's transaction may stay open and must not hold the buckets' locks. Without limits it costs one read.
create or replace function jobforge.leave_slots(p_slots jobforge.slot[], p_now timestamptz) returns void
language plpgsql as $$
begin
  if exists (select from jobforge.limits) or exists (select from jobforge.key_holds) then
    insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
    select b.tenant_id, b.id, p_now
    from unnest(array['key', 'type_tenant', 'tenant']) x(counts_by)
    cross join lateral jobforge.buckets_of(x.counts_by, p_slots) b;
  end if;
end $$;

-- Checks buckets that are due, up to two hundred per call. A bucket that another transaction holds is checked a little
-- later. Returns how many jobs were unparked. Never waits.
create or replace function jobforge.unpark_due(p_now timestamptz) returns integer
language plpgsql as $$
declare
  v_due jobforge.unpark_requests[] := array(select r from jobforge.take_requests(p_now) r);
  v_mine bigint[];
begin
  if cardinality(v_due) = 0 then
    return 0;
  end if;
  v_due := v_due || jobforge.sweep(array(select r.id from unnest(v_due) r), p_now);
  v_mine := jobforge.lock_buckets(
    array(select r.bucket from unnest(v_due) r where r.bucket is not null),
    array(select r.tenant_id from unnest(v_due) r where r.bucket is not null), false);
  delete from jobforge.unpark_requests r
  where r.id = any (array(select d.id from unnest(v_due) d where d.bucket = any (v_mine)));
  update jobforge.unpark_requests r
  set due_at = p_now + case
    when exists (select from jobforge.bound_tenants t where t.tenant_id = r.tenant_id) then interval '100 milliseconds'
    else interval '20 milliseconds'
  end
  where r.id = any (array(select d.id from unnest(v_due) d where d.bucket <> all (v_mine)));
  -- Buckets from a sweep have no row yet.
  insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
  select distinct d.tenant_id, d.bucket, p_now + interval '20 milliseconds'
  from unnest(v_due) d
  where d.id is null and d.bucket <> all (v_mine)
    and not exists (select from unnest(v_due) o where o.id is not null and o.bucket = d.bucket);
  return jobforge.unpark_buckets(v_mine, p_now, array(select d from unnest(v_due) d where d.extra is not null));
end $$;

-- Continues the rounds through all buckets that have parked jobs, which a changed limit has requested. Returns the
-- next buckets, as requests without an id, and moves each round forward or ends it.
create or replace function jobforge.sweep(p_due bigint[], p_now timestamptz) returns jobforge.unpark_requests[]
language plpgsql
set enable_sort = off as $$
declare
  v_round record;
  v_next record;
  v_found jobforge.unpark_requests[] := '{}';
begin
  for v_round in
    select r.id, r.after from jobforge.unpark_requests r where r.id = any (p_due) and r.bucket is null order by r.id
  loop
    for i in 1 .. 100 loop
      select j.parked_in, j.tenant_id into v_next
      from jobforge.queue j
      where j.state = 'parked' and j.parked_in > v_round.after
      order by j.parked_in
      limit 1;
      v_round.after := v_next.parked_in;
      exit when not found;
      v_found := v_found || row(null, v_next.tenant_id, v_next.parked_in, null, null, null, p_now)::jobforge.unpark_requests;
    end loop;
    if v_round.after is null then
      delete from jobforge.unpark_requests r where r.id = v_round.id;
    else
      update jobforge.unpark_requests r set after = v_round.after, due_at = p_now where r.id = v_round.id;
    end if;
  end loop;
  return v_found;
end $$;

-- Unparks the jobs that have room in the buckets, whose locks the caller holds. Returns how many jobs were unparked.
-- A bucket that no longer has a limit is emptied in large steps. Jobs that an application holds stay parked and are
-- checked again a second later. p_extra are requests for more jobs of a type than there is room for.
create or replace function jobforge.unpark_buckets(
  p_buckets bigint[], p_now timestamptz, p_extra jobforge.unpark_requests[] default '{}'
) returns integer
language plpgsql as $$
declare
  v_count integer := 0;
  v_bucket record;
  v_room record;
  v_back integer;
  v_again_at timestamptz;
begin
  for v_bucket in
    -- Read the type, tenant and key of the bucket from any job that is parked in it. Jobs of another bucket with the
    -- same id are not parked there.
    select i.id, j.tenant_id, l.bucket
    from unnest(p_buckets) i(id)
    cross join lateral (
      select j.type, j.tenant_id, j.concurrency_key
      from jobforge.queue j
      where j.state = 'parked' and j.parked_in = i.id
      limit 1
    ) j
    left join lateral (
      select b as bucket
      from unnest(array['key', 'type_tenant', 'tenant']) x(counts_by)
      cross join lateral jobforge.buckets_of(x.counts_by,
        array[row(j.type, j.tenant_id, j.concurrency_key)::jobforge.slot]) b
      where b.id = i.id
    ) l on true
  loop
    v_room := jobforge.room_in(v_bucket.bucket, p_now);
    v_back := jobforge.unpark(v_bucket.id, coalesce(v_room.room, 1000), v_room.only_id, p_now);
    v_count := v_count + v_back;
    if v_room.room > 0 and cardinality(p_extra) > 0 then
      v_count := v_count + (
        select coalesce(sum(jobforge.unpark_type(v_bucket.id, x.type, least(x.extra, 500)::integer, null, p_now)), 0)
        from (select e.type, sum(e.extra) as extra from unnest(p_extra) e where e.bucket = v_bucket.id group by 1) x);
    end if;
    v_again_at := case
      when v_room.room is null and v_back >= 1000 then p_now
      when v_room.room is null or v_back < v_room.room and v_room.only_id is null then p_now + interval '1 second'
      when v_room.only_id is not null and v_back = 0 and v_room.room > 0
        and exists (select from jobforge.queue j where j.id = v_room.only_id and j.state = 'parked'
          and j.parked_in = v_bucket.id)
        then p_now + interval '1 second'
    end;
    -- A hold ends.
    v_again_at := least(v_again_at, v_room.next_at);
    -- Once an unparked job has the last token, the next token comes after some time.
    if (v_bucket.bucket).rate is not null then
      v_again_at := least(v_again_at, coalesce(v_room.next_at,
        p_now + jobforge.token_time((v_bucket.bucket).rate, (v_bucket.bucket).per) * interval '1 microsecond'));
    end if;
    if v_again_at is not null
      and exists (select from jobforge.queue j where j.state = 'parked' and j.parked_in = v_bucket.id)
      and not exists (
        select from jobforge.unpark_requests r where r.bucket = v_bucket.id and r.due_at > p_now
          and r.due_at <= v_again_at)
    then
      insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
      values (v_bucket.tenant_id, v_bucket.id, v_again_at);
    end if;
  end loop;
  return v_count;
end $$;

-- Returns parked jobs of a bucket to the queue, and wakes workers for them: only p_only, or up to p_most of each
-- type, in the order of claims. The number counts per type, because a tenant's bucket has several types, and a type
-- without a worker must not take the room of the others. Returns the number for the type that got most. Skips jobs
-- that another transaction holds.
create or replace function jobforge.unpark(p_bucket bigint, p_most integer, p_only uuid, p_now timestamptz)
returns integer
language plpgsql
set enable_sort = off as $$
declare
  v_type text := '';
  v_count integer := 0;
begin
  while p_most > 0 loop
    select j.type into v_type
    from jobforge.queue j
    where j.state = 'parked' and j.parked_in = p_bucket and j.type > v_type
    order by j.type
    limit 1;
    exit when not found;
    v_count := greatest(v_count, jobforge.unpark_type(p_bucket, v_type, p_most, p_only, p_now));
  end loop;
  return v_count;
end $$;

-- Does the same for one type. Returns how many jobs were unparked.
create or replace function jobforge.unpark_type(
  p_bucket bigint, p_type text, p_most integer, p_only uuid, p_now timestamptz
) returns integer
language plpgsql
set enable_sort = off as $$
declare
  v_ids uuid[];
begin
  if p_only is null then
    v_ids := array(
      select j.id
      from jobforge.queue j
      where j.state = 'parked' and j.parked_in = p_bucket and j.type = p_type
      order by j.rank, j.run_at, j.seq
      limit p_most
      for update skip locked);
  else
    v_ids := array(
      select j.id
      from jobforge.queue j
      where j.id = p_only and j.state = 'parked' and j.parked_in = p_bucket
      for update skip locked);
  end if;
  if cardinality(v_ids) > 0 then
    update jobforge.queue j set state = 'ready', parked_in = null where j.id = any (v_ids);
    perform jobforge.wake(p_type, p_now, p_now);
  end if;
  return cardinality(v_ids);
end $$;
