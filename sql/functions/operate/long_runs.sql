-- Returns the types with runs that take far longer than usual: over ten minutes, and over ten times as long as 95 of
-- 100 runs of the type took in the last seven days. A type without 20 such runs is named when a run takes over a day.
-- For each type: how many runs, how long the longest has taken, and the usual time; null if that is not known. The
-- longest first, 100 types at most. Reads up to 10,000 running jobs, and up to 20,000 rows of usage if one of them is
-- that old. Locks nothing.
create or replace function jobforge.long_runs(p_now timestamptz)
returns table (type text, runs integer, longest_ms bigint, usual_ms bigint)
language sql stable
set enable_seqscan = off
set jit = off as $$
  with old as materialized (
    select r.type, r.started_at
    from (select j.type, j.started_at from jobforge.runs j limit 10000) r
    where r.started_at < p_now - interval '10 minutes'
  ), usual as materialized (
    select h.type, case when sum(h.runs) >= 20
        then jobforge.percentile(jobforge.sum_histograms(h.run_histogram), 0.95) end as ms
    from (
      select u.type, u.runs, u.run_histogram
      from jobforge.usage u
      where u.hour >= p_now - interval '7 days' and exists (select from old)
      order by u.hour desc
      limit 20000
    ) h
    where h.type in (select o.type from old o)
    group by 1
  )
  select o.type::text, count(*)::integer, max(a.ms), min(u.ms)
  from old o
  left join usual u on u.type = o.type
  cross join lateral (select (extract(epoch from p_now - o.started_at) * 1000)::bigint as ms) a
  where a.ms > coalesce(10 * u.ms, 86400000)
  group by o.type
  order by 3 desc, 1
  limit 100
$$;
