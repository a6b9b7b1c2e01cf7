-- Sets the settings of a tenant: label, a text by which people know it (null: none); max_pending, the number of jobs
-- it may have queued and running (null: unlimited); max_types, the number of different types it may use (null: 1,000);
-- max_schedules, the number of schedules it may have (null: 10,000); and weight, the number of turns it gets where
-- other tenants get one (1 to 100). Keys that are not given stay as they are. Returns {tenant_id, label, max_pending,
-- max_types, max_schedules, weight}. A new quota counts from its commit on; existing jobs stay.
-- Who: operators. JF002 for an unknown key or a value out of range.
create or replace function :"api_schema".jobforge_set_tenant(p_tenant_id uuid, p_settings jsonb) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_known constant text[] := array['label', 'max_pending', 'max_types', 'max_schedules', 'weight'];
  v_now timestamptz := jobforge.now();
  v_unknown text;
  v_tenant tenants;
begin
  perform require_operator();
  perform require_printable(p_settings, 'settings');
  if p_tenant_id is null then
    perform require_tenant(p_tenant_id);
  elsif p_settings is null or jsonb_typeof(p_settings) <> 'object' then
    perform fail_argument('settings', 'settings must be a JSON object');
  end if;
  select k into v_unknown from jsonb_object_keys(p_settings) k where k <> all (v_known) limit 1;
  if found then
    perform fail_argument(v_unknown, format('unknown setting %s', v_unknown), 'Known settings: '
      || array_to_string(v_known, ', ') || '.');
  elsif jsonb_typeof(p_settings -> 'label') not in ('string', 'null') or not is_key(p_settings ->> 'label') then
    perform fail_argument('label', 'label must be a text of 1 to 1024 bytes, or null for none');
  elsif not setting_is_between(p_settings -> 'max_pending', 0, 1000000000) then
    perform fail_argument('max_pending',
      'max_pending must be a whole number from 0 to 1000000000, or null for no quota');
  elsif not setting_is_between(p_settings -> 'max_types', 1, 1000000) then
    perform fail_argument('max_types', 'max_types must be a whole number from 1 to 1000000, or null for the default');
  elsif not setting_is_between(p_settings -> 'max_schedules', 0, 1000000) then
    perform fail_argument('max_schedules',
      'max_schedules must be a whole number from 0 to 1000000, or null for the default');
  elsif p_settings -> 'weight' = 'null' or not setting_is_between(p_settings -> 'weight', 1, 100) then
    perform fail_argument('weight', 'weight must be a whole number from 1 to 100');
  end if;
  insert into tenants as t (tenant_id, label, max_pending, max_types, max_schedules, weight, updated_at, updated_by)
  values (p_tenant_id, p_settings ->> 'label', (p_settings ->> 'max_pending')::integer,
    (p_settings ->> 'max_types')::integer, (p_settings ->> 'max_schedules')::integer,
    coalesce((p_settings ->> 'weight')::integer, 1), v_now, actor())
  on conflict (tenant_id) do update
  set label = case when p_settings ? 'label' then excluded.label else t.label end,
    max_pending = case when p_settings ? 'max_pending' then excluded.max_pending else t.max_pending end,
    max_types = case when p_settings ? 'max_types' then excluded.max_types else t.max_types end,
    max_schedules = case when p_settings ? 'max_schedules' then excluded.max_schedules else t.max_schedules end,
    weight = case when p_settings ? 'weight' then excluded.weight else t.weight end,
    -- Without a quota no changes are recorded, so a later quota starts counting again.
    counting_since = case when not p_settings ? 'max_pending'
      or excluded.max_pending is not null then t.counting_since end,
    counted_at = case when not p_settings ? 'max_pending' or excluded.max_pending is not null then t.counted_at end,
    updated_at = excluded.updated_at,
    updated_by = excluded.updated_by
  returning * into v_tenant;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_now, p_tenant_id, v_tenant.updated_by, 'TENANT_SET', 'tenant', p_tenant_id::text, p_settings);
  return jsonb_build_object('tenant_id', p_tenant_id, 'label', v_tenant.label, 'max_pending', v_tenant.max_pending,
    'max_types', coalesce(v_tenant.max_types, default_max_types()),
    'max_schedules', coalesce(v_tenant.max_schedules, default_max_schedules()), 'weight', v_tenant.weight);
end $$;

-- Returns whether a setting is a whole number in a range, or null, or not given.
create or replace function jobforge.setting_is_between(p_value jsonb, p_least integer, p_most integer) returns boolean
language sql immutable as $$
  select case jsonb_typeof(p_value)
    when 'number' then p_value::numeric between p_least and p_most and p_value::numeric = trunc(p_value::numeric)
    when 'null' then true
    else p_value is null
  end
