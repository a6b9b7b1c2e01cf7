-- Raises JF002 if a filter names a status that an order does not have.
create or replace function jobforge.require_order(p_filter jobforge.job_filter, p_order text, p_statuses text[])
returns void
language plpgsql immutable as $$
begin
  if not p_filter.statuses <@ p_statuses then
    perform jobforge.fail_argument('order', format('the order %s is for jobs that are %s', p_order,
      jobforge.one_of(p_statuses)), 'Leave status out, or use the order created.');
  end if;
end $$;

-- A page of queued jobs, oldest first.
create or replace function jobforge.page_of_oldest(p_tenant_id uuid, p_filter jobforge.job_filter, p_after uuid)
returns jobforge.job_page
language plpgsql stable
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_page job_page;
  v_top uuid;
  v_query text := $q$select j.id from queue j where j.state <> '' and %s and %s and ($3::uuid is null or j.id > $3)
    and ($4::uuid is null or j.id <= $4) order by j.id offset %s limit %s$q$;
begin
  perform require_order(p_filter, 'oldest', array['queued']);
  if needs_search(p_filter) then
    execute format(v_query, owner_sql(p_tenant_id, p_filter), 'true', search_depth(), 1)
    into v_top using p_tenant_id, p_filter, p_after, null::uuid;
  end if;
  execute format('select array(%s)',
    format(v_query, owner_sql(p_tenant_id, p_filter), filter_sql(p_filter, 'queue'), 0, p_filter.row_limit))
  into v_page.ids using p_tenant_id, p_filter, p_after, v_top;
  v_page.ends := array_fill(null::timestamptz, array[cardinality(v_page.ids)]);
  if cardinality(v_page.ids) >= p_filter.row_limit then
    v_page.next := v_page.ids[p_filter.row_limit];
  elsif v_top is not null then
    v_page.next := v_top;
    v_page.searched_after := id_time(v_top);
  end if;
  return v_page;
end $$;

-- A page of queued jobs that are due later, the next one first. It merges the waiting jobs of each type, which have an
-- index, up to 1,000 types.
create or replace function jobforge.page_by_due_time(
  p_tenant_id uuid, p_filter jobforge.job_filter, p_after jobforge.time_cursor
) returns jobforge.job_page
language plpgsql stable
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_types text[] := coalesce(p_filter.types,
    case when p_tenant_id is null then types_with('waiting', 1000) else types_of(p_tenant_id, 1000) end);
  v_page job_page;
  v_last timestamptz;
begin
  perform require_order(p_filter, 'run_at', array['queued']);
  execute format($q$
    select array_agg(x.id order by x.run_at, x.id), max(x.run_at)
    from (
      select x.id, x.run_at
      from unnest($3::text[]) t
      cross join lateral (
        select j.id, j.run_at from queue j
        where j.state = 'waiting' and j.type = t and %s and %s and j.run_at > ($2).at
          and (($4).at is null or (j.run_at >= ($4).at and (j.run_at, j.id) > (($4).at, ($4).id)))
        order by j.run_at, j.id
        limit %s
      ) x
      order by x.run_at, x.id
      limit %s
    ) x$q$,
    case when p_tenant_id is null then 'true' else 'j.tenant_id = $1' end, filter_sql(p_filter, 'queue'),
    p_filter.row_limit, p_filter.row_limit)
  into v_page.ids, v_last using p_tenant_id, p_filter, v_types, p_after;
  v_page.ids := coalesce(v_page.ids, '{}');
  v_page.ends := array_fill(null::timestamptz, array[cardinality(v_page.ids)]);
  if cardinality(v_page.ids) >= p_filter.row_limit then
    v_page.next := write_cursor(v_last, v_page.ids[p_filter.row_limit]);
  end if;
  return v_page;
end $$;

-- A page of running jobs, the one that has run longest first. Runs are few at any time, so all of them are looked at.
create or replace function jobforge.page_by_start(
  p_tenant_id uuid, p_filter jobforge.job_filter, p_after jobforge.time_cursor
) returns jobforge.job_page
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_page job_page;
  v_last timestamptz;
begin
  perform require_order(p_filter, 'started_at', array['running']);
  execute format($q$
    select array_agg(x.id order by x.started_at, x.id), max(x.started_at)
    from (
      select j.id, j.started_at from runs j
      where %s and %s and (($3).at is null or (j.started_at, j.id) > (($3).at, ($3).id))
      order by j.started_at, j.id
      limit %s
    ) x$q$, owner_sql(p_tenant_id, p_filter), filter_sql(p_filter, 'runs'), p_filter.row_limit)
  into v_page.ids, v_last using p_tenant_id, p_filter, p_after;
  v_page.ids := coalesce(v_page.ids, '{}');
  v_page.ends := array_fill(null::timestamptz, array[cardinality(v_page.ids)]);
  if cardinality(v_page.ids) >= p_filter.row_limit then
    v_page.next := write_cursor(v_last, v_page.ids[p_filter.row_limit]);
  end if;
  return v_page;
end $$;
