-- Returns how many jobs a call looks at for filters that have no index.
create or replace function jobforge.search_depth() returns integer
language sql immutable as $$ select 10000 $$;

-- Returns how many jobs a call looks at. A page of several types or tenants is merged from as many rows of each of
-- them, so it is fewer for many of them.
create or replace function jobforge.search_depth_of(p_tenant_id uuid, p_filter jobforge.job_filter) returns integer
language sql stable as $$
  select least(jobforge.search_depth(),
    20 * jobforge.search_depth() / greatest(1, coalesce(jsonb_array_length(p.pairs), 0)))
  from (
    select case when p_tenant_id is not null or p_filter.types is not null
      then jobforge.archived_pairs(p_tenant_id, p_filter.types) end as pairs
  ) p
$$;

-- Returns whether a filter has a condition that no index finds.
create or replace function jobforge.needs_search(p_filter jobforge.job_filter) returns boolean
language sql immutable as $$
  select num_nonnulls(p_filter.phase, p_filter.worker, p_filter.concurrency_key, p_filter.idempotency_key,
    p_filter.trace_id, p_filter.reasons, p_filter.priority, p_filter.attempts_min, p_filter.tags_any, p_filter.payload,
    p_filter.error_contains, p_filter.error_group) > 0
    and num_nonnulls(p_filter.ids, p_filter.subject, p_filter.schedule_id) = 0
$$;

-- Returns a filter without the conditions that no index finds.
create or replace function jobforge.cheap_part(p_filter jobforge.job_filter) returns jobforge.job_filter
language plpgsql immutable as $$
begin
  if p_filter.phase is not null then
    p_filter.statuses := array['queued'];
  end if;
  p_filter.phase := null;
  p_filter.worker := null;
  p_filter.concurrency_key := null;
  p_filter.idempotency_key := null;
  p_filter.trace_id := null;
  p_filter.reasons := null;
  p_filter.priority := null;
  p_filter.attempts_min := null;
  p_filter.tags_any := null;
  p_filter.payload := null;
  p_filter.error_contains := null;
  p_filter.error_group := null;
  return p_filter;
end $$;

-- Returns the time in a UUIDv7: when its job was created.
create or replace function jobforge.id_time(p_id uuid) returns timestamptz
language sql immutable as $$
  select to_timestamp(('x' || lpad(left(replace(p_id::text, '-', ''), 12), 16, '0'))::bit(64)::bigint / 1000.0)
$$;

-- A page in the order of creation, newest first. A costly filter looks at the newest jobs that its other conditions
-- select.
create or replace function jobforge.page_by_id(p_tenant_id uuid, p_filter jobforge.job_filter, p_before uuid)
returns jobforge.job_page
language plpgsql stable as $$
declare
  v_filter jobforge.job_filter := p_filter;
  v_floor uuid;
  v_page jobforge.job_page;
begin
  v_filter.before_id := p_before;
  if jobforge.needs_search(p_filter) then
    v_filter := jobforge.cheap_part(v_filter);
    v_filter.row_limit := 1;
    v_filter.row_offset := jobforge.search_depth_of(p_tenant_id, v_filter);
    select p.id into v_floor from jobforge.find_page(p_tenant_id, v_filter) p;
    v_filter := p_filter;
    v_filter.before_id := p_before;
    if v_floor > v_filter.id_from or v_filter.id_from is null then
      v_filter.id_from := coalesce(v_floor, v_filter.id_from);
    end if;
  end if;
  select array_agg(p.id order by p.id desc), array_agg(p.finished_at order by p.id desc) into v_page.ids, v_page.ends
  from jobforge.find_page(p_tenant_id, v_filter) p;
  if cardinality(v_page.ids) >= p_filter.row_limit then
    v_page.next := v_page.ids[p_filter.row_limit];
  elsif v_floor is not null then
    v_page.next := v_floor;
    v_page.searched_after := jobforge.id_time(v_floor);
  end if;
  v_page.ids := coalesce(v_page.ids, '{}');
  return v_page;
end $$;
