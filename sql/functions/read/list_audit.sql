-- Returns the audit log, newest first: of one tenant, or with null of all tenants. Filters: action, entity_type,
-- entity_id, actor (whole, or the person or key in it), after (inclusive), before (exclusive), limit (50, at most
-- 1000), cursor (the id of the last row of the previous page). A page is bounded by bytes as well (page_bytes). JF002
-- for an unknown or malformed filter.
-- Who: the tenant itself; operators, with null. Locks nothing.
create or replace function :"api_schema".jobforge_list_audit(p_tenant_id uuid default null,
  p_filters jsonb default '{}')
returns setof :"api_schema".jobforge_audit_log
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_filters jsonb := coalesce(p_filters, '{}');
  v_row record;
  v_bytes bigint := 0;
  v_first boolean := true;
begin
  perform require_tenant_or_operator(p_tenant_id);
  perform require_filters(v_filters,
    array['action', 'entity_type', 'entity_id', 'actor', 'after', 'before', 'limit', 'cursor']);
  perform filter_string(v_filters, k) from unnest('{action,entity_type,entity_id,actor}'::text[]) k;
  for v_row in
    select a.at, a.tenant_id, a.actor, a.action, a.entity_type, a.entity_id, a.message, a.meta, a.id,
      label_of(a.tenant_id)
    from audit_log a
    where (p_tenant_id is null or a.tenant_id = p_tenant_id)
      and (v_filters ->> 'action' is null or a.action = v_filters ->> 'action')
      and (v_filters ->> 'entity_type' is null or a.entity_type = v_filters ->> 'entity_type')
      and (v_filters ->> 'entity_id' is null or a.entity_id = v_filters ->> 'entity_id')
      and (v_filters ->> 'actor' is null or a.actor = v_filters ->> 'actor'
        or starts_with(a.actor, (v_filters ->> 'actor') || ' ('))
      and (v_filters ->> 'after' is null or a.at >= filter_text(v_filters, 'after', 'time')::timestamptz)
      and (v_filters ->> 'before' is null or a.at < filter_text(v_filters, 'before', 'time')::timestamptz)
      and (v_filters ->> 'cursor' is null or a.id < filter_text(v_filters, 'cursor', 'row id')::bigint)
    order by a.id desc
    limit filter_limit(v_filters)
  loop
    v_bytes := v_bytes + octet_length(to_json(v_row)::text);
    -- The first row is returned whatever its size, so that the cursor goes on.
    exit when v_bytes > page_bytes() and not v_first;
    v_first := false;
    return next v_row;
  end loop;
end $$;
