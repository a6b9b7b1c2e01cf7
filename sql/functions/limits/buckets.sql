-- Limits: which of them apply to a job, and how much room they leave. Runs are counted, so a slot becomes
-- free however a run ends, and no counter can drift. Each counted thing is a bucket. A transaction that counts, parks
-- or unparks holds the bucket's lock until it ends. Locks are only tried, so no transaction waits and no two can
-- deadlock.
--
-- Two buckets may have the same id, although no caller can bring that about. Admission therefore compares the
-- attributes of buckets. Ids are for locks, parked jobs and tokens: two buckets with one id share a lock and tokens,
-- and only one of them has parked jobs (jobforge.park).

-- Returns the rules that a claim must respect in addition to gates; null if there are none, which costs one read of
-- empty tables.
create or replace function jobforge.claim_rules() returns jobforge.claim_rules
language plpgsql as $$
declare
  v jobforge.claim_rules;
begin
  if not exists (
    select from jobforge.limits
    union all
    select from jobforge.unpark_requests
    union all
    select from jobforge.key_holds
    union all
    select from jobforge.tenants t where t.weight > 1)
  then
    return null;
  end if;
  select
    count(*) > 0 or exists (select from jobforge.unpark_requests) or exists (select from jobforge.key_holds),
    coalesce(bool_or(l.max_running is not null and l.scope <> 'key'), false),
    coalesce(bool_or(l.max_running is not null and l.scope <> 'key' and not l.in_force), false),
    exists (select from jobforge.tenants t where t.weight > 1),
    coalesce(array_agg(distinct l.scope::text), '{}')
      || case when exists (select from jobforge.key_holds) then array['key'] else '{}' end,
    coalesce(bool_or(l.rate is not null), false)
  into v
  from jobforge.limits l;
  return v;
end $$;

-- Returns the keys of limits that apply to a job in a scope: its own key, and for type_tenant also TYPE:*. The
-- default '*' comes after them.
create or replace function jobforge.limit_keys(p_scope text, p_type text, p_tenant_id uuid, p_concurrency_key text)
returns text[]
language sql immutable as $$
  select case p_scope
    when 'type' then array[p_type]
    when 'tenant' then array[p_tenant_id::text]
    when 'type_tenant' then array[p_type || ':' || p_tenant_id, p_type || ':*']
    when 'key' then array[p_concurrency_key]
  end
$$;

-- Returns the id of a bucket: eight bytes of a SHA-256 that begins with the installation's secret (jobforge.
-- bucket_secret), so that no caller can choose a type or key for a wanted id. What is not part of the scope is ignored.
-- The length of the type separates it from the key. It is one expression, so that it is inlined.
create or replace function jobforge.bucket_id(
  p_secret bytea, p_scope text, p_type text, p_tenant_id uuid, p_concurrency_key text
) returns bigint
language sql stable as $$
  select ('x' || left(encode(sha256(p_secret || convert_to(p_scope
    || case when p_scope <> 'type' then ':' || p_tenant_id::text else '' end
    || case when p_scope <> 'tenant' then ':' || length(p_type)::text || ':' || p_type else '' end
    || case when p_scope = 'key' then ':' || p_concurrency_key else '' end, 'UTF8')), 'hex'), 16))::bit(64)::bigint
$$;

-- Returns whether a job with these attributes belongs to a bucket. It is one expression, so that it is inlined.
create or replace function jobforge.is_in_bucket(
  p_bucket jobforge.bucket, p_type text, p_tenant_id uuid, p_concurrency_key text
) returns boolean
language sql immutable as $$
  select (p_bucket.scope = 'tenant' or p_bucket.type = p_type)
    and (p_bucket.scope = 'type' or p_bucket.tenant_id = p_tenant_id)
    and (p_bucket.scope <> 'key' or p_bucket.concurrency_key = p_concurrency_key)
$$;

