-- Creates a key for the HTTP server. The result is the only place where the key can be read; the database stores its
-- SHA-256. Its 256 bits come from three random uuids, which Postgres takes from the system's strong random source.
-- Who: operators. JF002 for a role that a key cannot have, a tenant that does not fit the role, or a time in the
-- past.
create or replace function :"api_schema".jobforge_create_token(
  p_name text,
  p_role text,
  p_tenant_id uuid default null,
  p_expires_at timestamptz default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_secret text := encode(
    sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())), 'hex');
  v_prefix text := 'jf_' || left(replace(gen_random_uuid()::text, '-', ''), 8);
  v_token tokens;
begin
  perform require_operator();
  if p_name is null or btrim(p_name) = '' or length(p_name) > 200 then
    perform fail_argument('name', 'name must have 1 to 200 characters');
  elsif p_role is null or p_role not in ('jobforge_app', 'jobforge_worker', 'jobforge_operator', 'jobforge_reader') then
    perform fail_argument('role', 'role must be jobforge_app, jobforge_worker, jobforge_operator or jobforge_reader');
  elsif p_role = 'jobforge_app' and p_tenant_id is null then
    perform fail_argument('tenant_id', 'a key of jobforge_app acts for one tenant', 'Pass the tenant''s uuid.');
  elsif p_role <> 'jobforge_app' and p_tenant_id is not null then
    perform fail_argument('tenant_id', format('a key of %s acts for every tenant', p_role),
      'Leave the tenant out, or make a key of jobforge_app.');
  elsif p_expires_at <= v_now or not is_time(p_expires_at) then
    perform fail_argument('expires_at', 'expires_at must be in the future');
  end if;
  insert into tokens (name, prefix, digest, role, tenant_id, created_at, created_by, expires_at)
  values (p_name, v_prefix, encode(sha256(convert_to(v_prefix || '_' || v_secret, 'UTF8')), 'hex'), p_role,
    p_tenant_id, v_now,
    actor(), p_expires_at)
  returning * into v_token;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message, meta)
  values (v_now, coalesce(p_tenant_id, all_tenants()), actor(), 'TOKEN_CREATED', 'token', v_token.id::text,
    p_name, jsonb_build_object('prefix', v_prefix, 'role', p_role));
  return jsonb_build_object('id', v_token.id, 'token', v_prefix || '_' || v_secret, 'name', p_name, 'prefix', v_prefix,
    'role', p_role, 'tenant_id', p_tenant_id, 'created_at', v_now, 'expires_at', p_expires_at);
end $$;

-- Returns all keys, also expired and revoked ones, newest first, without their secrets.
-- Who: operators. Locks nothing.
create or replace function :"api_schema".jobforge_list_tokens()
returns table (
  id uuid, name text, prefix text, role text, tenant_id uuid, created_at timestamptz, created_by text,
    expires_at timestamptz,
  last_used_at timestamptz, revoked_at timestamptz
)
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_operator();
  return query
  select t.id, t.name, t.prefix, t.role::text, t.tenant_id, t.created_at, t.created_by, t.expires_at::timestamptz,
    t.last_used_at,
    t.revoked_at
  from tokens t
  order by t.created_at desc, t.id;
end $$;

-- Revokes a key, at once and permanently. Repeating the call changes nothing.
-- Who: operators. JF002 if there is no such key. Locks the key's row.
create or replace function :"api_schema".jobforge_revoke_token(p_token_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_token tokens;
begin
  perform require_operator();
  update tokens t
  set revoked_at = v_now
  where t.id = p_token_id and t.revoked_at is null
  returning * into v_token;
  if found then
    insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, message, meta)
    values (v_now, coalesce(v_token.tenant_id, all_tenants()), actor(), 'TOKEN_REVOKED', 'token',
      v_token.id::text, v_token.name, jsonb_build_object('prefix', v_token.prefix, 'role', v_token.role));
  else
    select * into v_token from tokens t where t.id = p_token_id;
    if not found then
      perform fail_argument('token_id', 'there is no such key', 'jobforge_list_tokens shows their ids.');
    end if;
  end if;
  return jsonb_build_object('id', v_token.id, 'name', v_token.name, 'prefix', v_token.prefix,
    'revoked_at', v_token.revoked_at);
end $$;

-- Returns {id, name, role, tenant_id, expires_at} of the key with this SHA-256 in hex; null if the key is unknown,
-- revoked or expired.
-- Reveals nothing to a caller without the key. Records when the key was used, at most once a minute, and never waits
-- to do so.
-- Who: readers and operators, the roles of the HTTP server.
create or replace function :"api_schema".jobforge_recognise_token(p_digest text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_token tokens;
begin
  select * into v_token
  from tokens t
  where t.digest = p_digest and t.revoked_at is null and (t.expires_at is null or t.expires_at > v_now);
  if not found then
    return null;
  end if;
  if v_token.last_used_at is null or v_token.last_used_at < v_now - interval '1 minute' then
    update tokens t
    set last_used_at = v_now
    where t.id = (select u.id from tokens u where u.id = v_token.id for update skip locked);
  end if;
  return jsonb_build_object('id', v_token.id, 'name', v_token.name, 'role', v_token.role,
    'tenant_id', v_token.tenant_id, 'expires_at', v_token.expires_at);
end $$;
