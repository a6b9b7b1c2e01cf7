-- Samples of each minute, for charts. Maintenance takes them within a fixed budget: the depth of the queue once a
-- minute by the bounded counts of jobforge_count_live, and the ends of runs from the rows that the usage is added up
-- from.

-- Returns how many types have samples of their own in a minute. The others are summed up as the type '*'.
create or replace function jobforge.most_types_sampled() returns integer
language sql immutable as $$ select 200 $$;

-- Writes how many jobs are due, scheduled and running now, by type and in all, and deletes up to 10,000 samples that
-- are older than seven days. Returns the number of samples.
create or replace function jobforge.sample_depth(p_now timestamptz) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_count integer;
begin
  with live as (
    select l.type, sum(l.queued) as due, sum(l.scheduled) as scheduled, sum(l.running) as running,
      bool_and(l.exact) as exact
    from unnest(live_counts(null, 10000, false, p_now)) l
    group by l.type
  ), named as (
    select case when row_number() over (order by l.due + l.scheduled + l.running desc, l.type) <= most_types_sampled()
      then l.type else '*' end as type, l.due, l.scheduled, l.running, l.exact
    from live l
  )
  insert into samples as s (type, minute, due, scheduled, running, exact)
  select coalesce(n.type, ''), date_trunc('minute', p_now), coalesce(sum(n.due), 0), coalesce(sum(n.scheduled), 0),
    coalesce(sum(n.running), 0), coalesce(bool_and(n.exact), true)
  from named n
  group by grouping sets ((n.type), ())
  on conflict (type, minute) do update
  set (due, scheduled, running, exact) = (excluded.due, excluded.scheduled, excluded.running, excluded.exact);
  get diagnostics v_count = row_count;
  delete from samples s
  where (s.type, s.minute) in (
    select o.type, o.minute from samples o where o.minute < p_now - interval '7 days' order by o.minute limit 10000);
  return v_count;
end $$;

-- Adds the runs of rows of usage_deltas to the samples of this minute, before they are merged and deleted. The caller
-- holds the task "usage", so each row is added once.
create or replace function jobforge.sample_ends(p_ids bigint[], p_now timestamptz) returns void
language sql
set search_path = jobforge, pg_temp as $$
  with busy as (
    select d.type, row_number() over (order by sum(d.runs) desc, d.type) as place
    from usage_deltas d
    where d.id = any (p_ids)
    group by d.type
  ), rows as materialized (
    select case when b.place <= most_types_sampled() then d.type::text else '*' end as type, d.runs, d.succeeded,
      d.failed + d.lost as failed, d.dead, d.waits, d.lengths
    from usage_deltas d
    join busy b on b.type = d.type
    where d.id = any (p_ids)
  ), counts as (
    select coalesce(r.type, '') as type, sum(r.runs) as runs, sum(r.succeeded) as succeeded, sum(r.failed) as failed,
      sum(r.dead) as dead
    from rows r
    group by grouping sets ((r.type), ())
    having count(*) > 0
  ), bins as (
    select coalesce(b.type, '') as type, b.is_wait, b.bin, count(*)::integer as runs
    from (
      select r.type, true as is_wait, bin_of(w) as bin from rows r cross join unnest(r.waits) w
      union all
      select r.type, false, bin_of(l) from rows r cross join unnest(r.lengths) l
    ) b
    group by grouping sets ((b.type, b.is_wait, b.bin), (b.is_wait, b.bin))
  ), histograms as (
    select b.type, histogram_of(array_agg(b.bin) filter (where b.is_wait), array_agg(b.runs) filter (where b.is_wait))
        as waits,
      histogram_of(array_agg(b.bin) filter (where not b.is_wait), array_agg(b.runs) filter (where not b.is_wait))
        as lengths
    from bins b
    group by b.type
  )
  insert into samples as s (type, minute, runs, succeeded, failed, dead, wait_histogram, run_histogram)
  select c.type, date_trunc('minute', p_now), c.runs, c.succeeded, c.failed, c.dead, coalesce(h.waits, '{}'),
    coalesce(h.lengths, '{}')
  from counts c
  left join histograms h on h.type = c.type
  on conflict (type, minute) do update
  set (runs, succeeded, failed, dead, wait_histogram, run_histogram)
    = (s.runs + excluded.runs, s.succeeded + excluded.succeeded, s.failed + excluded.failed, s.dead + excluded.dead,
      add_histograms(s.wait_histogram, excluded.wait_histogram),
      add_histograms(s.run_histogram, excluded.run_histogram))
$$;

-- Returns what happened over time, for charts, from samples of each minute of the last seven days: for all types, or
-- for each of p_types. A row is the time from start_at on for p_step (a minute to a day); there are at most 1,500
-- steps and 20 types. due, scheduled and running are the largest samples of the step, null where there are none; exact
-- is false where one was estimated. runs counts runs that ended, with how they ended and their percentiles in
-- milliseconds; maintenance adds them up a few seconds later. Steps in which nothing was sampled have no row.
-- Who: operators, readers; not roles that are bound to a tenant. Locks nothing.
create or replace function :"api_schema".jobforge_series(
  p_from timestamptz default null, p_to timestamptz default null, p_step interval default '1 minute',
  p_types text[] default null
) returns table (
  start_at timestamptz, type text, due bigint, scheduled bigint, running bigint, exact boolean, runs bigint,
  succeeded bigint, failed bigint, dead bigint, wait_p50_ms bigint, wait_p95_ms bigint, run_p50_ms bigint,
  run_p95_ms bigint
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_to timestamptz := coalesce(p_to, jobforge.now());
  v_from timestamptz := coalesce(p_from, v_to - interval '1 hour');
begin
  perform require_figures();
  if p_step is null or p_step not between interval '1 minute' and interval '1 day' then
    perform fail_argument('step', 'step must be between a minute and a day');
  elsif v_from > v_to or v_to - v_from > p_step * 1500 then
    perform fail_argument('from', 'from must be before to, by at most 1500 steps', 'Use a longer step.');
  elsif cardinality(p_types) > 20 then
    perform fail_argument('types', 'types must be at most 20');
  end if;
  return query
  select b.start_at, nullif(b.type, ''), max(b.due), max(b.scheduled), max(b.running), bool_and(b.exact),
    sum(b.runs)::bigint, sum(b.succeeded)::bigint, sum(b.failed)::bigint, sum(b.dead)::bigint,
    percentile(sum_histograms(b.wait_histogram), 0.5), percentile(sum_histograms(b.wait_histogram), 0.95),
    percentile(sum_histograms(b.run_histogram), 0.5), percentile(sum_histograms(b.run_histogram), 0.95)
  from (
    select date_bin(p_step, s.minute, 'epoch') as start_at, s.*
    from samples s
    where s.type = any (coalesce(p_types, '{""}')) and s.minute >= date_bin(p_step, v_from, 'epoch')
      and s.minute <= v_to
  ) b
  group by b.start_at, b.type
  order by b.start_at, b.type;
end $$;

-- Raises 42501 unless the caller may see figures of all tenants: operators and readers that are bound to none.
create or replace function jobforge.require_figures() returns void
language plpgsql stable
set search_path = jobforge, pg_temp as $$
begin
  if bound_tenant() is not null or not (caller_is('jobforge_reader') or caller_is('jobforge_operator')) then
    perform fail_forbidden('Permission denied: this concerns every tenant',
      'Call it as a role with jobforge_operator or jobforge_reader.');
  end if;
end $$;