-- Returns the buckets of a scope that jobs belong to, each once, without those that have neither a limit nor a hold.
create or replace function jobforge.buckets_of(p_scope text, p_slots jobforge.slot[]) returns setof jobforge.bucket
language plpgsql stable as $$
declare
  -- Often there is only the default limit, which is read once and not for every job.
  v_first jobforge.limits[] := array(select l from jobforge.limits l where l.scope = p_scope limit 2);
  v_own boolean := cardinality(v_first) > 1 or (v_first[1]).key <> '*';
  v_default jobforge.limits := case when not v_own then v_first[1] end;
  v_held constant boolean := p_scope = 'key' and exists (select from jobforge.key_holds);
  v_secret bytea;
begin
  if cardinality(v_first) = 0 and not v_held then
    return;
  elsif v_own then
    select l.* into v_default from jobforge.limits l where l.scope = p_scope and l.key = '*';
  end if;
  v_secret := (select s.secret from jobforge.bucket_secret s);
  return query
  select jobforge.bucket_id(v_secret, p_scope, s.type, s.tenant_id, s.concurrency_key), p_scope, s.type, s.tenant_id,
    s.concurrency_key,
    l.max_running, l.rate, l.per, l.burst, l.set_at, l.in_force
  from (
    select distinct
      case when p_scope <> 'tenant' then s.type end as type,
      case when p_scope <> 'type' then s.tenant_id end as tenant_id,
      case when p_scope = 'key' then s.concurrency_key end as concurrency_key
    from unnest(p_slots) s
    where p_scope <> 'key' or s.concurrency_key is not null
  ) s
  cross join lateral (
    select x.*
    from (
      select k.place, l.*
      from unnest(jobforge.limit_keys(p_scope, s.type, s.tenant_id, s.concurrency_key)) with ordinality k(key, place)
      join jobforge.limits l on l.scope = p_scope and l.key = k.key
      where v_own
      union all
      select 9, (v_default).*
    ) x
    order by x.place
    limit 1
  ) l
  where num_nonnulls(l.max_running, l.rate) > 0
    or (v_held and jobforge.held_until(s.tenant_id, s.type, s.concurrency_key) is not null);
end $$;

-- Tries to take the locks of buckets of the tenants, or with p_of_types of types. Returns the ids whose locks this
-- transaction now holds until it ends. Buckets share 1,024 locks, and those of types another 1,024. The caller reads
-- jobs in a later statement than this one, and so sees everything that was committed before it got the locks. A role
-- that is bound to a tenant gets the same without holding a shared lock (jobforge.lock_as_bound). Never waits.
create or replace function jobforge.lock_buckets(p_ids bigint[], p_tenant_ids uuid[], p_of_types boolean)
returns bigint[]
language plpgsql as $$
declare
  v_bound uuid := jobforge.bound_tenant();
  v_locked bigint[];
begin
  if v_bound is not null then
    return jobforge.lock_as_bound(p_ids, p_tenant_ids, p_of_types, v_bound);
  end if;
  v_locked := jobforge.lock_shared(p_ids, p_of_types);
  -- Read after the locks were taken, so that no binding is missed that a bound claim could have seen before.
  if not p_of_types and exists (select from jobforge.bound_tenants) then
    v_locked := array(
      select l from unnest(v_locked) l
      except
      select b.id from unnest(p_ids, p_tenant_ids) b(id, tenant_id)
      where b.tenant_id = any (jobforge.tenants_in_use(p_tenant_ids)));
  end if;
  return v_locked;
end $$;

-- Tries to lock the rows that buckets share. Returns the ids whose row this transaction holds. Never waits.
create or replace function jobforge.lock_shared(p_ids bigint[], p_of_types boolean) returns bigint[]
language plpgsql
set enable_hashjoin = on
set enable_nestloop = off as $$
declare
  v_locked integer[];
begin
  if p_of_types then
    v_locked := array(
      select l.no
      from jobforge.type_locks l
      where l.no in (select (i & 1023)::integer from unnest(p_ids) i)
      for update skip locked);
  else
    v_locked := array(
      select l.no
      from jobforge.bucket_locks l
      where l.no in (select (i & 1023)::integer from unnest(p_ids) i)
      for update skip locked);
  end if;
  return array(
    select distinct i from unnest(p_ids) i where (i & 1023)::integer in (select l from unnest(v_locked) l));
