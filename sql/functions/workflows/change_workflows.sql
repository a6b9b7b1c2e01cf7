-- Cancels up to p_limit workflows of a tenant that run and that a filter selects, the newest first: see
-- jobforge_cancel_workflow. Returns {matched, changed}. Fewer change than match if another transaction holds some of
-- them, or if they were canceled before.
--   p_filters those of jobforge_list_workflows without limit and cursor; at least one
-- Who: the tenant itself, operators. Never waits.
create or replace function :"api_schema".jobforge_cancel_workflows(
  p_tenant_id uuid, p_filters jsonb, p_limit integer default 100
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_found uuid[];
  v_locked uuid[];
  v_id uuid;
begin
  perform require_tenant(p_tenant_id);
  v_found := find_workflows(p_tenant_id, p_filters, 'running', p_limit);
  v_locked := array(
    select s.id
    from steps s
    join workflows w on w.id = s.id
    where s.id = any (v_found) and s.decided_at is null and w.cancel_at is null
    order by s.id
    for update of s skip locked);
  foreach v_id in array v_locked loop
    perform cancel_locked(v_id, p_tenant_id, null, v_now);
  end loop;
  return audit_workflows(p_tenant_id, 'WORKFLOWS_CANCELED', p_filters, cardinality(v_found), cardinality(v_locked),
    v_now);
end $$;

-- Retries up to p_limit workflows of a tenant that have failed and that a filter selects, the newest first: see
-- jobforge_retry_workflow. Returns {matched, changed}. Fewer change than match if another transaction holds some of
-- them, or if they have nothing to retry.
--   p_filters those of jobforge_list_workflows without limit and cursor; at least one
-- Who: the tenant itself, operators. Waits for transactions that hold one of the steps to run again.
create or replace function :"api_schema".jobforge_retry_workflows(
  p_tenant_id uuid, p_filters jsonb, p_limit integer default 100
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_found uuid[];
  v_locked uuid[];
  v_id uuid;
  v_changed integer := 0;
begin
  perform require_tenant(p_tenant_id);
  v_found := find_workflows(p_tenant_id, p_filters, 'failed', p_limit);
  v_locked := array(select s.id from steps s where s.id = any (v_found) order by s.id for update skip locked);
  foreach v_id in array v_locked loop
    begin
      perform retry_locked(v_id, p_tenant_id, null, false, false, v_now);
      v_changed := v_changed + 1;
    exception when sqlstate 'JF012' then
      null;
    end;
  end loop;
  return audit_workflows(p_tenant_id, 'WORKFLOWS_RETRIED', p_filters, cardinality(v_found), v_changed, v_now);
end $$;

-- Returns the workflows of a tenant with a status that a filter selects, the newest first. JF002 without a filter.
create or replace function jobforge.find_workflows(
  p_tenant_id uuid, p_filters jsonb, p_status text, p_limit integer
) returns uuid[]
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_filter jsonb := jsonb_strip_nulls(read_page_filters(p_filters, workflow_filters()) - 'limit');
  v_asked text[];
begin
  if v_filter = '{}' then
    perform fail_argument('filters', 'a change of many workflows needs a filter', 'Name at least a status or a name.');
  elsif p_filters ?| array['limit', 'cursor'] then
    perform fail_argument('filters', 'limit and cursor are for lists', 'Use p_limit and call again.');
  elsif p_limit is null or p_limit not between 1 and 1000 then
    perform fail_argument('limit', 'limit must be between 1 and 1000');
  end if;
  v_asked := words_of(v_filter -> 'status');
  if v_asked is not null and p_status <> all (v_asked) then
    return '{}';
  end if;
  return array(
    select w.id
    from page_of_workflows(p_tenant_id,
      v_filter || jsonb_build_object('status', p_status, 'limit', p_limit)) w);
end $$;

-- Records a change of many workflows in the audit log. Returns {matched, changed}.
create or replace function jobforge.audit_workflows(
  p_tenant_id uuid, p_action text, p_filters jsonb, p_matched integer, p_changed integer, p_now timestamptz
) returns jsonb
language plpgsql as $$
declare
  v_result jsonb := jsonb_build_object('matched', p_matched, 'changed', p_changed);
begin
  insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (p_now, p_tenant_id, jobforge.actor(), p_action, 'workflows', p_tenant_id::text,
    v_result || jsonb_build_object('filters', p_filters));
  return v_result;
end $$;
