-- Returns the role that is calling. Inside a definer function current_user is the owner, so this is the role that was
-- set, or else the login.
create or replace function jobforge.caller() returns text
language sql stable parallel safe as $$
  select case current_setting('role') when 'none' then session_user::text else current_setting('role') end
$$;

-- Returns who is calling, for the audit log and for settings: the role; with the claims of a token, also the person or
-- the key that they name, such as "ada@example.com (jobforge_operator)". A login can set its claims itself, so the
-- role is always there and is never taken from them.
create or replace function jobforge.actor() returns text
language sql stable as $$
  select coalesce(p || ' (' || jobforge.caller() || ')', jobforge.caller()) from jobforge.claimed_person() p
$$;

-- Returns the person or the key that the claims of a token name: the e-mail, or the name of a key whose id is the
-- subject, or the subject. Null without one. At most 200 characters, without line breaks.
create or replace function jobforge.claimed_person() returns text
language plpgsql stable as $$
declare
  v_claims jsonb;
  v_subject text;
begin
  v_claims := nullif(current_setting('request.jwt.claims', true), '')::jsonb;
  v_subject := v_claims ->> 'sub';
  return nullif(btrim(left(regexp_replace(coalesce(
    nullif(v_claims ->> 'email', ''),
    (select 'key ' || t.name from jobforge.tokens t where t.id = jobforge.uuid_or_null(v_subject)),
    v_subject), '[[:cntrl:]]+', ' ', 'g'), 200)), '');
exception when data_exception then
  return null;
end $$;

-- Returns whether the caller has the rights of a role now. Checks USAGE, not membership: PostgREST's login is a member
-- of every role that it can switch to.
create or replace function jobforge.caller_is(p_role text) returns boolean
language sql stable parallel safe as $$
  select pg_has_role(jobforge.caller(), p_role, 'USAGE')
$$;

-- Returns the tenant that the claims of a JWT name: tenant_id, or else app_metadata.tenant_id. Never user_metadata,
-- which users can edit. An id that is not a uuid is mapped like every id of a tenant; see tenant_ids.sql. Null when it
-- is malformed.
create or replace function jobforge.claimed_tenant(p_claims text) returns uuid
language plpgsql immutable parallel safe as $$
declare
  v_claims jsonb;
begin
  v_claims := p_claims::jsonb;
  return jobforge.tenant_of_claim(
    coalesce(nullif(v_claims -> 'tenant_id', 'null'), v_claims -> 'app_metadata' -> 'tenant_id'));
exception when data_exception then
  return null;
end $$;

-- Returns the tenant to which the caller is bound; null when it is not bound. The first of these counts: the binding
-- of the login itself, so SET ROLE does not escape it; a binding of the role that was set, or of a role that it is a
-- member of; a binding of a role that the login is a member of. Raises 42501 when a binding is stale, and when the
-- role is a member of roles that are bound to different tenants.
create or replace function jobforge.bound_tenant() returns uuid
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_login oid;
  v_binding role_bindings;
begin
  -- Usually no role is bound.
  if not exists (select from role_bindings) then
    return null;
  end if;
  v_login := to_regrole(quote_ident(session_user));
  select b.* into v_binding
  from (
    select b.* from role_bindings b where b.role_id = v_login
    union all
    select b.* from role_bindings b where b.role = session_user
  ) b
  limit 1;
  if v_binding.role_id = v_login and v_binding.role = session_user then
    return v_binding.tenant_id;
  elsif v_binding.role_id is null and caller() <> session_user then
    return coalesce(tenant_of_role(caller()), tenant_of_role(session_user));
  end if;
  return tenant_of_role(session_user);
end $$;

-- Returns the tenant to which a role is bound: by its own binding, or by those of roles that it can use or set. Null
-- when it is not bound. It goes from the role up to those that were granted to it, which are few, however many
-- bindings there are.
create or replace function jobforge.tenant_of_role(p_role text) returns uuid
language plpgsql stable
set enable_seqscan = off as $$
declare
  v_role oid := to_regrole(quote_ident(p_role));
  -- From 16 on, the creator of a role is a member that can neither use it nor set it.
  v_may_set text := case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end;
  v_stale text;
  v_tenants uuid[];
begin
  with recursive held(id) as (
    select v_role
    union
    select m.roleid from held h join pg_auth_members m on m.member = h.id
  )
  select min(h.name) filter (where (b.role_id, b.role) <> (h.id, h.name)), array_agg(distinct b.tenant_id)
  into v_stale, v_tenants
  from (select h.id, pg_get_userbyid(h.id)::text collate "C" as name from held h) h
  cross join lateral (
    select b.* from jobforge.role_bindings b where b.role_id = h.id
    union
    select b.* from jobforge.role_bindings b where b.role = h.name
  ) b
  where h.id = v_role or pg_has_role(v_role, h.id, 'USAGE') or pg_has_role(v_role, h.id, v_may_set);
  if v_stale is not null then
    perform jobforge.fail_forbidden(format('Permission denied: the binding of the role %s is stale', v_stale),
      'It was renamed, created again or restored after it was bound. Bind it again with jobforge_bind_role.');
  elsif cardinality(v_tenants) > 1 then
    perform jobforge.fail_forbidden(format('Permission denied: the role %s is bound to several tenants', p_role),
      'Make it a member of the bound roles of one tenant only, or set one of these roles.');
  end if;
  return v_tenants[1];
