-- Limits as operators set and read them.

-- Returns a limit as clients see it.
create or replace function jobforge.limit_document(p_limit jobforge.limits) returns jsonb
language sql stable as $$
  select jsonb_build_object('scope', p_limit.scope, 'key', p_limit.key, 'max_running', p_limit.max_running,
    'rate', p_limit.rate, 'per', p_limit.per, 'burst', p_limit.burst, 'set_at', p_limit.set_at,
      'set_by', p_limit.set_by, 'tenant_label', jobforge.limit_label(p_limit))
$$;

-- Returns the label of the tenant that a limit is for; null if it has none, or if the limit is for no tenant.
create or replace function jobforge.limit_label(p_limit jobforge.limits) returns text
language sql stable as $$
  select case when p_limit.scope in ('tenant', 'type_tenant')
    then jobforge.label_of(jobforge.uuid_or_null(right(p_limit.key, 36))) end
$$;

-- Returns the key of a limit as it is stored: tenant ids in lower case. Raises JF002 if the key does not fit the
-- scope.
create or replace function jobforge.limit_key(p_scope text, p_key text) returns text
language plpgsql stable as $$
declare
  v_tenant text := case p_scope when 'tenant' then p_key when 'type_tenant' then substring(p_key from ':([^:]*)$') end;
begin
  if p_scope is null or p_scope not in ('type', 'tenant', 'type_tenant', 'key') then
    perform jobforge.fail_argument('scope', 'scope must be type, tenant, type_tenant or key');
  elsif not coalesce(jobforge.is_key(p_key), false) or p_key is null then
    perform jobforge.fail_argument('key', 'key must have 1 to 1024 bytes', 'Use * for the default.');
  elsif p_key = '*' or p_scope = 'key' then
    return p_key;
  elsif p_scope = 'type' then
    if not jobforge.is_type(p_key) then
      perform jobforge.fail_argument('key', 'key must be a type, or *', jobforge.type_hint());
    end if;
    return p_key;
  elsif p_scope = 'tenant' and jobforge.uuid_or_null(p_key) is null then
    perform jobforge.fail_argument('key', 'key must be a tenant''s uuid, or *');
  elsif p_scope = 'type_tenant' and (v_tenant is null or length(p_key) = length(v_tenant) + 1
    or (v_tenant <> '*' and jobforge.uuid_or_null(v_tenant) is null))
  then
    perform jobforge.fail_argument('key', 'key must be TYPE:TENANT, TYPE:* or *');
  elsif p_scope = 'type_tenant' and not jobforge.is_type(left(p_key, -length(v_tenant) - 1)) then
    perform jobforge.fail_argument('key', 'key must begin with a type', jobforge.type_hint());
  end if;
  return left(p_key, -length(v_tenant)) || coalesce(jobforge.uuid_or_null(v_tenant)::text, v_tenant);
end $$;

-- Returns false if a limit names a type or a tenant that nothing has. Defaults and concurrency keys are always known:
-- no list of keys exists before their first job.
create or replace function jobforge.limit_is_known(p_scope text, p_key text) returns boolean
language sql stable as $$
  select case p_scope
    when 'type' then p_key = '*' or jobforge.knows_type(p_key)
    when 'tenant' then p_key = '*' or jobforge.knows_tenant(p_key::uuid)
    when 'type_tenant' then p_key = '*' or (jobforge.knows_type(regexp_replace(p_key, ':[^:]*$', ''))
      and (p_key like '%:*' or jobforge.knows_tenant(right(p_key, 36)::uuid)))
    else true
  end
$$;

-- Records who changed a limit, requests a check of the jobs it parked, and wakes idle workers.
create or replace function jobforge.limit_changed(p_action text, p_scope text, p_key text, p_meta jsonb,
  p_now timestamptz) returns void
language plpgsql as $$
begin
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (p_now,
    coalesce(case when p_scope in ('tenant', 'type_tenant') then jobforge.uuid_or_null(right(p_key, 36)) end,
      jobforge.all_tenants()),
    jobforge.actor(), p_action, 'limit', p_scope || ':' || p_key, p_meta);
  insert into jobforge.unpark_requests (after, due_at) values (-9223372036854775808, p_now);
  perform jobforge.wake_all(p_now);
