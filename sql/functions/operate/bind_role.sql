-- Binds a login to one tenant; a null tenant removes the binding. A bound role acts for its tenant only, whatever it
-- sets and whatever other JobForge role it has. The change takes effect with the role's next call.
-- Who: operators. JF002 if there is no such role.
create or replace function :"api_schema".jobforge_bind_role(p_role text, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_operator();
  if p_role is null or not exists (select from pg_roles r where r.rolname = p_role) then
    perform fail_argument('role', 'there is no such role',
      'Create it first, with login and jobforge_tenant or jobforge_worker.');
  elsif exists (select from pg_roles r where r.rolname = p_role
    and r.rolname ~ '^jobforge_(owner|view|tenant|app|worker|operator|reader)$') then
    perform fail_argument('role', 'a group role of JobForge cannot be bound', 'Bind the login.');
  end if;
  if p_tenant_id is null then
    delete from role_bindings b where b.role = p_role;
  else
    insert into role_bindings (role, tenant_id, bound_at, bound_by)
    values (p_role, p_tenant_id, jobforge.now(), caller())
    on conflict (role) do update
    set tenant_id = excluded.tenant_id, bound_at = excluded.bound_at, bound_by = excluded.bound_by;
    perform note_bound_tenant(p_tenant_id);
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (jobforge.now(), coalesce(p_tenant_id, global_tenant()), caller(),
    case when p_tenant_id is null then 'ROLE_UNBOUND' else 'ROLE_BOUND' end, 'role', p_role, '{}');
  return jsonb_build_object('role', p_role, 'tenant_id', p_tenant_id);
end $$;
