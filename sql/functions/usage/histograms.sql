-- Returns the bin of a histogram for a number of milliseconds. Bin 0 is below one millisecond. Each doubling has four
-- bins, up to bin 128, which contains everything from about 40 days on.
create or replace function jobforge.bin_of(p_ms bigint) returns integer
language sql immutable as $$
  select case when p_ms < 1 then 0
    else least(1 + floor(4 * ln(p_ms::double precision) / ln(2::double precision)), 128)::integer end
$$;

-- Builds a histogram from the number of runs in each bin, up to the last bin that is not empty.
create or replace function jobforge.histogram_of(p_buckets integer[], p_runs integer[]) returns integer[]
language sql immutable as $$
  select array(
    select coalesce(h.runs, 0)
    from generate_series(0, (select max(m) from unnest(p_buckets) m)) b
    left join unnest(p_buckets, p_runs) h(bucket, runs) on h.bucket = b
    order by b)
$$;

-- Adds two histograms.
create or replace function jobforge.add_histograms(p_a integer[], p_b integer[]) returns integer[]
language sql immutable parallel safe as $$
  select array(
    select coalesce(h.a, 0) + coalesce(h.b, 0)
    from unnest(p_a, p_b) with ordinality h(a, b, bucket)
    order by h.bucket)
$$;

create or replace aggregate jobforge.sum_histograms(integer[]) (
  sfunc = jobforge.add_histograms, stype = integer[], initcond = '{}', combinefunc = jobforge.add_histograms,
    parallel = safe
);

-- Returns a percentile: the number of milliseconds that p_share of the runs do not exceed, accurate to a fifth; null
-- without runs. The view jobforge_usage runs it with the rights of its reader. Its body is SQL-standard: names are
-- bound when it is created, and not in the search path of the reader.
create or replace function jobforge.percentile(p_histogram integer[], p_share numeric) returns bigint
language sql immutable parallel safe
begin atomic
  select case when c.bucket = 1 then 0
    else round(power(2, (c.bucket - 2) / 4.0) + (power(2, (c.bucket - 1) / 4.0) - power(2, (c.bucket - 2) / 4.0))
      * (p_share * c.total - (c.upto - c.runs)) / c.runs)::bigint end
  from (
    select h.bucket, h.runs, sum(h.runs) over (order by h.bucket) as upto, sum(h.runs) over () as total
    from unnest(p_histogram) with ordinality h(runs, bucket)
  ) c
  where c.runs > 0 and c.upto >= p_share * c.total
  order by c.bucket
  limit 1;
end;