end $$;

-- Returns how many jobs of a bucket are running, counted up to its limit.
create or replace function jobforge.running_in(p_bucket jobforge.bucket) returns integer
language plpgsql stable as $$
declare
  v_most integer := p_bucket.max_running;
  v_count integer;
begin
  if p_bucket.scope = 'type' then
    v_count := (select count(*) from (
      select from jobforge.runs j where j.counted and j.type = p_bucket.type limit v_most) x);
  elsif p_bucket.scope = 'tenant' then
    v_count := (select count(*) from (
      select from jobforge.runs j where j.counted and j.tenant_id = p_bucket.tenant_id limit v_most) x);
  elsif p_bucket.scope = 'type_tenant' then
    v_count := (select count(*) from (
      select from jobforge.runs j
      where j.counted and j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id limit v_most) x);
  else
    return (select count(*) from (
      select from jobforge.runs j
      where j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id and j.concurrency_key = p_bucket.concurrency_key
        and j.concurrency_key is not null
      limit v_most) x);
  end if;
  if not p_bucket.in_force then
    v_count := v_count + (
      select count(*)
      from jobforge.runs j
      where not j.counted
        and (p_bucket.type is null or j.type = p_bucket.type)
        and (p_bucket.tenant_id is null or j.tenant_id = p_bucket.tenant_id));
  end if;
  return v_count;
end $$;

-- Marks the runs that started before there was a limit, so that they count like the others. This continues for the
-- first seconds of a limit, while claims that did not see it may still commit, and until no such run is left. Never
-- waits: a run that another transaction holds is counted individually in the meantime. A role that is bound to a tenant
-- marks nothing, because the runs are those of all tenants.
create or replace function jobforge.count_early_runs(p_now timestamptz) returns void
language plpgsql as $$
begin
  if jobforge.bound_tenant() is not null then
    return;
  end if;
  perform from jobforge.limit_tasks t where t.task = 'early_runs' for update skip locked;
  if not found then
    return;
  end if;
  update jobforge.runs j
  set counted = true
  where j.id = any (array(select r.id from jobforge.runs r where not r.counted limit 1000 for update skip locked));
  if not found and not exists (select from jobforge.runs r where not r.counted) then
    update jobforge.limits l
    set in_force = true
    where (l.scope, l.key) in (
      select f.scope, f.key from jobforge.limits f
      where not f.in_force and f.set_at < p_now - interval '10 seconds'
      for update skip locked);
  end if;
end $$;

-- Returns the time between two tokens in microseconds, rounded up so that no window has more starts than the rate
-- allows.
create or replace function jobforge.token_time(p_rate integer, p_per interval) returns bigint
language sql immutable as $$
  select ceil(extract(epoch from p_per) * 1000000 / p_rate)::bigint
$$;

-- Returns how many tokens a bucket has, and when the next one comes if it has none.
create or replace function jobforge.tokens_in(
  p_bucket jobforge.bucket, p_now timestamptz, out tokens integer, out next_at timestamptz
)
language plpgsql stable as $$
declare
  v_each bigint := jobforge.token_time(p_bucket.rate, p_bucket.per);
  v_until timestamptz := (
    select r.empty_until from jobforge.limit_rates r where r.bucket = p_bucket.id and r.set_at = p_bucket.set_at);
  v_debt bigint;
begin
  if p_bucket.scope = 'type' then
    v_until := jobforge.with_starts(v_until, p_bucket.id, p_bucket.set_at, null);
  end if;
  v_debt := coalesce(
    least(greatest(extract(epoch from v_until - p_now) * 1000000, 0), p_bucket.burst * v_each), 0);
  tokens := (p_bucket.burst * v_each - v_debt) / v_each;
  if tokens < 1 then
    next_at := p_now + (v_debt - (p_bucket.burst - 1) * v_each) * interval '1 microsecond';
  end if;
end $$;

