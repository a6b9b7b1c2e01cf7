-- Admission: decides which of the jobs that a claim has locked may start.

-- Decides about jobs that the caller has locked: admits up to p_most of them and takes their tokens. A job without
-- room in a bucket of a tenant or a key is parked in that bucket. A job without room in its type stays in the queue,
-- where turns continue. So does a job in a bucket that another transaction is deciding about. Returns the places of
-- the admitted jobs, the number of skipped jobs, the types that are full, the lanes of tenants whose buckets a bound
-- claim holds, and when it is worth trying again. Scopes go from the narrowest to the widest, so that a job refused by
-- one takes no room in the next. Never waits.
create or replace function jobforge.admit(
  p_places tid[], p_most integer, p_now timestamptz, p_rules jobforge.claim_rules,
  out places tid[], out passed_over integer, out full_types text[], out busy_lanes bigint[], out again_at timestamptz
)
language plpgsql as $$
declare
  v_asked constant jobforge.candidate[] := array(
    select row(p.place, j.id, j.type, j.tenant_id, j.concurrency_key, j.rank, j.run_at, j.seq)::jobforge.candidate
    from unnest(p_places) with ordinality p(place, ord)
    cross join lateral (select * from jobforge.jobs j where j.ctid = p.place limit 1) j
    order by p.ord);
  v_wanted jobforge.candidate[] := v_asked;
  v_scope text;
  v_step record;
begin
  full_types := '{}';
  foreach v_scope in array array['key', 'type_tenant', 'type', 'tenant'] loop
    continue when v_scope <> all (p_rules.scopes);
    if v_scope = 'type' and 'tenant' = any (p_rules.scopes) then
      v_wanted := jobforge.within_tenant(v_wanted, p_now);
    end if;
    v_step := jobforge.admit_to(v_scope, v_wanted, p_now);
    v_wanted := v_step.admitted;
    again_at := least(again_at, v_step.again_at);
    if v_scope = 'type' then
      full_types := v_step.full_types;
    end if;
  end loop;
  v_wanted := v_wanted[:p_most];
  if p_rules.rated and cardinality(v_wanted) > 0 then
    perform jobforge.spend_tokens(v_wanted, p_now);
  end if;
  places := array(select c.place from unnest(v_wanted) c);
  passed_over := cardinality(p_places) - cardinality(places);
  busy_lanes := '{}';
  if passed_over > 0 and exists (select from jobforge.bound_tenants) and jobforge.bound_tenant() is null then
    busy_lanes := array(
      select jobforge.lane_of(t)
      from unnest(jobforge.tenants_in_use(array(select distinct c.tenant_id from unnest(v_asked) c))) t);
  end if;
end $$;

-- Returns as many of the jobs as their tenant's limit has room for, if the caller is bound to the tenant; otherwise all
-- of them. Else a bound claim would hold marks of a type, which are places that others need, for jobs that the limit of
-- its tenant refuses. The jobs that are left out stay in the queue.
create or replace function jobforge.within_tenant(p_wanted jobforge.candidate[], p_now timestamptz)
returns jobforge.candidate[]
language plpgsql as $$
declare
  v_bound uuid := jobforge.bound_tenant();
  v_room integer;
begin
  if v_bound is null then
    return p_wanted;
  end if;
  v_room := (
    select (jobforge.room_in(b, p_now)).room
    from jobforge.buckets_of('tenant', array[row(null, v_bound, null)::jobforge.slot]) b);
  return case when v_room is null then p_wanted else p_wanted[:v_room] end;
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
  v_bound uuid;
  -- For each bucket of a type: how many marks a bound caller has changed, and how many are held by others.
  v_marks integer[];
  v_held integer[];
  v_mine bigint[];
  v_refused uuid[];
  v_refused_by integer[];
