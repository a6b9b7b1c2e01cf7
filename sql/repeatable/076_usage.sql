-- The bucket of a histogram that a number of milliseconds falls into. Bucket 0 is below one millisecond; four buckets to each
-- doubling follow, up to bucket 128, which has everything from about 40 days on.
create or replace function jobforge.bucket_of(p_ms bigint) returns integer
language sql immutable as $$
  select case when p_ms < 1 then 0 else least(1 + floor(4 * ln(p_ms::double precision) / ln(2::double precision)), 128)::integer end
$$;

-- The histogram of how many runs there are in each bucket, up to the last that is not empty.
create or replace function jobforge.histogram_of(p_buckets integer[], p_runs integer[]) returns integer[]
language sql immutable as $$
  select array(
    select coalesce(h.runs, 0)
    from generate_series(0, (select max(m) from unnest(p_buckets) m)) b
    left join unnest(p_buckets, p_runs) h(bucket, runs) on h.bucket = b
    order by b)
$$;

-- Two histograms as one.
create or replace function jobforge.add_histograms(p_a integer[], p_b integer[]) returns integer[]
language sql immutable parallel safe as $$
  select array(
    select coalesce(h.a, 0) + coalesce(h.b, 0)
    from unnest(p_a, p_b) with ordinality h(a, b, bucket)
    order by h.bucket)
$$;

create or replace aggregate jobforge.sum_histograms(integer[]) (
  sfunc = jobforge.add_histograms, stype = integer[], initcond = '{}', combinefunc = jobforge.add_histograms, parallel = safe
);

-- The number of milliseconds that a share of the runs in a histogram do not exceed, to a fifth of it; null without runs.
create or replace function jobforge.percentile(p_histogram integer[], p_share numeric) returns bigint
language sql immutable parallel safe as $$
  select case when c.bucket = 1 then 0
    else round(power(2, (c.bucket - 2) / 4.0) + (power(2, (c.bucket - 1) / 4.0) - power(2, (c.bucket - 2) / 4.0))
      * (p_share * c.total - (c.upto - c.runs)) / c.runs)::bigint end
  from (
    select h.bucket, h.runs, sum(h.runs) over (order by h.bucket) as upto, sum(h.runs) over () as total
    from unnest(p_histogram) with ordinality h(runs, bucket)
  ) c
  where c.runs > 0 and c.upto >= p_share * c.total
  order by c.bucket
  limit 1
$$;

-- Merges what ended runs have appended into the usage of their hour: the oldest, up to 20,000 rows and about 200,000 runs.
-- Whatever is committed is merged once, however late it was committed: it is taken away in the transaction that adds it. Answers
-- how many rows it merged, and whether there may be more. The caller holds the task "usage", so that nobody else takes from
-- the one table or writes to the other. Never waits.
create or replace function jobforge.roll_up_usage(p_now timestamptz, out merged integer, out unfinished boolean)
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_ids bigint[] := array(
    select d.id
    from (
      select f.id, sum(f.runs) over (order by f.id) - f.runs as before
      from (select f.id, f.runs from usage_deltas f order by f.id limit 20000) f
    ) d
    where d.before < 200000);
begin
  with taken as materialized (
    delete from usage_deltas d where d.id = any (v_ids) returning d.*
  ), summed as (
    select t.tenant_id, t.hour, t.type, sum(t.runs) as runs, sum(t.succeeded) as succeeded, sum(t.failed) as failed,
      sum(t.lost) as lost, sum(t.deferred) as deferred, sum(t.retries) as retries, sum(t.dead) as dead,
      sum(t.cost_cents) as cost_cents
    from taken t
    group by 1, 2, 3
  ), buckets as (
    select t.tenant_id, t.hour, t.type, l.is_wait, bucket_of(l.ms) as bucket, count(*)::integer as runs, sum(l.ms) as ms
    from taken t
    cross join lateral (
      select true as is_wait, w as ms from unnest(t.waits) w
      union all
      select false, r from unnest(t.lengths) r
    ) l
    group by 1, 2, 3, 4, 5
  ), timed as (
    select b.tenant_id, b.hour, b.type,
      sum(b.ms) filter (where b.is_wait) as wait_ms,
      coalesce(sum(b.ms) filter (where not b.is_wait), 0) as run_ms,
      histogram_of(array_agg(b.bucket) filter (where b.is_wait), array_agg(b.runs) filter (where b.is_wait)) as wait_histogram,
      histogram_of(array_agg(b.bucket) filter (where not b.is_wait), array_agg(b.runs) filter (where not b.is_wait)) as run_histogram
    from buckets b
    group by 1, 2, 3
  )
  insert into usage as u (
    tenant_id, hour, type, runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, wait_ms, run_ms,
    wait_histogram, run_histogram)
  select
    s.tenant_id, s.hour, s.type, s.runs, s.succeeded, s.failed, s.lost, s.deferred, s.retries, s.dead, s.cost_cents,
    coalesce(t.wait_ms, 0), coalesce(t.run_ms, 0), coalesce(t.wait_histogram, '{}'), coalesce(t.run_histogram, '{}')
  from summed s
  left join timed t on (t.tenant_id, t.hour, t.type) = (s.tenant_id, s.hour, s.type)
  on conflict (tenant_id, hour, type) do update
  set (runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, wait_ms, run_ms, wait_histogram, run_histogram)
    = (u.runs + excluded.runs, u.succeeded + excluded.succeeded, u.failed + excluded.failed, u.lost + excluded.lost,
      u.deferred + excluded.deferred, u.retries + excluded.retries, u.dead + excluded.dead,
      u.cost_cents + excluded.cost_cents, u.wait_ms + excluded.wait_ms, u.run_ms + excluded.run_ms,
      add_histograms(u.wait_histogram, excluded.wait_histogram), add_histograms(u.run_histogram, excluded.run_histogram));
  merged := cardinality(v_ids);
  unfinished := exists (select from usage_deltas d where d.id > v_ids[merged]);
  delete from usage u
  where (u.tenant_id, u.hour, u.type) in (
    select f.tenant_id, f.hour, f.type from usage f where f.hour < p_now - interval '400 days' order by f.hour limit 10000);
end $$;
