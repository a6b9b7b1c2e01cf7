-- Returns the tenant whose figures the caller may see: the tenant it is bound to, otherwise the one it asks for. Null
-- means all tenants, which only operators and readers may ask for. Raises 42501 for another tenant.
create or replace function jobforge.countable_tenant(p_tenant_id uuid) returns uuid
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_tenant_id uuid := coalesce(p_tenant_id, bound_tenant());
begin
  if bound_tenant() is not null or not (caller_is('jobforge_reader') or caller_is('jobforge_operator')) then
    perform require_tenant(v_tenant_id);
  end if;
  return v_tenant_id;
end $$;

-- Returns usage from p_from (default: a day ago) up to p_to (default: now), summed per p_bucket: hour, day, week,
-- month, or total for the whole time. Days and longer steps start at midnight in p_timezone. p_by splits rows
-- further, by tenant and type. p_types restricts the types. Whole hours are counted: p_from is moved back to the
-- start of its hour, and the hour of p_to counts if it started before. Runs that ended in the last ten seconds may be
-- missing.
-- Who: the tenant itself; operators and readers, with null for all tenants. Locks nothing.
create or replace function :"api_schema".jobforge_report_usage(
  p_tenant_id uuid default null,
  p_from timestamptz default null,
  p_to timestamptz default null,
  p_bucket text default 'hour',
  p_by text[] default '{type}',
  p_types text[] default null,
  p_timezone text default 'UTC'
) returns table (
  start_at timestamptz, tenant_id uuid, type text, runs bigint, succeeded bigint, failed bigint, lost bigint,
    deferred bigint,
  retries bigint, dead bigint, cost_cents bigint, wait_ms bigint, run_ms bigint, wait_p50_ms bigint, wait_p95_ms bigint,
  wait_p99_ms bigint, run_p50_ms bigint, run_p95_ms bigint, run_p99_ms bigint, tenant_label text
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
-- A few hours of one tenant and many hours of all tenants need different plans.
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenant_id uuid := countable_tenant(p_tenant_id);
  v_from timestamptz := date_trunc('hour', coalesce(p_from, jobforge.now() - interval '1 day'), 'UTC');
  v_to timestamptz := coalesce(p_to, jobforge.now());
begin
  if p_bucket is null or p_bucket not in ('hour', 'day', 'week', 'month', 'total') then
    perform fail_argument('bucket', 'bucket must be hour, day, week, month or total');
  elsif p_by is null or not p_by <@ array['tenant', 'type'] then
    perform fail_argument('by', 'by must name tenant, type or both');
  elsif not isfinite(v_from) or not isfinite(v_to) or v_from >= v_to then
    perform fail_argument('from', 'from and to must be finite times, from before to');
  elsif p_timezone is null or not exists (select from pg_timezone_names z where lower(z.name) = lower(p_timezone)) then
    perform fail_argument('timezone', format('timezone %s is not known', p_timezone),
      'Use a name such as Europe/Berlin.');
  end if;
  return query
  select case p_bucket when 'total' then v_from else date_trunc(p_bucket, u.hour, p_timezone) end,
    case when 'tenant' = any (p_by) then u.tenant_id end,
    case when 'type' = any (p_by) then u.type end,
    sum(u.runs)::bigint, sum(u.succeeded)::bigint, sum(u.failed)::bigint, sum(u.lost)::bigint, sum(u.deferred)::bigint,
    sum(u.retries)::bigint, sum(u.dead)::bigint, sum(u.cost_cents)::bigint, sum(u.wait_ms)::bigint,
      sum(u.run_ms)::bigint,
    percentile(sum_histograms(u.wait_histogram), 0.5), percentile(sum_histograms(u.wait_histogram), 0.95),
    percentile(sum_histograms(u.wait_histogram), 0.99), percentile(sum_histograms(u.run_histogram), 0.5),
    percentile(sum_histograms(u.run_histogram), 0.95), percentile(sum_histograms(u.run_histogram), 0.99),
    label_of(case when 'tenant' = any (p_by) then u.tenant_id end)
  from usage u
  where u.hour >= v_from
    and u.hour < v_to
    and (v_tenant_id is null or u.tenant_id = v_tenant_id)
    and (p_types is null or u.type = any (p_types))
  group by 1, 2, 3
  order by 1, 2, 3;
end $$;
