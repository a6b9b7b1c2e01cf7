-- Sets the policy of a type; with '*' that of every type without its own policy. Only the given keys change. preset
-- fills in the retry numbers first. The keys are remembered as set by hand: a definition replaces them only when the
-- definition itself changes (see jobforge_sync_policies). Returns the policy.
-- Who: operators. JF002 for an unknown key or a value out of range. Waits for another change of a policy.
create or replace function :"api_schema".jobforge_set_policy(p_type text, p_policy jsonb) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_changes jsonb;
  v_before policies;
  v_policy policies;
begin
  perform require_operator();
  v_changes := read_policy(p_type, p_policy);
  perform lock_policies();
  select p.* into v_before from policy_of(p_type) p;
  -- Columns that the JSON does not name keep the values of the existing row.
  v_policy := changed_policy(v_before, v_changes);
  v_policy.by_hand := array(
    select unnest(v_before.by_hand) where v_before.type = p_type
    union
    select jsonb_object_keys(v_changes)
    order by 1);
  v_policy.type := p_type;
  v_policy.updated_at := jobforge.now();
  v_policy.updated_by := actor();
  perform write_policy(v_policy);
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_policy.updated_at, all_tenants(), v_policy.updated_by, 'POLICY_SET', 'type', p_type, p_policy);
  return to_jsonb(v_policy);
end $$;