end $$;

-- Returns the tenant that is calling; null for none. A bound role always acts as its tenant. Only members of
-- jobforge_app may name a tenant, because any role can change a custom setting. No caller may name all_tenants().
create or replace function jobforge.caller_tenant() returns uuid
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_bound uuid := bound_tenant();
  v_claims text := nullif(current_setting('request.jwt.claims', true), '');
begin
  if v_bound is not null then
    return v_bound;
  elsif not caller_is('jobforge_app') then
    return null;
  elsif v_claims is not null then
    return nullif(claimed_tenant(v_claims), all_tenants());
  end if;
  return nullif(uuid_or_null(current_setting('app.tenant_id', true)), all_tenants());
end $$;

-- Returns the first and the last tenant that the caller may see through a view. Both are its own tenant; an operator
-- that is not bound and names no tenant sees all tenants. Otherwise they are null, and no tenant is between them.
create or replace function jobforge.visible_from() returns uuid
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select coalesce(caller_tenant(),
    case when caller_is('jobforge_operator') then '00000000-0000-0000-0000-000000000000'::uuid end)
$$;

create or replace function jobforge.visible_to() returns uuid
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select coalesce(caller_tenant(),
    case when caller_is('jobforge_operator') then 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid end)
$$;

-- Returns whether the caller may act for every tenant, if it is not bound to one.
create or replace function jobforge.acts_for_all() returns boolean
language sql stable parallel safe as $$
  select jobforge.caller_is('jobforge_operator') or jobforge.caller_is('jobforge_worker')
$$;

-- Raises unless the caller may act for the tenant: JF001 without a tenant, otherwise 42501. Operators and workers may
-- act for any tenant unless they are bound; every other role for its own.
create or replace function jobforge.require_tenant(p_tenant_id uuid) returns void
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_bound uuid := bound_tenant();
begin
  if p_tenant_id is null then
    perform fail('JF001', 'tenant_id is required', 'tenant_required', 'tenant_id',
      'Pass the tenant''s uuid, or 00000000-0000-0000-0000-000000000000 for work that belongs to no tenant.');
  elsif v_bound is not null then
    if v_bound = p_tenant_id then return; end if;
  elsif acts_for_all() or caller_tenant() = p_tenant_id then
    return;
  end if;
  perform fail_forbidden('Permission denied for this tenant',
    'Bind the role with jobforge_bind_role, or grant it jobforge_app and name the tenant in app.tenant_id or the JWT '
    'claims.');
end $$;

-- Returns those of the tenants for which the caller may act: require_tenant raises for the others. In a call for
-- several tenants, a member of jobforge_app names them in app.tenant_id, with commas between them. For every other call
-- such a list names no tenant.
create or replace function jobforge.tenants_of_caller(p_tenant_ids uuid[]) returns uuid[]
language plpgsql stable
set search_path = jobforge, pg_temp as $$
declare
  v_own uuid := bound_tenant();
begin
  if v_own is null then
    if acts_for_all() then
      return p_tenant_ids;
    end if;
    v_own := caller_tenant();
    if v_own is null and caller_is('jobforge_app') and coalesce(current_setting('request.jwt.claims', true), '') = '' then
      return array(
        select t.id
        from unnest(p_tenant_ids) t(id)
        where t.id <> all_tenants() and t.id in (
          select uuid_or_null(n.name) from string_to_table(current_setting('app.tenant_id', true), ',') n(name)));
    end if;
  end if;
  return case when v_own = any (p_tenant_ids) then array[v_own] else '{}' end;
end $$;

-- Raises 42501 unless the caller is an operator that is not bound to a tenant.
create or replace function jobforge.require_operator() returns void
language plpgsql stable
set search_path = jobforge, pg_temp as $$
begin
  if bound_tenant() is not null or not caller_is('jobforge_operator') then
    perform fail_forbidden('Permission denied: this concerns every tenant',
      'Call it as a role with jobforge_operator.');
  end if;
end $$;

-- Does what require_tenant does for one tenant, or with null what require_operator does for all tenants.
create or replace function jobforge.require_tenant_or_operator(p_tenant_id uuid) returns void
language plpgsql stable
set search_path = jobforge, pg_temp as $$
begin
  if p_tenant_id is null then
    perform require_operator();
  else
    perform require_tenant(p_tenant_id);
  end if;
end $$;

-- Returns the tenant for which a worker may claim: the one it is bound to, or else the one it asks for, or else null
-- for all. Raises 42501 when a bound worker asks for another.
create or replace function jobforge.claimable_tenant(p_tenant_id uuid) returns uuid
language plpgsql stable as $$
declare
  v_bound uuid;
begin
  -- Usually no role is bound. Asked here, because bound_tenant takes its time to change its rights.
  if not exists (select from jobforge.role_bindings) then
    return p_tenant_id;
  end if;
  v_bound := jobforge.bound_tenant();
  if v_bound is not null and p_tenant_id is not null and v_bound <> p_tenant_id then
    perform jobforge.fail_forbidden('Permission denied for this tenant',
      'This worker''s role is bound to another tenant.');
  end if;
  return coalesce(v_bound, p_tenant_id);
end $$;
