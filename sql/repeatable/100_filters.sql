-- The texts of a filter that may be one text or an array of texts. JF002 for anything else.
create or replace function jobforge.filter_texts(p_filters jsonb, p_key text) returns text[]
language plpgsql immutable as $$
declare
  v_value jsonb := p_filters -> p_key;
begin
  if v_value is null or v_value = 'null' then
    return null;
  elsif jsonb_typeof(v_value) = 'string' then
    return array[v_value #>> '{}'];
  elsif jsonb_typeof(v_value) = 'array' and not jsonb_path_exists(v_value, 'strict $[*] ? (@.type() != "string")') then
    return array(select jsonb_array_elements_text(v_value));
  end if;
  perform jobforge.fail_argument(p_key, format('filter %s must be a text or an array of texts', p_key));
end $$;

-- A filter's time, number or id. JF002 when it is none.
create or replace function jobforge.filter_text(p_filters jsonb, p_key text, p_kind text) returns text
language plpgsql stable as $$
declare
  v_text text := p_filters ->> p_key;
begin
  case p_kind
    when 'time' then perform v_text::timestamptz;
    when 'number' then perform v_text::integer;
    when 'id' then perform v_text::uuid;
  end case;
  return v_text;
exception when data_exception then
  perform jobforge.fail_argument(p_key, format('filter %s must be a %s', p_key, p_kind));
end $$;

-- Reads and checks the filters of a list. An unknown key is an error, so a typing mistake never widens a list (or a bulk
-- cancel). A limit over 1000 gives 1000.
create or replace function jobforge.read_filters(p_filters jsonb, p_more text[] default '{}') returns jobforge.job_filter
language plpgsql stable as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_known constant text[] := p_more || array[
    'status', 'type', 'tags', 'subject', 'error_contains', 'created_after', 'created_before', 'finished_after',
    'finished_before', 'limit', 'offset', 'cursor'];
  v_unknown text;
  v jobforge.job_filter;
begin
  if jsonb_typeof(v_filters) <> 'object' then
    perform jobforge.fail_argument('filters', 'filters must be a JSON object');
  end if;
  select k into v_unknown from jsonb_object_keys(v_filters) k where k <> all (v_known) limit 1;
  if found then
    perform jobforge.fail_argument(v_unknown, format('unknown filter %s', v_unknown),
      'Known filters: ' || array_to_string(v_known, ', ') || '.');
  end if;
  v.statuses := jobforge.filter_texts(v_filters, 'status');
  v.types := jobforge.filter_texts(v_filters, 'type');
  v.tags := jobforge.filter_texts(v_filters, 'tags');
  v.subject := v_filters ->> 'subject';
  v.error_contains := v_filters ->> 'error_contains';
  v.created_after := jobforge.filter_text(v_filters, 'created_after', 'time');
  v.created_before := jobforge.filter_text(v_filters, 'created_before', 'time');
  v.finished_after := jobforge.filter_text(v_filters, 'finished_after', 'time');
  v.finished_before := jobforge.filter_text(v_filters, 'finished_before', 'time');
  v.before_id := jobforge.filter_text(v_filters, 'cursor', 'id');
  v.row_limit := least(coalesce(jobforge.filter_text(v_filters, 'limit', 'number')::integer, 50), 1000);
  v.row_offset := coalesce(jobforge.filter_text(v_filters, 'offset', 'number')::integer, 0);
  if not v.statuses <@ array['queued', 'running', 'succeeded', 'failed', 'dead', 'canceled'] then
    perform jobforge.fail_argument('status', 'status must be of queued, running, succeeded, failed, dead, canceled');
  elsif v.row_limit < 1 then
    perform jobforge.fail_argument('limit', 'limit must be at least 1');
  elsif v.row_offset not between 0 and 100000 then
    perform jobforge.fail_argument('offset', 'offset must be between 0 and 100000', 'Use cursor to go further.');
  end if;
  return v;
end $$;

-- The smallest UUIDv7 of a time: ids below it are of jobs created before.
create or replace function jobforge.id_floor(p_at timestamptz) returns uuid
language sql immutable as $$
  select (
    lpad(to_hex(least(greatest(floor(extract(epoch from p_at) * 1000), 0), 281474976710655)::bigint), 12, '0')
    || '70008000000000000000')::uuid
$$;

-- The conditions of a filter on one table, as SQL over the parameters of jobforge.find_page: fixed texts only, every value
-- is bound (a status is one of six words). Only the conditions in use are written, so that each list gets the plan it
-- deserves. Times also bound the id, which begins with the time of creation, no later than a minute after created_at.
create or replace function jobforge.filter_sql(p_filter jobforge.job_filter, p_live boolean) returns text
language sql immutable as $$
  select concat_ws(' and ',
    'true',
    case when p_filter.statuses is not null then format(
      case when p_live then $x$case j.state when 'running' then 'running' else 'queued' end in (%s)$x$ else 'j.status in (%s)' end,
      (select string_agg(quote_literal(s), ', ') from unnest(p_filter.statuses) s))
    end,
    case when cardinality(p_filter.tags) > 0 then $x$j.tags @> ($2).tags and j.tags <> '{}'$x$ end,
    case when p_filter.subject is not null then 'j.subject = ($2).subject' end,
    case when p_filter.error_contains is not null
      then 'j.error is not null and strpos(lower(j.error::text), lower(($2).error_contains)) > 0' end,
    case when p_filter.created_after is not null
      then 'j.created_at >= ($2).created_after and j.id >= id_floor(($2).created_after)' end,
    case when p_filter.created_before is not null
      then $x$j.created_at < ($2).created_before and j.id < id_floor(($2).created_before + interval '1 minute')$x$ end,
    case when p_filter.finished_after is not null then 'j.finished_at >= ($2).finished_after' end,
    case when p_filter.finished_before is not null
      then $x$j.finished_at < ($2).finished_before and j.id < id_floor(($2).finished_before + interval '1 minute')$x$ end,
    case when p_filter.before_id is not null then 'j.id < ($2).before_id' end)
$$;

-- The page of jobs of a tenant (null: of all) that a filter means, newest first, as ids and times of ending (null: live).
-- Found in index order: in the live table, and in the archive per tenant and type, which is how it is indexed.
create or replace function jobforge.find_page(p_tenant_id uuid, p_filter jobforge.job_filter)
returns table (id uuid, finished_at timestamptz)
language plpgsql stable
set search_path = jobforge, pg_temp
set jit = off as $$
declare
  v_sources text[] := '{}';
  v_rows constant integer := p_filter.row_limit + p_filter.row_offset;
  v_ended constant boolean := p_filter.statuses is null
    or p_filter.statuses && array['succeeded', 'failed', 'dead', 'canceled'];
  v_live constant boolean := (p_filter.statuses is null or p_filter.statuses && array['queued', 'running'])
    and p_filter.finished_after is null and p_filter.finished_before is null;
  v_unfiltered constant boolean := p_tenant_id is null and p_filter.statuses is null and p_filter.types is null
    and p_filter.tags is null and p_filter.subject is null and p_filter.error_contains is null;
begin
  if v_live then
    v_sources := array[format(
      'select j.id, null::timestamptz as finished_at from jobs j where %s and %s and %s order by j.id desc limit %s',
      case when p_tenant_id is null then 'true' else 'j.tenant_id = $1' end,
      case when p_filter.types is null then 'true' else 'j.type = any (($2).types)' end,
      filter_sql(p_filter, true), v_rows)];
  end if;
  if v_ended and v_unfiltered then
    v_sources := v_sources || format(
      'select j.id, j.finished_at from archive j where %s order by j.id desc limit %s', filter_sql(p_filter, false), v_rows);
  elsif v_ended then
    v_sources := v_sources || format(
      'select x.id, x.finished_at
       from archived_pairs($1, ($2).types) p
       cross join lateral (
         select j.id, j.finished_at from archive j
         where j.tenant_id = p.tenant_id and j.type = p.type and %s
         order by j.id desc
         limit %s
       ) x',
      filter_sql(p_filter, false), v_rows);
  end if;
  if cardinality(v_sources) > 0 then
    return query execute format('select s.id, s.finished_at from (%s) s order by s.id desc limit %s offset %s',
      '(' || array_to_string(v_sources, ') union all (') || ')', p_filter.row_limit, p_filter.row_offset)
    using p_tenant_id, p_filter;
  end if;
end $$;

-- The pairs of tenant and type that have ended jobs, for one tenant or all, for some types or all: given when both are
-- named, else found by hopping through the index.
create or replace function jobforge.archived_pairs(p_tenant_id uuid, p_types text[])
returns table (tenant_id uuid, type text)
language plpgsql stable
rows 10 as $$
begin
  if p_tenant_id is not null and p_types is not null then
    return query select distinct p_tenant_id, t.type from unnest(p_types) t(type);
    return;
  end if;
  return query
  with recursive hop as (
    (select f.tenant_id, f.type from jobforge.archive f
     where p_tenant_id is null or f.tenant_id = p_tenant_id
     order by f.tenant_id, f.type
     limit 1)
    union all
    select x.tenant_id, x.type
    from hop h
    cross join lateral (
      select f.tenant_id, f.type from jobforge.archive f
      where (f.tenant_id, f.type) > (h.tenant_id, h.type)
      order by f.tenant_id, f.type
      limit 1
    ) x
    where p_tenant_id is null or x.tenant_id = p_tenant_id
  )
  select h.tenant_id, h.type from hop h where p_types is null or h.type = any (p_types);
end $$;

-- The jobs of a tenant (null: of all) that a filter means, newest first. Only the rows of the page are read whole.
create or replace function jobforge.list(p_tenant_id uuid, p_filter jobforge.job_filter) returns setof jobforge.all_jobs
language sql stable as $$
  select j.*
  from jobforge.find_page(p_tenant_id, p_filter) p
  cross join lateral jobforge.job_at(p.id, p.finished_at) j
  order by j.id desc
$$;

-- A job that is live (p_finished_at null) or ended at that very time: one leaf of the archive is looked at.
create or replace function jobforge.job_at(p_job_id uuid, p_finished_at timestamptz) returns setof jobforge.all_jobs
language sql stable as $$
  select * from jobforge.live_jobs j where j.id = p_job_id and p_finished_at is null
  union all
  select * from jobforge.ended_jobs j where j.id = p_job_id and j.finished_at = p_finished_at
$$;