$$;

-- Returns what people call a tenant; null if it has no label.
create or replace function jobforge.label_of(p_tenant_id uuid) returns text
language sql stable as $$
  select t.label from jobforge.tenants t where t.tenant_id = p_tenant_id
$$;

-- Returns the settings of a tenant: {tenant_id, label, max_pending, pending, max_types, types, max_schedules, weight}.
-- pending is counted only for tenants with that quota. types, the number of types in use, is counted up to one more
-- than max_types.
-- Who: the tenant itself, readers, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_tenant(p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_tenant_id uuid := countable_tenant(p_tenant_id);
begin
  if v_tenant_id is null then
    perform require_tenant(v_tenant_id);
  end if;
  return (
    select jsonb_build_object('tenant_id', v_tenant_id, 'label', t.label, 'max_pending', t.max_pending,
      'pending', t.max_pending - room_of(v_tenant_id), 'max_types', m.max_types,
      'types', cardinality(types_of(v_tenant_id, m.max_types + 1)),
      'max_schedules', coalesce(t.max_schedules, default_max_schedules()), 'weight', coalesce(t.weight, 1))
    from (values (v_tenant_id)) i(tenant_id)
    left join tenants t on t.tenant_id = i.tenant_id
    cross join lateral (select coalesce(t.max_types, default_max_types()) as max_types) m);
end $$;

-- Returns the tenants that have settings or use a type, ordered by their ids: at most p_limit (1 to 1,000) after the
-- tenant p_after. seen_at is about when the tenant last enqueued a job. p_search: only the tenants whose label contains
-- the text, whatever its case, and the tenant whose id it is, or is the id of (see jobforge_tenant_id). With p_figures,
-- for pages of at most 100, also what they do now and what ran in this hour and the one before; without it these
-- columns are null: see jobforge.tenant_figures. A role that is bound to a tenant sees only that tenant.
-- Who: operators, readers. JF002 for a limit out of range. Locks nothing. Reads one row of the types of each tenant to
-- find the next tenant, and the types of the tenants that it returns; a search reads the settings of all tenants.
create or replace function :"api_schema".jobforge_list_tenants(
  p_after uuid default null, p_limit integer default 100, p_search text default null, p_figures boolean default false
) returns table (
  tenant_id uuid, label text, max_pending integer, max_types integer, max_schedules integer, weight integer,
  seen_at timestamptz, due bigint, scheduled bigint, running bigint, oldest_run_at timestamptz, exact boolean,
  runs bigint, dead bigint, wait_p95_ms bigint, run_ms bigint, cost_cents bigint
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off as $$
declare
  v_bound uuid := bound_tenant();
  v_found uuid[];
begin
  if p_limit is null or not p_limit between 1 and 1000 then
    perform fail_argument('limit', 'limit must be between 1 and 1000');
  elsif p_figures and p_limit > 100 then
    perform fail_argument('limit', 'limit must be at most 100 with figures');
  elsif octet_length(p_search) > 1024 then
    perform fail_argument('search', 'search must have at most 1024 bytes');
  end if;
  v_found := case when nullif(p_search, '') is null
    then tenants_after(coalesce(v_bound, p_after, '00000000-0000-0000-0000-000000000000'), p_after, p_limit)
    else search_tenants(p_search, p_after, p_limit) end;
  v_found := array(select f from unnest(v_found) f where v_bound is null or f = v_bound);
  return query
  select f.tenant_id, t.label, t.max_pending, coalesce(t.max_types, default_max_types()),
    coalesce(t.max_schedules, default_max_schedules()), coalesce(t.weight, 1),
    (select max(y.seen_at) from tenant_types y where y.tenant_id = f.tenant_id),
    g.due, g.scheduled, g.running, g.oldest_run_at, g.exact, g.runs, g.dead, g.wait_p95_ms, g.run_ms, g.cost_cents
  from unnest(v_found) f(tenant_id)
  left join tenants t on t.tenant_id = f.tenant_id
  left join tenant_figures(case when p_figures then v_found else '{}' end, v_bound, jobforge.now()) g
    on g.tenant_id = f.tenant_id
  order by f.tenant_id;
end $$;

-- Returns the ids of up to p_limit tenants that have settings or use a type, from p_from on, without p_after.
create or replace function jobforge.tenants_after(p_from uuid, p_after uuid, p_limit integer) returns uuid[]
language sql stable
set enable_seqscan = off as $$
  with recursive users(tenant_id) as (
    (select y.tenant_id from jobforge.tenant_types y
    where y.tenant_id >= p_from and y.tenant_id is distinct from p_after
    order by y.tenant_id limit 1)
    union all
    select (
      select y.tenant_id from jobforge.tenant_types y where y.tenant_id > u.tenant_id order by y.tenant_id limit 1)
    from users u
    where u.tenant_id is not null
  ), found(tenant_id) as (
    (select u.tenant_id from users u where u.tenant_id is not null limit p_limit)
    union
    (select t.tenant_id from jobforge.tenants t
    where t.tenant_id >= p_from and t.tenant_id is distinct from p_after
    order by t.tenant_id limit p_limit)
  )
  select array(select f.tenant_id from found f order by f.tenant_id limit p_limit)
$$;

-- Returns the ids of up to p_limit tenants after p_after whose label contains a text, or whose id it is or stands for.
create or replace function jobforge.search_tenants(p_search text, p_after uuid, p_limit integer) returns uuid[]
language sql stable as $$
  select array(
    select f.tenant_id
    from (
      select t.tenant_id from jobforge.tenants t where position(lower(p_search) in lower(t.label)) > 0
      union
      select i.id from (values (jobforge.tenant_of_text(p_search))) i(id) where jobforge.knows_tenant(i.id)
    ) f
    where p_after is null or f.tenant_id > p_after
    order by f.tenant_id
    limit p_limit)
$$;

-- Returns what tenants do now and did lately. Of more than 10,000 live jobs in all, those of a tenant with at most 100
-- are counted and those of others estimated: exact is false. runs, dead, wait_p95_ms, run_ms and cost_cents are those
-- of runs that ended in this hour and the one before. p_bound: only this tenant counts.
create or replace function jobforge.tenant_figures(p_tenant_ids uuid[], p_bound uuid, p_now timestamptz)
returns table (
  tenant_id uuid, due bigint, scheduled bigint, running bigint, oldest_run_at timestamptz, exact boolean, runs bigint,
  dead bigint, wait_p95_ms bigint, run_ms bigint, cost_cents bigint
)
language plpgsql stable
set jit = off
set enable_seqscan = off as $$
declare
  v_live jobforge.live_count[] := case when cardinality(p_tenant_ids) > 0
    then jobforge.live_counts(p_bound, 10000, true, p_now) end;
  v_exact boolean := not exists (select from unnest(v_live) l where not l.exact);
begin
  return query
  select t.id, coalesce(l.due, 0), coalesce(l.scheduled, 0), coalesce(l.running, 0), l.oldest_run_at,
    coalesce(l.exact, v_exact or f.few is not null), coalesce(u.runs, 0), coalesce(u.dead, 0), u.wait_p95_ms,
    coalesce(u.run_ms, 0), coalesce(u.cost_cents, 0)
  from unnest(p_tenant_ids) t(id)
  cross join lateral (select case when not v_exact then jobforge.count_up_to(t.id, 100, p_now) end as few offset 0) f
  cross join lateral (
    select sum(c.queued)::bigint as due, sum(c.scheduled)::bigint as scheduled, sum(c.running)::bigint as running,
      min(c.oldest_run_at) as oldest_run_at, bool_and(c.exact) as exact
    from unnest(coalesce(f.few, v_live)) c
    where c.tenant_id = t.id
  ) l
  cross join lateral (
    select sum(h.runs)::bigint as runs, sum(h.dead)::bigint as dead,
      jobforge.percentile(jobforge.sum_histograms(h.wait_histogram), 0.95) as wait_p95_ms,
      sum(h.run_ms)::bigint as run_ms, sum(h.cost_cents)::bigint as cost_cents
    from jobforge.usage h
    where h.tenant_id = t.id and h.hour >= date_trunc('hour', p_now) - interval '1 hour'
  ) u;
end $$;

-- Returns the tenant for an id that an application uses, such as org_123. It is always the same uuid, in SQL, in the
-- SDKs and for the claims of a JWT. A uuid stays what it is.
-- Who: every client. JF002 for a text that names no tenant. Reads nothing.
create or replace function :"api_schema".jobforge_tenant_id(p_text text) returns uuid
language plpgsql immutable parallel safe
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_tenant_id uuid := tenant_of_text(p_text);
begin
  if v_tenant_id is null then
    perform fail_argument('text', 'text must be the id of a tenant, of 1 to 255 characters',
      'A uuid with a mistake in it, white space at an end, a word such as null, 0 and a negative number are refused.');
  end if;
  return v_tenant_id;
end $$;
