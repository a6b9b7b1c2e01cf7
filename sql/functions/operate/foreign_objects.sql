-- Returns the functions and relations in the API schema whose names start with jobforge_ but that belong to other
-- roles. A call by name could reach such a function in place of JobForge's. Owner only; jobforge_health calls it.
create or replace function jobforge.foreign_objects(p_api_schema text)
returns table (object text, kind text, owner text)
language sql stable as $$
  select p.oid::regprocedure::text, 'function', p.proowner::regrole::text
  from pg_proc p
  where p.pronamespace = to_regnamespace(quote_ident(p_api_schema)) and p.proname like 'jobforge\_%'
    and p.proowner <> 'jobforge_owner'::regrole
  union all
  select c.oid::regclass::text, 'relation', c.relowner::regrole::text
  from pg_class c
  where c.relnamespace = to_regnamespace(quote_ident(p_api_schema)) and c.relname like 'jobforge\_%'
    and c.relkind in ('r', 'p', 'v', 'm', 'f')
    and c.relowner <> 'jobforge_view'::regrole
  order by 1
$$;

-- Returns who may create objects in the API schema, other than superusers and the owner of the schema; public stands
-- for every role. Owner only; jobforge_health calls it.
create or replace function jobforge.creators(p_api_schema text) returns setof text
language sql stable as $$
  select distinct case x.grantee when 0 then 'public' else x.grantee::regrole::text end
  from pg_namespace n
  cross join lateral aclexplode(n.nspacl) x
  left join pg_roles r on r.oid = x.grantee
  where n.nspname = p_api_schema and x.privilege_type = 'CREATE' and x.grantee <> n.nspowner
    and r.rolsuper is not true
  order by 1
$$;
