-- Returns the jobs of a tenant (null: all tenants) that a filter selects, newest first. Only the rows of the page are
-- read whole. The page is bounded by bytes as well (page_bytes): it ends before the first job that would make it
-- larger, and no payload after that one is read.
create or replace function jobforge.read_page(p_tenant_id uuid, p_filter jobforge.job_filter)
returns setof jobforge.all_jobs
language plpgsql stable as $$
declare
  v_job jobforge.all_jobs;
  v_bytes bigint := 0;
begin
  for v_job in
    select j.*
    from jobforge.find_page(p_tenant_id, p_filter) p
    cross join lateral jobforge.job_at(p.id, p.finished_at) j
    order by j.id desc
  loop
    v_bytes := v_bytes + jobforge.job_bytes(v_job);
    exit when v_bytes > jobforge.page_bytes();
    return next v_job;
  end loop;
end $$;

-- Returns the length of a job's values whose length varies much, as text. Its JSON is longer, by about 1 kB.
create or replace function jobforge.job_bytes(p_job jobforge.all_jobs) returns bigint
language sql stable as $$
  select octet_length(p_job.payload::text)::bigint + coalesce(octet_length(p_job.progress::text), 0)
    + coalesce(octet_length(p_job.error::text), 0) + octet_length(p_job.tags::text)
    + octet_length(concat(p_job.subject, p_job.idempotency_key, p_job.dedupe_key, p_job.concurrency_key))
$$;

-- One page of the jobs of a tenant (null: all tenants) that a filter selects, newest first: their ids and finish times
-- (null: live). Every query of the archive follows an index that is narrow for the filter: see jobforge.archive_source.
create or replace function jobforge.find_page(p_tenant_id uuid, p_filter jobforge.job_filter)
returns table (id uuid, finished_at timestamptz)
language plpgsql stable
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_sources text[] := '{}';
  v_rows constant integer := p_filter.row_limit + p_filter.row_offset;
  v_few uuid[];
  v_pairs jsonb;
begin
  if (p_filter.statuses is null or p_filter.statuses && live_statuses())
    and num_nonnulls(p_filter.finished_after, p_filter.finished_before, p_filter.reasons) = 0
  then
    v_sources := live_sources(p_tenant_id, p_filter, v_rows);
  end if;
  if (p_filter.statuses is null or p_filter.statuses && finished_statuses()) and p_filter.phase is null then
    v_few := few_archived(p_tenant_id, p_filter);
    if v_few is null and p_filter.subject is null
      and num_nonnulls(p_filter.error_contains, p_filter.error_group, p_filter.schedule_id) = 0
      and p_filter.statuses is distinct from array['canceled']
      and (p_tenant_id is not null or p_filter.types is not null)
    then
      v_pairs := archived_pairs(p_tenant_id, p_filter.types);
    end if;
    v_sources := v_sources || archive_source(p_tenant_id, p_filter, v_few, v_pairs, v_rows);
  end if;
  if cardinality(v_sources) > 0 then
    return query execute format('select s.id, s.finished_at from (%s) s order by s.id desc limit %s offset %s',
      '(' || array_to_string(v_sources, ') union all (') || ')', p_filter.row_limit, p_filter.row_offset)
    using p_tenant_id, p_filter, v_few, v_pairs;
  end if;
end $$;

-- Queries for the ids of live jobs, with the parameters of find_page. Jobs are read in the order of ids, a tenant's
-- queued jobs by an index of its own. Its runs are found among all runs, which are few at any time.
create or replace function jobforge.live_sources(p_tenant_id uuid, p_filter jobforge.job_filter, p_rows integer)
returns text[]
language sql stable as $$
  select array_agg(format(
    'select j.id, null::timestamptz as finished_at from %s and %s and %s order by j.id desc limit %s',
    way.room, jobforge.owner_sql(p_tenant_id, p_filter), jobforge.filter_sql(p_filter, way.name), p_rows))
  from (values ('queued', 'queue', $x$queue j where j.state <> ''$x$), ('running', 'runs', 'runs j where true'))
    way(status, name, room)
  where p_filter.statuses is null or way.status = any (p_filter.statuses)
$$;

