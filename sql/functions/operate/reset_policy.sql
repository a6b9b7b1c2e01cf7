-- Removes the policy of a type, so that the default policy applies to it. With '*' the default policy gets the values
-- of a new installation. It takes effect as a change by jobforge_set_policy does. Returns {type, reset, policy}:
-- whether there was something to reset, and the policy that applies now. Forgets what definitions have said about the
-- type, so the next worker that starts writes its definition again.
-- Who: operators. JF002 for a malformed type.
create or replace function :"api_schema".jobforge_reset_policy(p_type text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_reset boolean;
begin
  perform require_operator();
  perform require_policy_type(p_type);
  perform lock_policies();
  delete from declarations d where d.type = p_type;
  delete from policies p where p.type = p_type;
  v_reset := found;
  if p_type = '*' then
    insert into policies (type, updated_at, updated_by) values ('*', v_now, actor());
  end if;
  if v_reset then
    insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
    values (v_now, all_tenants(), actor(), 'POLICY_RESET', 'type', p_type, '{}');
  end if;
  return jsonb_build_object('type', p_type, 'reset', v_reset,
    'policy', (select to_jsonb(p) from policy_of(p_type) p));
end $$;
