-- Admission: decides which of the jobs that a claim has locked may start.

-- Decides about jobs that the caller has locked: admits up to p_most of them and takes their tokens. A job without
-- room in a bucket of a tenant or a key is parked in that bucket. A job without room in its type stays in the queue,
-- where turns continue. So does a job in a bucket that another transaction is deciding about. Returns the places of
-- the admitted jobs, the number of skipped jobs, the types that are full, and when it is worth trying again. Scopes
-- go from the narrowest to the widest, so that a job refused by one takes no room in the next. Never waits.
create or replace function jobforge.admit(
  p_places tid[], p_most integer, p_now timestamptz,
  out places tid[], out passed_over integer, out full_types text[], out again_at timestamptz
)
language plpgsql as $$
declare
  v_wanted jobforge.candidate[] := array(
    select row(p.place, j.id, j.type, j.tenant_id, j.concurrency_key, j.rank, j.run_at, j.seq)::jobforge.candidate
    from unnest(p_places) with ordinality p(place, ord)
    cross join lateral (select * from jobforge.jobs j where j.ctid = p.place limit 1) j
    order by p.ord);
  v_scope text;
  v_step record;
begin
  full_types := '{}';
  foreach v_scope in array array['key', 'type_tenant', 'type', 'tenant'] loop
    continue when not exists (select from jobforge.limits l where l.scope = v_scope);
    v_step := jobforge.admit_to(v_scope, v_wanted, p_now);
    v_wanted := v_step.admitted;
    again_at := least(again_at, v_step.again_at);
    if v_scope = 'type' then
      full_types := v_step.full_types;
    end if;
  end loop;
  v_wanted := v_wanted[:p_most];
  perform jobforge.spend_tokens(v_wanted, p_now);
  places := array(select c.place from unnest(v_wanted) c);
  passed_over := cardinality(p_places) - cardinality(places);
end $$;

-- Does the same for the buckets of one scope.
create or replace function jobforge.admit_to(
  p_scope text, p_wanted jobforge.candidate[], p_now timestamptz,
  out admitted jobforge.candidate[], out full_types text[], out again_at timestamptz
)
language plpgsql
set enable_hashjoin = on as $$
declare
  v_buckets jobforge.bucket[] := array(
    select b from jobforge.buckets_of(p_scope,
      array(select row(c.type, c.tenant_id, c.concurrency_key)::jobforge.slot from unnest(p_wanted) c)) b);
  v_mine bigint[];
  v_refused uuid[];
  v_parks bigint[];
begin
  admitted := p_wanted;
  full_types := '{}';
  if cardinality(v_buckets) = 0 then
    return;
  end if;
  v_mine := array(select b.id from unnest(v_buckets) b where jobforge.try_lock_bucket(b.id, p_scope));
  -- This is a later statement than the one that took the locks, so it sees everything that was committed before they
  -- were taken.
  with room as materialized (
    select b.id, b.type, b.id = any (v_mine) as mine, r.room, r.next_at, r.only_id
    from unnest(v_buckets) b
    left join lateral jobforge.room_in(b, p_now) r on b.id = any (v_mine)
  ), asked as materialized (
    select c.candidate, c.ord, (c.candidate).id, r.id as bucket, r.mine, r.room, r.only_id,
      row_number() over (
        partition by r.id order by (c.candidate).id = r.only_id desc, (c.candidate).rank, (c.candidate).run_at,
          (c.candidate).seq
      ) as place
    from (
      select row(c.place, c.id, c.type, c.tenant_id, c.concurrency_key, c.rank, c.run_at,
        c.seq)::jobforge.candidate as candidate,
        c.ord, jobforge.bucket_id(p_scope, c.type, c.tenant_id, c.concurrency_key) as bucket
      from unnest(p_wanted) with ordinality c(place, id, type, tenant_id, concurrency_key, rank, run_at, seq, ord)
      offset 0
    ) c
    left join room r on r.id = c.bucket
  ), judged as materialized (
    select a.*,
      a.bucket is null
        or (a.mine and (a.room is null or a.place <= a.room) and (a.only_id is null or a.only_id = a.id)) as fits
    from asked a
  )
  select
    array(select j.candidate from judged j where j.fits order by j.ord),
    array(select j.id from judged j where not j.fits and j.mine order by j.ord),
    array(select j.bucket from judged j where not j.fits and j.mine order by j.ord),
    case when p_scope = 'type' then
      array(select r.type from room r where r.room <= (select count(*) from judged j where j.bucket = r.id and j.fits))
    end,
    (select min(case when r.mine then r.next_at else p_now + interval '10 milliseconds' end) from room r)
  into admitted, v_refused, v_parks, full_types, again_at;
  if p_scope <> 'type' then
    perform jobforge.park(v_refused, v_parks, v_buckets, p_now);
  end if;
end $$;

-- Takes locked jobs out of the index that claims read, each into its bucket. A bucket that waits for a token is
-- checked when the token comes; a full bucket is checked when a run ends. The caller holds the buckets' locks.
create or replace function jobforge.park(
  p_job_ids uuid[], p_parks bigint[], p_buckets jobforge.bucket[], p_now timestamptz
) returns void
language plpgsql as $$
begin
  if cardinality(p_job_ids) = 0 then
    return;
  end if;
  update jobforge.jobs j
  set state = 'parked', parked_in = x.bucket
  from unnest(p_job_ids, p_parks) x(id, bucket)
  where j.id = x.id;
  insert into jobforge.unpark_requests (bucket, due_at)
  select b.id, coalesce(t.next_at, p_now)
  from unnest(p_buckets) b
  cross join lateral jobforge.tokens_in(b, p_now) t
  where b.rate is not null and b.id = any (p_parks)
    and not exists (select from jobforge.unpark_requests r where r.bucket = b.id and r.due_at > p_now);
end $$;

-- Takes a token for each job from every bucket with a rate that it belongs to. The caller holds the buckets' locks.
create or replace function jobforge.spend_tokens(p_jobs jobforge.candidate[], p_now timestamptz) returns void
language plpgsql
set enable_hashjoin = on as $$
begin
  if cardinality(p_jobs) = 0 or not exists (select from jobforge.limits l where l.rate is not null) then
    return;
  end if;
  with slots as materialized (
    select array(select row(c.type, c.tenant_id, c.concurrency_key)::jobforge.slot from unnest(p_jobs) c) as slots
  ), spent as materialized (
    select b.id, b.set_at, b.burst, jobforge.token_time(b.rate, b.per) as each, count(*) as starts
    from slots s
    cross join unnest(array['type', 'tenant', 'type_tenant', 'key']) x(counts_by)
    cross join lateral jobforge.buckets_of(x.counts_by, s.slots) b
    join (
      select jobforge.bucket_id(y.counts_by, c.type, c.tenant_id, c.concurrency_key) as bucket
      from unnest(array['type', 'tenant', 'type_tenant', 'key']) y(counts_by)
      cross join unnest(p_jobs) c
      offset 0
    ) c on c.bucket = b.id
    where b.rate is not null
    group by b.id, b.set_at, b.burst, b.rate, b.per
  )
  insert into jobforge.limit_rates as r (bucket, empty_until, set_at)
  select s.id, p_now + s.starts * s.each * interval '1 microsecond', s.set_at
  from spent s
  on conflict (bucket) do update
  set set_at = excluded.set_at,
    empty_until = excluded.empty_until
      + case when r.set_at = excluded.set_at then greatest(r.empty_until - p_now, interval '0') else interval '0' end;
end $$;
