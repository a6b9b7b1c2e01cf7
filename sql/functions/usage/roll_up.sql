-- Merges the rows that ended runs have appended into the usage of their hour: the oldest first, up to 20,000 rows and
-- about 200,000 runs. Every committed row is merged once, however late it was committed, because the same transaction
-- deletes and adds it. Returns the number of merged rows, and whether there may be more; then the task is due again.
-- The caller holds the task "usage", so no other session reads from or writes to these tables at the same time. Never
-- waits.
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
  perform sample_ends(v_ids, p_now);
  with taken as materialized (
    delete from usage_deltas d where d.id = any (v_ids) returning d.*
  ), summed as (
    select t.tenant_id, t.hour, t.type, sum(t.runs) as runs, sum(t.succeeded) as succeeded, sum(t.failed) as failed,
      sum(t.lost) as lost, sum(t.deferred) as deferred, sum(t.retries) as retries, sum(t.dead) as dead,
      sum(t.cost_cents) as cost_cents
    from taken t
    group by 1, 2, 3
  ), buckets as (
    select t.tenant_id, t.hour, t.type, l.is_wait, bin_of(l.ms) as bucket, count(*)::integer as runs, sum(l.ms) as ms
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
      histogram_of(array_agg(b.bucket) filter (where b.is_wait),
        array_agg(b.runs) filter (where b.is_wait)) as wait_histogram,
      histogram_of(array_agg(b.bucket) filter (where not b.is_wait),
        array_agg(b.runs) filter (where not b.is_wait)) as run_histogram
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
  set (runs, succeeded, failed, lost, deferred, retries, dead, cost_cents, wait_ms, run_ms, wait_histogram,
    run_histogram)
    = (u.runs + excluded.runs, u.succeeded + excluded.succeeded, u.failed + excluded.failed, u.lost + excluded.lost,
      u.deferred + excluded.deferred, u.retries + excluded.retries, u.dead + excluded.dead,
      u.cost_cents + excluded.cost_cents, u.wait_ms + excluded.wait_ms, u.run_ms + excluded.run_ms,
      add_histograms(u.wait_histogram, excluded.wait_histogram),
        add_histograms(u.run_histogram, excluded.run_histogram));
  merged := cardinality(v_ids);
  unfinished := exists (select from usage_deltas d where d.id > v_ids[merged]);
  if unfinished then
    perform repeat_task('usage');
  end if;
  delete from usage u
  where (u.tenant_id, u.hour, u.type) in (
    select f.tenant_id, f.hour, f.type from usage f where f.hour < p_now - interval '400 days' order by f.hour
      limit 10000);
end $$;