-- Returns the query for the ids and finish times of archived jobs, with the parameters of find_page. It depends on the
-- filter:
--   few candidates, by a rare tag or a short span of time: these, by id
--   a subject: the index on subject
--   an error's text or group, or canceled jobs: the index on these jobs, in the order of ids
--   one tenant, or types of few tenants: the index on type and tenant, for each pair. Only this index has the order of
--     tenant and id that the query asks for. With an equal tenant the order would be that of ids, which the planner
--     also gets by reading the newest jobs of all tenants
--   none of these: all jobs in the order of ids, which soon fill a page. Also for a tenant of very many types; its own
--   jobs are then many, too
create or replace function jobforge.archive_source(
  p_tenant_id uuid, p_filter jobforge.job_filter, p_few uuid[], p_pairs jsonb, p_rows integer
) returns text
language sql stable as $$
  select case
    when p_few is not null then format(
      'select j.id, j.finished_at from archive j where j.id = any ($3) and %s and %s order by j.id desc limit %s',
      jobforge.owner_sql(p_tenant_id, p_filter), jobforge.filter_sql(p_filter, 'archive'), p_rows)
    when p_filter.subject is not null then format(
      'with subject as materialized (select * from archive j where j.subject = ($2).subject and %s)
       select j.id, j.finished_at from subject j where %s order by j.id desc limit %s',
      jobforge.owner_sql(p_tenant_id, p_filter), jobforge.filter_sql(p_filter, 'archive'), p_rows)
    when p_pairs is null then format(
      'select j.id, j.finished_at from archive j where %s and %s order by j.id desc limit %s',
      jobforge.owner_sql(p_tenant_id, p_filter), jobforge.filter_sql(p_filter, 'archive'), p_rows)
    else format(
      'select x.id, x.finished_at
       from jsonb_to_recordset($4) p(type text, tenant_id uuid)
       cross join lateral (
         select j.id, j.finished_at from archive j
         where j.type = p.type and j.tenant_id between p.tenant_id and p.tenant_id and %s
         order by j.tenant_id desc, j.id desc
         limit %s
       ) x',
      jobforge.filter_sql(p_filter, 'archive'), p_rows)
  end
$$;

-- Returns the ids of archived jobs that the filter names, that have the tags, or that finished within a span of at most
-- an hour, which may last until now, if they are fewer than 2,000. Null when the filter has none of these conditions,
-- or there are more: then a scan of the newest jobs fills a page soon.
create or replace function jobforge.few_archived(p_tenant_id uuid, p_filter jobforge.job_filter) returns uuid[]
language plpgsql stable
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_indexscan = off
set enable_bitmapscan = on as $$
declare
  v_keys text[] := case when p_tenant_id is null then p_filter.tags else tag_keys(p_tenant_id, p_filter.tags) end;
  v_ids uuid[];
begin
  if p_filter.ids is not null then
    return p_filter.ids;
  elsif cardinality(p_filter.tags) > 0 then
    v_ids := array(
      select j.id from archive j
      where tag_keys(j.tenant_id, j.tags) @> v_keys
        and j.tags <> '{}'
      limit 2000);
  -- Not a difference of the two: Postgres 15 cannot subtract infinite times.
  elsif p_filter.finished_after >= coalesce(p_filter.finished_before, jobforge.now()) - interval '1 hour' then
    v_ids := array(
      select j.id from archive j
      where j.finished_at >= p_filter.finished_after and j.finished_at < coalesce(p_filter.finished_before, 'infinity')
      limit 2000);
  end if;
  return case when cardinality(v_ids) < 2000 then v_ids end;
end $$;

-- Returns the pairs of type and tenant in which finished jobs of a tenant, or of some types, may be: the types that a
-- tenant uses, or the tenants of each type. Null when there are more than 1,000 types of a tenant, which is more than
-- it may use by default, or more than 100 pairs for the types.
create or replace function jobforge.archived_pairs(p_tenant_id uuid, p_types text[]) returns jsonb
language plpgsql stable as $$
declare
  v_types text[] := array(select distinct t from unnest(p_types) t);
  v_type text;
  v_tenant uuid;
  v_pairs jsonb := '[]';
begin
  if p_tenant_id is not null then
    if p_types is null then
      v_types := jobforge.types_of(p_tenant_id, jobforge.default_max_types() + 1);
    end if;
    return (
      select coalesce(jsonb_agg(jsonb_build_object('type', t, 'tenant_id', p_tenant_id)), '[]')
      from unnest(v_types) t
      having count(*) <= jobforge.default_max_types());
  end if;
  foreach v_type in array v_types loop
    v_tenant := null;
    loop
      if v_tenant is null then
        select f.tenant_id into v_tenant from jobforge.archive f where f.type = v_type order by f.tenant_id limit 1;
      else
        select f.tenant_id into v_tenant
        from jobforge.archive f where f.type = v_type and f.tenant_id > v_tenant order by f.tenant_id limit 1;
      end if;
      exit when not found;
      if jsonb_array_length(v_pairs) >= 100 then
        return null;
      end if;
      v_pairs := v_pairs || jsonb_build_object('type', v_type, 'tenant_id', v_tenant);
    end loop;
  end loop;
  return v_pairs;
end $$;

-- Returns the conditions for the tenant and the types.
create or replace function jobforge.owner_sql(p_tenant_id uuid, p_filter jobforge.job_filter) returns text
language sql immutable as $$
  select case when p_tenant_id is null then 'true' else 'j.tenant_id = $1' end
    || case when p_filter.types is null then '' else ' and j.type = any (($2).types)' end
