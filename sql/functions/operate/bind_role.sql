-- Binds a login to one tenant; a null tenant removes the binding, also that of a role that no longer exists. A bound
-- role acts for its tenant only, whatever it sets and whatever other JobForge role it has. So does a login that is a
-- member of a bound role. The change takes effect with the role's next call. Only a login can be bound: a role for
-- several logins would suggest that each of them can be bound to another tenant.
-- Who: operators. JF002 if there is no such role, if it cannot log in, and for the uuid that stands for all tenants.
create or replace function :"api_schema".jobforge_bind_role(p_role text, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_role record;
begin
  perform require_operator();
  select r.oid, r.rolcanlogin as can_login into v_role from pg_roles r where r.rolname = p_role;
  if v_role.oid is null and not (
    p_tenant_id is null and exists (select from role_bindings b where b.role = p_role))
  then
    perform fail_argument('role', 'there is no such role',
      'Create it first, with login and jobforge_tenant or jobforge_worker.');
  elsif p_role ~ '^jobforge_(owner|view|tenant|app|worker|operator|reader)$' then
    perform fail_argument('role', 'a group role of JobForge cannot be bound', 'Bind the login.');
  elsif p_tenant_id is not null and not v_role.can_login then
    perform fail_argument('role', 'the role cannot log in', 'Bind each login that is a member of it.');
  elsif p_tenant_id = all_tenants() then
    perform fail_argument('tenant_id', format('%s stands for all tenants and cannot be bound', all_tenants()),
      'Leave the role unbound, or bind it to one tenant.');
  end if;
  delete from role_bindings b where b.role = p_role or b.role_id = v_role.oid;
  if p_tenant_id is not null then
    insert into role_bindings (role_id, role, tenant_id, bound_at, bound_by)
    values (v_role.oid, p_role, p_tenant_id, jobforge.now(), actor());
    perform note_bound_tenant(p_tenant_id);
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (jobforge.now(), coalesce(p_tenant_id, all_tenants()), actor(),
    case when p_tenant_id is null then 'ROLE_UNBOUND' else 'ROLE_BOUND' end, 'role', p_role, '{}');
  return jsonb_build_object('role', p_role, 'tenant_id', p_tenant_id);
end $$;

-- Returns the roles whose bindings are stale: no role has both the id and the name of the binding.
create or replace function jobforge.stale_bindings() returns text[]
language sql stable as $$
  select array(
    select b.role
    from jobforge.role_bindings b
    where not exists (select from pg_roles r where r.oid = b.role_id and r.rolname = b.role)
    order by b.role)
$$;
