-- A page of finished jobs, the last one first: those before p_before and after p_after in the order of their end, each
-- null for no bound. The index on finished_at finds spans of time, not an order. So this looks at a span that grows
-- until it fills a page, holds search_depth() jobs or reaches the oldest job.
create or replace function jobforge.page_by_end(
  p_tenant_id uuid, p_filter jobforge.job_filter, p_before jobforge.time_cursor, p_after jobforge.time_cursor
) returns jobforge.job_page
language plpgsql stable
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_page job_page;
  -- The clock of another server may be a little ahead.
  v_to timestamptz := coalesce((p_before).at, jobforge.now() + interval '1 minute');
  v_first timestamptz := greatest((p_after).at, oldest_end(v_to));
  v_from timestamptz := v_to - case when (p_before).at is null then interval '61 seconds' else interval '1 second' end;
  v_is_full boolean := false;
begin
  perform require_order(p_filter, 'finished_at', finished_statuses());
  loop
    if count_ends(p_filter, v_from, v_to) >= search_depth() then
      v_from := shortened(p_filter, v_from, v_to);
      v_is_full := true;
    end if;
    v_page := ends_between(p_tenant_id, p_filter, p_before, p_after, v_from, v_to);
    exit when v_is_full or cardinality(v_page.ids) >= p_filter.row_limit or v_from < v_first;
    v_from := v_to - (v_to - v_from) * 4;
  end loop;
  if cardinality(v_page.ids) >= p_filter.row_limit then
    v_page.next := write_cursor(v_page.ends[p_filter.row_limit], v_page.ids[p_filter.row_limit]);
  elsif v_is_full and v_from >= v_first then
    -- Smaller than every id, so the next page begins before this time.
    v_page.next := write_cursor(v_from, '00000000-0000-0000-0000-000000000000');
    v_page.searched_after := v_from;
  end if;
  return v_page;
end $$;

-- Returns a time before which no archived job finished. Leaves are dropped when their retention has ended.
create or replace function jobforge.oldest_end(p_to timestamptz) returns timestamptz
language sql stable as $$
  select greatest(p_to - interval '400 days', min(l.from_at)) from jobforge.leaves l where l.emptied_at is null
$$;

-- Counts the jobs of a filter's statuses that finished within a span, up to search_depth().
create or replace function jobforge.count_ends(p_filter jobforge.job_filter, p_from timestamptz, p_to timestamptz)
returns integer
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_of_status job_filter;
  v_count integer;
begin
  v_of_status.statuses := p_filter.statuses;
  execute format('select count(*) from (
    select from archive j where j.finished_at >= $1 and j.finished_at <= $2 and %s limit %s) x',
    filter_sql(v_of_status, 'archive'), search_depth())
  into v_count using p_from, p_to;
  return v_count;
end $$;

-- Returns the start of a part of a span that ends with the span and holds about search_depth() jobs.
create or replace function jobforge.shortened(p_filter jobforge.job_filter, p_from timestamptz, p_to timestamptz)
returns timestamptz
language plpgsql stable as $$
declare
  v_long timestamptz := p_from;
  v_short timestamptz := p_to;
  v_middle timestamptz;
begin
  for i in 1 .. 12 loop
    v_middle := v_short - (v_short - v_long) / 2;
    if jobforge.count_ends(p_filter, v_middle, p_to) >= jobforge.search_depth() then
      v_long := v_middle;
    else
      v_short := v_middle;
    end if;
  end loop;
  return v_long;
end $$;

-- Returns the last jobs of a filter that finished within a span.
create or replace function jobforge.ends_between(
  p_tenant_id uuid, p_filter jobforge.job_filter, p_before jobforge.time_cursor, p_after jobforge.time_cursor,
  p_from timestamptz, p_to timestamptz
) returns jobforge.job_page
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_page job_page;
begin
  execute format($q$
    select array_agg(x.id order by x.finished_at desc, x.id desc),
      array_agg(x.finished_at order by x.finished_at desc, x.id desc)
    from (
      select j.id, j.finished_at from archive j
      where j.finished_at >= $5 and j.finished_at <= $6 and %s and %s
        and (($3).id is null or (j.finished_at, j.id) < (($3).at, ($3).id))
        and (($4).id is null or (j.finished_at, j.id) > (($4).at, ($4).id))
      order by j.finished_at desc, j.id desc
      limit %s
    ) x$q$, owner_sql(p_tenant_id, p_filter), filter_sql(p_filter, 'archive'), p_filter.row_limit)
  into v_page.ids, v_page.ends using p_tenant_id, p_filter, p_before, p_after, p_from, p_to;
  v_page.ids := coalesce(v_page.ids, '{}');
  return v_page;
end $$;