-- Returns how many jobs of a bucket may start now (null: unlimited), and when to try again if the rate is the reason.
-- A key that is held has no room until the hold ends. For a concurrency key with a limit of one, or whose jobs run one
-- by one, it also returns the only job that may start: the one that has already begun, even if it waits for its retry,
-- otherwise the first in the queue. So the jobs of such a key start in order.
-- The caller holds the bucket's lock, or needs advice only.
create or replace function jobforge.room_in(
  p_bucket jobforge.bucket, p_now timestamptz, out room integer, out next_at timestamptz, out only_id uuid
)
language plpgsql stable as $$
declare
  v_running boolean;
  v_rate record;
  v_held_until timestamptz;
begin
  if p_bucket.scope = 'key' then
    v_held_until := jobforge.held_until(p_bucket.tenant_id, p_bucket.type, p_bucket.concurrency_key);
    if v_held_until > p_now then
      room := 0;
      next_at := nullif(v_held_until, 'infinity');
      return;
    elsif v_held_until is not null
      and jobforge.is_ordered(p_bucket.tenant_id, p_bucket.type, p_bucket.concurrency_key)
    then
      p_bucket.max_running := 1;
    end if;
  end if;
  if p_bucket.scope = 'key' and p_bucket.max_running = 1 then
    -- One statement for both rooms: the job may move from one to the other.
    select x.id, x.running into only_id, v_running
    from (
      select r.id, r.seq, true as running
      from jobforge.runs r
      where r.type = p_bucket.type and r.tenant_id = p_bucket.tenant_id
        and r.concurrency_key = p_bucket.concurrency_key and r.concurrency_key is not null
      union all
      select q.id, q.seq, false
      from jobforge.queue q
      where q.type = p_bucket.type and q.tenant_id = p_bucket.tenant_id
        and q.concurrency_key = p_bucket.concurrency_key and q.concurrency_key is not null and q.attempts > 0
    ) x
    order by x.running desc, x.seq
    limit 1;
    room := (v_running is distinct from true)::integer;
    if only_id is null then
      select j.id into only_id
      from jobforge.queue j
      where j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id and j.concurrency_key = p_bucket.concurrency_key
        and j.concurrency_key is not null and j.state in ('ready', 'parked')
      order by j.rank, j.run_at, j.seq
      limit 1;
    end if;
  elsif p_bucket.max_running is not null then
    room := greatest(p_bucket.max_running - jobforge.running_in(p_bucket), 0);
  end if;
  if v_held_until is not null
    and jobforge.is_probed(p_bucket.tenant_id, p_bucket.type, p_bucket.concurrency_key)
  then
    -- One job tries, whichever comes first, while its circuit breaker is half open.
    p_bucket.max_running := 1;
    room := least(room, 1 - jobforge.running_in(p_bucket));
  end if;
  if p_bucket.rate is not null and room is distinct from 0 then
    v_rate := jobforge.tokens_in(p_bucket, p_now);
    room := least(room, v_rate.tokens);
    next_at := v_rate.next_at;
  end if;
end $$;

-- Returns those of the types that have no room, and when the first of them has a token again. This is advice, read
-- without a lock: it saves a claim from reading jobs that it could not start.
create or replace function jobforge.full_types(
  p_types text[], p_now timestamptz, out types text[], out next_at timestamptz
)
language plpgsql stable as $$
begin
  types := '{}';
  if exists (select from jobforge.limits l where l.scope = 'type') then
    select coalesce(array_agg(b.type), '{}'), min(r.next_at)
    into types, next_at
    from jobforge.buckets_of('type', array(select row(t, null, null)::jobforge.slot from unnest(p_types) t)) b
    cross join lateral jobforge.room_in(b, p_now) r
    where r.room = 0;
  end if;
end $$;

-- Returns the types without those that are full.
create or replace function jobforge.without_types(p_types text[], p_full text[]) returns text[]
language plpgsql immutable as $$
begin
  if cardinality(p_full) = 0 then
    return p_types;
  end if;
  return array(select t from unnest(p_types) t where not t = any (p_full));
end $$;