end $$;

-- Limits how many jobs run at once (p_max_running), how many start in a period (p_rate in each p_per, up to p_burst
-- at once; default p_rate), or both. The limit counts for each type, tenant, type of a tenant or concurrency key
-- separately. The key '*' is the default for those without their own limit. With neither number the key has no limit,
-- whatever the default is. Replaces the existing limit. Running jobs continue. Returns the limit and known (false if
-- nothing has this type or tenant yet), so that a typing error shows.
-- Who: operators. JF002 for an invalid scope, key or number. Operators wait for each other; no other caller waits for
-- them.
create or replace function :"api_schema".jobforge_set_limit(
  p_scope text,
  p_key text,
  p_max_running integer default null,
  p_rate integer default null,
  p_per interval default null,
  p_burst integer default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_key text;
  v_new limits;
begin
  perform require_operator();
  v_key := limit_key(p_scope, p_key);
  if p_max_running < 0 then
    perform fail_argument('max_running', 'max_running must be 0 or more', 'Use a gate to pause.');
  elsif p_rate is not null and p_rate not between 1 and 1000000 then
    perform fail_argument('rate', 'rate must be between 1 and 1000000');
  elsif (p_rate is null) <> (p_per is null) then
    perform fail_argument('per', 'rate and per belong together', 'Such as 100 for each ''1 minute''.');
  elsif p_per is not null and p_per not between interval '1 millisecond' and interval '366 days' then
    perform fail_argument('per', 'per must be between a millisecond and 366 days');
  elsif p_burst is not null and (p_rate is null or p_burst not between 1 and 1000000) then
    perform fail_argument('burst', 'burst must be between 1 and 1000000, and goes with a rate');
  end if;
  perform from limit_tasks t where t.task = 'settings' for update;
  insert into limits (scope, key, max_running, rate, per, burst, in_force, set_at, set_by)
  values (p_scope, v_key, p_max_running, p_rate, p_per, coalesce(p_burst, p_rate),
    -- While another limit is in force, every run is counted already.
    p_max_running is null or p_scope = 'key'
      or exists (select from limits l where l.in_force and l.max_running is not null and l.scope <> 'key'),
    v_now, actor())
  on conflict (scope, key) do update
  set max_running = excluded.max_running, rate = excluded.rate, per = excluded.per, burst = excluded.burst,
    in_force = excluded.in_force, set_at = excluded.set_at, set_by = excluded.set_by
  returning * into v_new;
  perform limit_changed('LIMIT_SET', p_scope, v_key,
    jsonb_strip_nulls(jsonb_build_object('max_running', p_max_running, 'rate', p_rate, 'per', p_per,
      'burst', v_new.burst)), v_now);
  return limit_document(v_new) || jsonb_build_object('known', limit_is_known(p_scope, v_key));
end $$;

-- Removes a limit. The jobs it held back start as soon as nothing else holds them back. Returns {scope, key,
-- removed}; removed is false if there was no such limit.
-- Who: operators.
create or replace function :"api_schema".jobforge_remove_limit(p_scope text, p_key text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_key text;
  v_removed boolean;
begin
  perform require_operator();
  v_key := limit_key(p_scope, p_key);
  perform from limit_tasks t where t.task = 'settings' for update;
  delete from limits l where l.scope = p_scope and l.key = v_key;
  v_removed := found;
  if v_removed then
    perform limit_changed('LIMIT_REMOVED', p_scope, v_key, '{}', v_now);
  end if;
  return jsonb_build_object('scope', p_scope, 'key', v_key, 'removed', v_removed);
end $$;

-- Returns whether a caller may read a limit. A caller that is bound to a tenant may read limits that concern its
-- tenant, but no other tenant's keys.
create or replace function jobforge.limit_concerns(p_limit jobforge.limits, p_tenant_id uuid) returns boolean
language sql immutable as $$
  select p_tenant_id is null or p_limit.scope = 'type' or p_limit.key = '*'
    or (p_limit.scope = 'type_tenant' and p_limit.key like '%:*')
    or (p_limit.scope in ('tenant', 'type_tenant') and right(p_limit.key, 36) = p_tenant_id::text)
$$;

-- Returns the limit of exactly this scope and key; null if there is none.
-- Who: operators, readers; a role that is bound to a tenant sees the limits that concern it.
create or replace function :"api_schema".jobforge_get_limit(p_scope text, p_key text) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_key text := limit_key(p_scope, p_key);
begin
  return (
    select limit_document(l) from limits l where l.scope = p_scope and l.key = v_key and
      limit_concerns(l, bound_tenant()));
end $$;

-- Returns all limits, with their use now: running jobs, waiting due jobs that a full limit keeps back (counted up to
-- 1,000, or fewer if there are many limits; exact is false beyond), and for a rate the tokens that are left and when
-- the next one comes if there are none. The use is null for defaults, because each type, tenant or key counts by
-- itself; a concurrency key has running only, of all types and tenants. Use of the first 1,000 limits.
-- Who: operators, readers; a role that is bound to a tenant sees the limits that concern it, and the use of its own.
create or replace function :"api_schema".jobforge_list_limits()
returns table (
  scope text, key text, max_running integer, rate integer, per interval, burst integer, set_at timestamptz, set_by text,
  tenant_label text, running integer, waiting integer, tokens integer, next_at timestamptz, exact boolean
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := bound_tenant();
  v_most integer := (select greatest(20000 / greatest(count(*), 20), 20)::integer from limits);
begin
  return query
  select l.scope::text, l.key::text, l.max_running, l.rate, l.per, l.burst, l.set_at, l.set_by, limit_label(l.of_all),
    u.running, u.waiting, u.tokens, u.next_at, u.exact
  from (
    select o.*, o as of_all, row_number() over (order by o.scope, o.key) as place
    from limits o
    where limit_concerns(o, v_bound)
  ) l
  left join lateral limit_use(l.of_all, v_most, v_now) u
    on l.place <= 1000 and (v_bound is null or right(l.key, 36) = v_bound::text)
  order by l.scope, l.key;
end $$;

-- Returns how much of a limit is used: see jobforge_list_limits. Counts up to p_most waiting jobs, and up to 10,000
-- running ones.
create or replace function jobforge.limit_use(
  p_limit jobforge.limits, p_most integer, p_now timestamptz,
  out running integer, out waiting integer, out tokens integer, out next_at timestamptz, out exact boolean
)
language plpgsql stable
set enable_seqscan = off as $$
declare
  v_type text := case p_limit.scope when 'type' then p_limit.key when 'type_tenant' then left(p_limit.key, -37) end;
  v_bucket jobforge.bucket;
begin
  if p_limit.scope = 'key' and p_limit.key <> '*' then
    running := (select count(*) from jobforge.runs r where r.concurrency_key = p_limit.key);
    exact := true;
    return;
  elsif p_limit.key = '*' or p_limit.scope = 'key' or (p_limit.scope = 'type_tenant' and p_limit.key like '%:*') then
    return;
  end if;
  select b.* into v_bucket
  from jobforge.buckets_of(p_limit.scope, array[
    row(v_type, case when p_limit.scope <> 'type' then right(p_limit.key, 36)::uuid end, null)::jobforge.slot]) b;
  if not found then
    return;
  end if;
  if v_bucket.rate is not null then
    select t.tokens, t.next_at into tokens, next_at from jobforge.tokens_in(v_bucket, p_now) t;
  end if;
  if v_bucket.max_running is not null then
    v_bucket.max_running := 10000;
    running := jobforge.running_in(v_bucket);
  end if;
  if p_limit.scope <> 'type' then
    waiting := (select count(*) from (
      select from jobforge.queue q where q.state = 'parked' and q.parked_in = v_bucket.id limit p_most + 1) x);
  elsif running >= p_limit.max_running or tokens = 0 then
    -- No job is parked in the bucket of a type.
    waiting := (select count(*) from (
      select from jobforge.queue q where q.state = 'ready' and q.type = v_type limit p_most + 1) x);
  else
    waiting := 0;
  end if;
  exact := waiting <= p_most and coalesce(running < 10000, true);
  waiting := least(waiting, p_most);
end $$;
