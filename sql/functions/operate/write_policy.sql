-- Reading and writing policies, for jobforge_set_policy and jobforge_sync_policies.

-- Raises JF002 for a text that is neither a type nor '*', the default policy.
create or replace function jobforge.require_policy_type(p_type text) returns void
language plpgsql immutable as $$
begin
  if p_type is distinct from '*' and not coalesce(jobforge.is_type(p_type), false) then
    perform jobforge.fail_argument('type', jobforge.type_rule(), jobforge.type_hint());
  end if;
end $$;

-- Returns the keys of a policy as a caller gave them, with the numbers of a preset. Raises JF002 for a type or a policy
-- that is not valid, and for an unknown key.
create or replace function jobforge.read_policy(p_type text, p_policy jsonb) returns jsonb
language plpgsql stable as $$
declare
  v_known constant text[] := array[
    'preset', 'base_ms', 'cap_ms', 'factor', 'jitter', 'max_attempts', 'timeout_ms', 'lease_ms', 'audit_action',
    'keep_history', 'retention_days', 'max_priority', 'redact', 'keep_logs'];
  v_unknown text;
begin
  perform jobforge.require_printable(p_policy, 'policy');
  perform jobforge.require_policy_type(p_type);
  if p_policy is null or jsonb_typeof(p_policy) <> 'object' then
    perform jobforge.fail_argument('policy', 'policy must be a JSON object');
  elsif p_policy ? 'preset' and jobforge.preset(p_policy ->> 'preset') is null then
    perform jobforge.fail_argument('preset', 'preset must be ' || jobforge.one_of(jobforge.preset_names()));
  elsif jsonb_typeof(p_policy -> 'audit_action') not in ('string', 'null') then
    perform jobforge.fail_argument('audit_action', 'audit_action must be a text, such as EMAIL_SENT');
  end if;
  select k into v_unknown from jsonb_object_keys(p_policy) k where k <> all (v_known) limit 1;
  if found then
    perform jobforge.fail_argument(v_unknown, format('unknown policy key %s', v_unknown),
      'Known keys: ' || array_to_string(v_known, ', ') || '.');
  end if;
  return coalesce(jobforge.preset(p_policy ->> 'preset'), '{}') || (p_policy - 'preset');
end $$;

-- Returns a policy with some keys changed. Raises JF002 for a value of the wrong kind.
create or replace function jobforge.changed_policy(p_policy jobforge.policies, p_changes jsonb)
returns jobforge.policies
language plpgsql stable as $$
begin
  return jsonb_populate_record(p_policy, p_changes);
exception when data_exception then
  perform jobforge.fail_argument('policy', 'policy has a value of the wrong kind: ' || sqlerrm,
    'See the table of policy keys in the reference.');
end $$;

-- Makes other changes of policies wait until this transaction ends, so that none is lost. Claims, settles and enqueues
-- only read policies, so they do not wait.
create or replace function jobforge.lock_policies() returns void
language plpgsql as $$
begin
  perform from jobforge.policies p where p.type = '*' for no key update;
end $$;

-- Writes the policy of a type. Raises JF002 for a value out of range. The caller holds lock_policies().
create or replace function jobforge.write_policy(p_policy jobforge.policies) returns void
language plpgsql as $$
declare
  v_constraint text;
  v_column text;
begin
  insert into jobforge.policies select p_policy.*
  on conflict (type) do update
  set (base_ms, cap_ms, factor, jitter, max_attempts, timeout_ms, lease_ms, audit_action, keep_history, retention_days,
      max_priority, redact, keep_logs, by_hand, updated_at, updated_by)
    = (excluded.base_ms, excluded.cap_ms, excluded.factor, excluded.jitter, excluded.max_attempts, excluded.timeout_ms,
      excluded.lease_ms, excluded.audit_action, excluded.keep_history, excluded.retention_days, excluded.max_priority,
      excluded.redact, excluded.keep_logs, excluded.by_hand, excluded.updated_at, excluded.updated_by);
exception when check_violation or not_null_violation then
  get stacked diagnostics v_constraint = constraint_name, v_column = column_name;
  v_column := coalesce(nullif(v_column, ''), substring(v_constraint from '^policies_(.*)_check$'));
  perform jobforge.fail_argument(v_column, format('%s is out of range', v_column),
    'See the table of policy keys in the reference.');
end $$;