begin
  admitted := p_wanted;
  full_types := '{}';
  if cardinality(v_buckets) = 0 then
    return;
  end if;
  if p_scope = 'type' then
    v_bound := jobforge.bound_tenant();
    if v_bound is not null then
      v_marks := jobforge.use_marks(v_bound, array(select b.type from unnest(v_buckets) b), array(
        select least(
          (select count(*)::integer from unnest(p_wanted) c where c.type = b.type), (jobforge.room_in(b, p_now)).room)
        from unnest(v_buckets) b), p_now);
    end if;
  end if;
  v_mine := jobforge.lock_buckets(
    array(select b.id from unnest(v_buckets) b), array(select b.tenant_id from unnest(v_buckets) b), p_scope = 'type');
  -- Marks are counted before runs: a transaction that ends in between is counted twice, never missed.
  if p_scope = 'type' and exists (select from jobforge.type_marks) then
    v_held := jobforge.marks_of_others(array(select b.type from unnest(v_buckets) b));
  end if;
  -- This is a later statement than the one that took the locks, so it sees everything that was committed before they
  -- were taken.
  with room as materialized (
    -- Parts that the scope does not have are empty, so that they are equal for every job.
    select b.no, coalesce((b.bucket).type, '') as type,
      coalesce((b.bucket).tenant_id, jobforge.global_tenant()) as tenant_id,
      coalesce((b.bucket).concurrency_key, '') as concurrency_key, b.mine, r.only_id,
      case when r.room is not null then greatest(least(r.room - coalesce(v_held[b.no], 0), v_marks[b.no]), 0) end
        as room,
      coalesce(r.next_at,
        case when v_held[b.no] > 0 or v_marks[b.no] = 0 then p_now + interval '10 milliseconds' end) as next_at
    from (
      select (row_number() over ())::integer as no, b as bucket, b.id in (select m from unnest(v_mine) m) as mine
      from unnest(v_buckets) b
    ) b
    left join lateral jobforge.room_in(b.bucket, p_now) r on b.mine
  ), asked as materialized (
    select c.candidate, c.ord, (c.candidate).id, r.no as bucket, r.mine, r.room, r.only_id,
      row_number() over (
        partition by r.no order by (c.candidate).id = r.only_id desc, (c.candidate).rank, (c.candidate).run_at,
          (c.candidate).seq
      ) as place
    from (
      select row(c.place, c.id, c.type, c.tenant_id, c.concurrency_key, c.rank, c.run_at,
        c.seq)::jobforge.candidate as candidate,
        c.ord,
        case when p_scope <> 'tenant' then c.type else '' end as type,
        case when p_scope <> 'type' then c.tenant_id else jobforge.global_tenant() end as tenant_id,
        case when p_scope = 'key' then c.concurrency_key else '' end as concurrency_key
      from unnest(p_wanted) with ordinality c(place, id, type, tenant_id, concurrency_key, rank, run_at, seq, ord)
      offset 0
    ) c
    left join room r
      on r.type = c.type and r.tenant_id = c.tenant_id and r.concurrency_key = c.concurrency_key
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
      array(select r.type from room r where r.room <= (select count(*) from judged j where j.bucket = r.no and j.fits))
    end,
    (select min(case when r.mine then r.next_at else p_now + interval '10 milliseconds' end) from room r)
  into admitted, v_refused, v_refused_by, full_types, again_at;
  if p_scope <> 'type' then
    perform jobforge.park(v_refused, v_refused_by, v_buckets, p_now);
  end if;
end $$;

-- Takes locked jobs out of the index that claims read, each into its bucket: p_refused_by[i] is the place in p_buckets
-- of the bucket that refused p_job_ids[i]. A bucket that waits for a token is checked when the token comes; a full
-- bucket is checked when a run ends. Jobs stay in the queue if jobs of another bucket with the same id are parked. So
-- any job that is parked in an id tells which bucket that is. The caller holds the buckets' locks.
create or replace function jobforge.park(
  p_job_ids uuid[], p_refused_by integer[], p_buckets jobforge.bucket[], p_now timestamptz
) returns void
language plpgsql
set enable_hashjoin = on as $$
declare
  v_parking integer[];
begin
  if cardinality(p_job_ids) = 0 then
    return;
  end if;
  v_parking := array(
    select distinct on ((p_buckets[x.no]).id) x.no
    from (select distinct n as no from unnest(p_refused_by) n) x
    left join lateral (
      select j.type, j.tenant_id, j.concurrency_key
      from jobforge.jobs j
      where j.state = 'parked' and j.parked_in = (p_buckets[x.no]).id
      limit 1
    ) j on true
    where j.type is null or jobforge.is_in_bucket(p_buckets[x.no], j.type, j.tenant_id, j.concurrency_key)
    order by (p_buckets[x.no]).id, x.no);
  update jobforge.jobs j
  set state = 'parked', parked_in = (p_buckets[x.no]).id
  from unnest(p_job_ids, p_refused_by) x(id, no)
  where j.id = x.id and x.no = any (v_parking);
  insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
  select (b.bucket).tenant_id, b.id, coalesce(t.next_at, p_now)
  from unnest(v_parking) x(no)
  cross join lateral (select p_buckets[x.no] as bucket, (p_buckets[x.no]).id) b
  cross join lateral jobforge.tokens_in(b.bucket, p_now) t
  where (b.bucket).rate is not null
    and not exists (select from jobforge.unpark_requests r where r.bucket = b.id and r.due_at > p_now);
end $$;

-- Takes a token for each job from every bucket with a rate that it belongs to. The caller holds the buckets' locks. Of
-- two buckets with the same id, the one that spends more counts. A role that is bound to a tenant appends what it takes
-- from the bucket of a type, because that row is shared by all tenants.
create or replace function jobforge.spend_tokens(p_jobs jobforge.candidate[], p_now timestamptz) returns void
language plpgsql
set enable_hashjoin = on as $$
declare
  v_slots constant jobforge.slot[] := array(
    select row(c.type, c.tenant_id, c.concurrency_key)::jobforge.slot from unnest(p_jobs) c);
  v_scopes text[] := array['type', 'tenant', 'type_tenant', 'key'];
begin
  if jobforge.bound_tenant() is not null then
    v_scopes := v_scopes[2:];
    insert into jobforge.type_starts (bucket, set_at, at, starts, token_us)
    select b.id, b.set_at, p_now, (select count(*) from unnest(p_jobs) c where c.type = b.type),
      jobforge.token_time(b.rate, b.per)
    from jobforge.buckets_of('type', v_slots) b
    where b.rate is not null;
  elsif exists (select from jobforge.type_starts) then
    perform jobforge.fold_starts(array(
      select b.id from jobforge.buckets_of('type', v_slots) b where b.rate is not null));
  end if;
  with spent as materialized (
    select b.id, b.set_at, jobforge.token_time(b.rate, b.per) as each, count(*) as starts
    from unnest(v_scopes) x(counts_by)
    cross join lateral jobforge.buckets_of(x.counts_by, v_slots) b
    join lateral (
      select y.counts_by,
        case when y.counts_by <> 'tenant' then c.type else '' end as type,
        case when y.counts_by <> 'type' then c.tenant_id else jobforge.global_tenant() end as tenant_id,
        case when y.counts_by = 'key' then c.concurrency_key else '' end as concurrency_key
      from unnest(v_scopes) y(counts_by)
      cross join unnest(v_slots) c
      offset 0
    ) c
      on c.counts_by = b.scope and c.type = coalesce(b.type, '')
        and c.tenant_id = coalesce(b.tenant_id, jobforge.global_tenant())
        and c.concurrency_key = coalesce(b.concurrency_key, '')
    where b.rate is not null
    group by b.id, b.scope, b.type, b.tenant_id, b.concurrency_key, b.set_at, b.rate, b.per
  )
  insert into jobforge.limit_rates as r (bucket, empty_until, set_at)
  select s.id, p_now + max(s.starts * s.each) * interval '1 microsecond', max(s.set_at)
  from spent s
  group by s.id
  on conflict (bucket) do update
  set set_at = excluded.set_at,
    empty_until = excluded.empty_until
      + case when r.set_at = excluded.set_at then greatest(r.empty_until - p_now, interval '0') else interval '0' end;
end $$;
