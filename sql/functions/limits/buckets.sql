-- Limits: which of them apply to a job, and how much room they leave. Running rows are counted, so a slot becomes
-- free however a run ends, and no counter can drift. Each counted thing is a bucket. A transaction that counts, parks
-- or unparks holds the bucket's lock until it ends. Locks are only tried, so no transaction waits and no two can
-- deadlock.

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
    select from jobforge.tenants t where t.weight > 1)
  then
    return null;
  end if;
  select
    exists (select from jobforge.limits) or exists (select from jobforge.unpark_requests),
    coalesce(bool_or(true), false),
    coalesce(bool_or(not l.in_force), false),
    exists (select from jobforge.tenants t where t.weight > 1)
  into v
  from jobforge.limits l
  where l.max_running is not null and l.scope <> 'key';
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

-- Returns the id of a bucket. What is not part of its scope is ignored. It is one expression, so that it is inlined.
create or replace function jobforge.bucket_id(p_scope text, p_type text, p_tenant_id uuid, p_concurrency_key text)
returns bigint
language sql immutable as $$
  select hashtextextended(p_scope
    || case when p_scope <> 'tenant' then chr(31) || p_type else '' end
    || case when p_scope <> 'type' then chr(31) || p_tenant_id::text else '' end
    || case when p_scope = 'key' then chr(31) || p_concurrency_key else '' end, 0)
$$;

-- Returns the buckets of a scope that jobs belong to, each once, without those that have no limit.
create or replace function jobforge.buckets_of(p_scope text, p_slots jobforge.slot[]) returns setof jobforge.bucket
language plpgsql stable as $$
declare
  -- Often there is only the default limit, which is read once and not for every job.
  v_own boolean := exists (select from jobforge.limits l where l.scope = p_scope and l.key <> '*');
begin
  return query
  with fallback as materialized (
    select l.* from jobforge.limits l where l.scope = p_scope and l.key = '*'
  )
  select jobforge.bucket_id(p_scope, s.type, s.tenant_id, s.concurrency_key), p_scope, s.type, s.tenant_id,
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
      select 9, f.* from fallback f
    ) x
    order by x.place
    limit 1
  ) l
  where num_nonnulls(l.max_running, l.rate) > 0;
end $$;

-- Tries to take the lock of a bucket. Buckets share 1,024 locks for types and 2,048 for all other scopes, so that a
-- thousand keys in one claim do not fill the server's lock table. Never waits.
create or replace function jobforge.try_lock_bucket(p_id bigint, p_scope text) returns boolean
language plpgsql as $$
begin
  return pg_try_advisory_xact_lock(1246119507,
    case p_scope when 'type' then 2048 + (p_id & 1023)::integer else (p_id & 2047)::integer end);
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
      select from jobforge.jobs j where j.counted and j.type = p_bucket.type limit v_most) x);
  elsif p_bucket.scope = 'tenant' then
    v_count := (select count(*) from (
      select from jobforge.jobs j where j.counted and j.tenant_id = p_bucket.tenant_id limit v_most) x);
  elsif p_bucket.scope = 'type_tenant' then
    v_count := (select count(*) from (
      select from jobforge.jobs j
      where j.counted and j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id limit v_most) x);
  else
    return (select count(*) from (
      select from jobforge.jobs j
      where j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id and j.concurrency_key = p_bucket.concurrency_key
        and j.concurrency_key is not null and j.attempts > 0 and j.state = 'running'
      limit v_most) x);
  end if;
  if not p_bucket.in_force then
    v_count := v_count + (
      select count(*)
      from jobforge.jobs j
      where j.state = 'running' and not j.counted
        and (p_bucket.type is null or j.type = p_bucket.type)
        and (p_bucket.tenant_id is null or j.tenant_id = p_bucket.tenant_id));
  end if;
  return v_count;
end $$;

-- Marks the runs that started before there was a limit, so that they count like the others. This continues for the
-- first seconds of a limit, while claims that did not see it may still commit, and until no such run is left. Never
-- waits: a run that another transaction holds is counted individually in the meantime.
create or replace function jobforge.count_early_runs(p_now timestamptz) returns void
language plpgsql as $$
begin
  if not pg_try_advisory_xact_lock(1246119507, 4096) then
    return;
  end if;
  update jobforge.jobs j
  set counted = true
  where j.id = any (array(
    select r.id from jobforge.jobs r where r.state = 'running' and not r.counted limit 1000 for update skip locked));
  if not found and not exists (select from jobforge.jobs r where r.state = 'running' and not r.counted) then
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
  v_debt bigint := coalesce((
    select least(greatest(extract(epoch from r.empty_until - p_now) * 1000000, 0), p_bucket.burst * v_each)
    from jobforge.limit_rates r
    where r.bucket = p_bucket.id and r.set_at = p_bucket.set_at), 0);
begin
  tokens := (p_bucket.burst * v_each - v_debt) / v_each;
  if tokens < 1 then
    next_at := p_now + (v_debt - (p_bucket.burst - 1) * v_each) * interval '1 microsecond';
  end if;
end $$;

-- Returns how many jobs of a bucket may start now (null: unlimited), and when to try again if the rate is the reason.
-- For a concurrency key with a limit of one, it also returns the only job that may start: the one that has already
-- begun, even if it waits for its retry, otherwise the first in the queue. So the jobs of such a key start in order.
-- The caller holds the bucket's lock, or needs advice only.
create or replace function jobforge.room_in(
  p_bucket jobforge.bucket, p_now timestamptz, out room integer, out next_at timestamptz, out only_id uuid
)
language plpgsql stable as $$
declare
  v_running boolean;
  v_rate record;
begin
  if p_bucket.scope = 'key' and p_bucket.max_running = 1 then
    select j.id, j.state = 'running' into only_id, v_running
    from jobforge.jobs j
    where j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id and j.concurrency_key = p_bucket.concurrency_key
      and j.concurrency_key is not null and j.attempts > 0
    order by j.state <> 'running', j.seq
    limit 1;
    room := (v_running is distinct from true)::integer;
    if only_id is null then
      select j.id into only_id
      from jobforge.jobs j
      where j.type = p_bucket.type and j.tenant_id = p_bucket.tenant_id and j.concurrency_key = p_bucket.concurrency_key
        and j.concurrency_key is not null and j.state in ('ready', 'parked')
      order by j.rank, j.run_at, j.seq
      limit 1;
    end if;
  elsif p_bucket.max_running is not null then
    room := greatest(p_bucket.max_running - jobforge.running_in(p_bucket), 0);
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
