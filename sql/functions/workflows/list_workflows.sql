-- Returns a page of a tenant's workflows, the newest first.
--   p_filters {name, status, subject, tags, created_after, created_before, limit (50, at most 1000), cursor: the id of
--             the last one of the page before}
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_workflows(p_tenant_id uuid, p_filters jsonb default '{}')
returns setof :"api_schema".jobforge_workflows
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
begin
  perform require_tenant(p_tenant_id);
  return query select w.* from page_of_workflows(p_tenant_id, read_page_filters(p_filters, workflow_filters())) w;
end $$;

-- Returns the names of the filters of workflows.
create or replace function jobforge.workflow_filters() returns text[]
language sql immutable parallel safe as $$
  select array['name', 'status', 'subject', 'tags', 'created_after', 'created_before']
$$;

-- Returns a page of a tenant's workflows. p_filter has been checked.
create or replace function jobforge.page_of_workflows(p_tenant_id uuid, p_filter jsonb)
returns setof jobforge.all_workflows
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_filter jsonb := p_filter;
  v_after timestamptz := (v_filter ->> 'created_after')::timestamptz;
  v_before timestamptz := (v_filter ->> 'created_before')::timestamptz;
  v_cursor uuid := v_filter ->> 'cursor';
  v_statuses text[] := words_of(v_filter -> 'status');
  v_names text[] := words_of(v_filter -> 'name');
  v_tags text[] := words_of(v_filter -> 'tags');
begin
  return query
  select w.*
  from all_workflows w
  where w.tenant_id = p_tenant_id
    and (v_cursor is null or w.id < v_cursor)
    and (v_names is null or w.name = any (v_names))
    and (v_statuses is null or w.status = any (v_statuses))
    and (v_filter ->> 'subject' is null or w.subject = v_filter ->> 'subject')
    and (v_tags is null or w.tags @> v_tags)
    and (v_after is null or w.created_at >= v_after)
    and (v_before is null or w.created_at < v_before)
  order by w.tenant_id desc, w.id desc
  limit (v_filter ->> 'limit')::integer;
end $$;

-- Returns a page of the steps of a workflow, in the order of their creation.
--   p_filters {status, group: the path of a group or map, kind, limit (50, at most 1000), cursor: the id of the last
--             one of the page before}
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_steps(
  p_workflow_id uuid, p_tenant_id uuid, p_filters jsonb default '{}'
) returns setof :"api_schema".jobforge_steps
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_filter jsonb := read_page_filters(p_filters, array['status', 'group', 'kind']);
  v_cursor uuid := v_filter ->> 'cursor';
  v_statuses text[] := words_of(v_filter -> 'status');
  v_kinds text[] := words_of(v_filter -> 'kind');
  v_group uuid;
begin
  perform require_tenant(p_tenant_id);
  if v_filter ->> 'group' is not null then
    v_group := coalesce(find_step(p_workflow_id, v_filter ->> 'group'), '00000000-0000-0000-0000-000000000000'::uuid);
  end if;
  return query
  select s.*
  from all_steps s
  where s.workflow_id = p_workflow_id
    and s.tenant_id = p_tenant_id
    and (v_cursor is null or s.id > v_cursor)
    and (v_group is null or s.group_id = v_group)
    and (v_kinds is null or s.kind = any (v_kinds))
    and (v_statuses is null or s.status = any (v_statuses))
  order by s.workflow_id, s.id
  limit (v_filter ->> 'limit')::integer;
end $$;

-- Returns the filters of a page with its limit. Raises JF002 for an unknown key or a value of the wrong kind.
create or replace function jobforge.read_page_filters(p_filters jsonb, p_known text[]) returns jsonb
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_bad text;
begin
  perform require_printable(v_filters, 'filters');
  if jsonb_typeof(v_filters) <> 'object' then
    perform fail_argument('filters', 'filters must be a JSON object');
  end if;
  select k into v_bad from jsonb_object_keys(v_filters - (p_known || array['limit', 'cursor'])) k limit 1;
  if found then
    perform fail_argument('filters.' || v_bad, 'unknown filter ' || v_bad,
      'Known filters: ' || array_to_string(p_known || array['limit', 'cursor'], ', ') || '.');
  end if;
  select e.key into v_bad
  from jsonb_each(v_filters) e
  where case
    when e.key = 'limit' then jsonb_typeof(e.value) <> 'number' or e.value::text !~ '^[0-9]{1,4}$'
      or (e.value)::integer not between 1 and 1000
    when e.key = 'cursor' then uuid_or_null(e.value #>> '{}') is null
    when e.key in ('created_after', 'created_before') then time_or_null(e.value #>> '{}') is null
    when jsonb_typeof(e.value) = 'array' then jsonb_path_exists(e.value, 'strict $[*] ? (@.type() != "string")')
    else jsonb_typeof(e.value) <> 'string'
  end
  limit 1;
  if found then
    perform fail_argument('filters.' || v_bad, format('the filter %s has an invalid value', v_bad));
  end if;
  return jsonb_build_object('limit', 50) || v_filters;
end $$;

-- Returns a filter that is a text or an array of texts as an array; null for null.
create or replace function jobforge.words_of(p_filter jsonb) returns text[]
language sql immutable as $$
  select case jsonb_typeof(p_filter)
    when 'string' then array[p_filter #>> '{}']
    when 'array' then array(select jsonb_array_elements_text(p_filter))
  end
$$;

-- Returns the step of a workflow with a path such as extract, sub/send or each[17]; null if there is none. Goes from
-- group to group by name.
create or replace function jobforge.find_step(p_workflow_id uuid, p_path text) returns uuid
language plpgsql stable
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_step uuid := p_workflow_id;
  v_part text;
  v_name text;
  v_index text;
begin
  foreach v_part in array string_to_array(p_path, '/') loop
    v_name := regexp_replace(v_part, '\[[0-9]{1,9}\]$', '');
    v_index := substring(v_part from '\[([0-9]{1,9})\]$');
    v_step := (select s.id from steps s where s.group_id = v_step and s.name = v_name);
    if v_index is not null then
      v_step := (select s.id from steps s where s.group_id = v_step and s.name is null and s.ord = v_index::integer);
    end if;
  end loop;
  return v_step;
end $$;