$$;

-- Returns the conditions of a filter on one table, as SQL with the parameters of jobforge.find_page. It consists of
-- fixed texts; every value is a parameter (a status is one of six words). Only conditions in use are written, so that
-- each list gets a plan of its own. Times also limit the id, which starts with the time of creation, at most a minute
-- after created_at.
create or replace function jobforge.filter_sql(p_filter jobforge.job_filter, p_room text) returns text
language sql immutable as $$
  select concat_ws(' and ',
    'true',
    jobforge.more_filter_sql(p_filter, p_room),
    case when p_filter.statuses is not null and p_room = 'archive'
      then format('j.status in (%s)', (select string_agg(quote_literal(s), ', ') from unnest(p_filter.statuses) s)) end,
    case when cardinality(p_filter.tags) > 0 then $x$j.tags @> ($2).tags and j.tags <> '{}'$x$ end,
    case when p_filter.subject is not null then 'j.subject = ($2).subject' end,
    case when p_filter.error_contains is not null
      then 'j.error is not null and strpos(lower(j.error::text), lower(($2).error_contains)) > 0' end,
    case when p_filter.error_group is not null
      then 'j.error is not null and error_group(j.error) = ($2).error_group' end,
    case when p_filter.created_after is not null
      then 'j.created_at >= ($2).created_after and j.id >= id_floor(($2).created_after)' end,
    case when p_filter.created_before is not null
      then $x$j.created_at < ($2).created_before
        and j.id < id_floor(($2).created_before + interval '1 minute')$x$ end,
    case when p_filter.finished_after is not null then 'j.finished_at >= ($2).finished_after' end,
    case when p_filter.finished_before is not null
      then $x$j.finished_at < ($2).finished_before
        and j.id < id_floor(($2).finished_before + interval '1 minute')$x$ end,
    case when p_filter.before_id is not null then 'j.id < ($2).before_id' end)
$$;

-- Returns the conditions that people search by; null if there are none. See jobforge.filter_sql.
create or replace function jobforge.more_filter_sql(p_filter jobforge.job_filter, p_room text) returns text
language sql immutable as $$
  select nullif(concat_ws(' and ',
    case when p_filter.phase is not null then
      case when p_room <> 'queue' then 'false'
        when p_filter.phase = 'due' then 'j.run_at <= ($2).at'
        when p_filter.phase = 'scheduled' then 'j.run_at > ($2).at and j.attempts = 0'
        else 'j.run_at > ($2).at and j.attempts > 0' end end,
    case when p_filter.ids is not null then 'j.id = any (($2).ids)' end,
    case when p_filter.after_id is not null then 'j.id > ($2).after_id' end,
    case when p_filter.id_from is not null then 'j.id >= ($2).id_from' end,
    case when p_filter.id_to is not null then 'j.id <= ($2).id_to' end,
    case when p_filter.worker is not null then
      case p_room when 'queue' then 'false' else 'j.worker_id = ($2).worker' end end,
    case when p_filter.schedule_id is not null then 'j.schedule_id = ($2).schedule_id' end,
    case when p_filter.concurrency_key is not null then 'j.concurrency_key = ($2).concurrency_key' end,
    case when p_filter.idempotency_key is not null then 'j.idempotency_key = ($2).idempotency_key' end,
    case when p_filter.trace_id is not null then
      '($2).trace_id in (substr(j.traceparent, 4, 32), trace_id(j.id, j.attempts))' end,
    case when p_filter.reasons is not null then
      case p_room when 'archive' then 'j.reason = any (($2).reasons)' else 'false' end end,
    case when p_filter.priority is not null then 'j.rank = -($2).priority' end,
    case when p_filter.attempts_min is not null then 'j.attempts >= ($2).attempts_min' end,
    case when p_filter.tags_any is not null then 'j.tags && ($2).tags_any' end,
    case when p_filter.payload is not null then
      'coalesce(j.payload, (select p.payload::jsonb from payloads p where p.job_id = j.id)) @> ($2).payload' end), '')
$$;

-- Returns the smallest UUIDv7 of a time. Jobs with a smaller id were created before it.
create or replace function jobforge.id_floor(p_at timestamptz) returns uuid
language sql immutable as $$
  select (
    lpad(to_hex(least(greatest(floor(extract(epoch from p_at) * 1000), 0), 281474976710655)::bigint), 12, '0')
    || '70008000000000000000')::uuid
$$;

-- Returns a job that is live (p_finished_at null) or finished at exactly that time, which is in one leaf of the
-- archive.
create or replace function jobforge.job_at(p_job_id uuid, p_finished_at timestamptz) returns setof jobforge.all_jobs
language sql stable as $$
  select * from jobforge.live_jobs j where j.id = p_job_id and p_finished_at is null
  union all
  select * from jobforge.ended_jobs j where j.id = p_job_id and j.finished_at = p_finished_at
$$;
