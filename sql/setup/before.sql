-- Creates the roles and the two schemas. Runs as the role that migrates: a superuser, or an owner of the database with
-- the right to create roles. Roles belong to the whole cluster, so a migration of another database may create the same
-- ones at this moment.
do $$
declare
  v_role text;
  -- From 16 on, the creator of a role may administer it and counts as a member, but may not act as it yet.
  v_may_act_as constant text :=
    case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end;
begin
  foreach v_role in array array[
    'jobforge_owner', 'jobforge_view', 'jobforge_tenant', 'jobforge_app', 'jobforge_worker', 'jobforge_operator',
    'jobforge_reader'
  ] loop
    if to_regrole(v_role) is null then
      begin
        execute format('create role %I nologin', v_role);
      exception when duplicate_object or unique_violation then
        null;
      end;
    end if;
  end loop;
  -- The role that migrates creates the objects as jobforge_owner, and may operate its installation.
  if not pg_has_role(current_user, 'jobforge_owner', v_may_act_as) then
    execute format('grant jobforge_owner, jobforge_operator, jobforge_worker to %I', current_user);
  end if;
  if not pg_has_role('jobforge_owner', 'jobforge_view', 'MEMBER') then
    grant jobforge_view to jobforge_owner;
  end if;
  if not pg_has_role('jobforge_app', 'jobforge_tenant', 'MEMBER') then
    grant jobforge_tenant to jobforge_app;
  end if;
end $$;

create schema if not exists :"api_schema";
create schema if not exists jobforge authorization jobforge_owner;

-- The kernel's roles create their objects in the API schema themselves. after.sql takes the right to create back.
grant usage, create on schema :"api_schema" to jobforge_owner, jobforge_view;
grant usage on schema :"api_schema" to jobforge_tenant, jobforge_worker, jobforge_operator, jobforge_reader;

set local role jobforge_owner;

-- Closes the private schema, also to roles for which default privileges have opened it.
do $$
declare
  v_grantee text;
begin
  for v_grantee in
    select distinct case x.grantee when 0 then 'public' else x.grantee::regrole::text end
    from pg_namespace n, aclexplode(n.nspacl) x
    where n.nspname = 'jobforge' and x.grantee <> n.nspowner
  loop
    execute format('revoke all on schema jobforge from %s', v_grantee);
  end loop;
end $$;

grant usage on schema jobforge to jobforge_view;
