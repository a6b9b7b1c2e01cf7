-- Sets the policy of a type; with '*' that of every type without its own policy. Only the given keys change. preset
-- (jobforge, harmonyk, atlas, processing) fills in the retry numbers first. Returns the policy.
-- Who: operators. JF002 for an unknown key or a value out of range.
create or replace function :"api_schema".jobforge_set_policy(p_type text, p_policy jsonb) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_known constant text[] := array[
    'preset', 'base_ms', 'cap_ms', 'factor', 'jitter', 'max_attempts', 'timeout_ms', 'lease_ms', 'audit_action',
    'keep_history', 'retention_days', 'max_priority', 'redact'];
  v_unknown text;
  v_policy policies;
  v_constraint text;
  v_column text;
begin
  perform require_operator();
  perform require_printable(p_policy, 'policy');
  if p_type is null or btrim(p_type) = '' or length(p_type) > 200 then
    perform fail_argument('type', 'type must have 1 to 200 characters');
  elsif p_policy is null or jsonb_typeof(p_policy) <> 'object' then
    perform fail_argument('policy', 'policy must be a JSON object');
  elsif p_policy ? 'preset' and preset(p_policy ->> 'preset') is null then
    perform fail_argument('preset', 'preset must be ' || one_of(preset_names()));
  end if;
  select k into v_unknown from jsonb_object_keys(p_policy) k where k <> all (v_known) limit 1;
  if found then
    perform fail_argument(v_unknown, format('unknown policy key %s', v_unknown),
      'Known keys: ' || array_to_string(v_known, ', ') || '.');
  end if;
  -- Columns that the JSON does not name keep the values of the existing row.
  select * into v_policy
  from jsonb_populate_record(
    (select p from policy_of(p_type) p),
    coalesce(preset(p_policy ->> 'preset'), '{}') || (p_policy - 'preset'));
  v_policy.type := p_type;
  v_policy.updated_at := jobforge.now();
  v_policy.updated_by := caller();
  insert into policies select v_policy.*
  on conflict (type) do update
  set (base_ms, cap_ms, factor, jitter, max_attempts, timeout_ms, lease_ms, audit_action, keep_history, retention_days,
      max_priority, redact, updated_at, updated_by)
    = (excluded.base_ms, excluded.cap_ms, excluded.factor, excluded.jitter, excluded.max_attempts, excluded.timeout_ms,
      excluded.lease_ms, excluded.audit_action, excluded.keep_history, excluded.retention_days, excluded.max_priority,
      excluded.redact, excluded.updated_at, excluded.updated_by);
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_policy.updated_at, all_tenants(), v_policy.updated_by, 'POLICY_SET', 'type', p_type,
    p_policy);
  return to_jsonb(v_policy);
exception
  when check_violation or not_null_violation then
    get stacked diagnostics v_constraint = constraint_name, v_column = column_name;
    v_column := coalesce(nullif(v_column, ''), substring(v_constraint from '^policies_(.*)_check$'));
    perform fail_argument(v_column, format('%s is out of range', v_column),
      'See the table of policy keys in the reference.');
  when data_exception then
    perform fail_argument('policy', 'policy has a value of the wrong kind: ' || sqlerrm,
      'See the table of policy keys in the reference.');
end $$;
