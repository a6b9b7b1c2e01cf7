-- Sets what the connectors of a tenant may reach in addition to public addresses, or with a null tenant, of all
-- tenants; a null policy removes it. Keys: allow_cidrs, allow_names, allow_ports, allow_http, nat64, dns,
-- dns_servers, proxy, ca, secrets: {NAME: {hosts, shared}}. Each of them widens. What tenants and payloads set only
-- narrows. Workers take a new policy over within seconds. The audit log has the policy, so a proxy with a password is
-- refused: name it in the policy of the workers. Returns {tenant_id, policy}.
-- Who: operators. JF002 for an unknown key or a value of the wrong kind.
create or replace function :"api_schema".jobforge_set_egress_policy(p_tenant_id uuid, p_policy jsonb) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_tenant_id uuid := coalesce(p_tenant_id, all_tenants());
begin
  perform require_operator();
  perform require_egress_policy(p_policy);
  if p_policy is null then
    delete from egress_policies e where e.tenant_id = v_tenant_id;
  else
    insert into egress_policies (tenant_id, policy, updated_at, updated_by)
    values (v_tenant_id, p_policy, v_now, actor())
    on conflict (tenant_id) do update
    set policy = excluded.policy, updated_at = excluded.updated_at, updated_by = excluded.updated_by;
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id, meta)
  values (v_now, v_tenant_id, actor(), 'EGRESS_POLICY_SET', 'egress_policy', v_tenant_id::text,
    jsonb_build_object('policy', p_policy - 'ca'));
  return jsonb_build_object('tenant_id', p_tenant_id, 'policy', p_policy);
end $$;

-- Returns what the connectors of a tenant may reach: {all: the policy of all tenants, tenant: the tenant's own}, each
-- null if there is none. With a null tenant, only that of all tenants.
-- Who: workers, operators.
create or replace function :"api_schema".jobforge_get_egress_policy(p_tenant_id uuid) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  if p_tenant_id is not null then
    perform require_tenant(p_tenant_id);
  end if;
  return jsonb_build_object(
    'all', (select e.policy from egress_policies e where e.tenant_id = all_tenants()),
    'tenant', (select e.policy from egress_policies e where e.tenant_id = p_tenant_id));
end $$;

-- Raises JF002 for a policy that workers would not understand: then they could not deliver anything.
create or replace function jobforge.require_egress_policy(p_policy jsonb) returns void
language plpgsql stable as $$
declare
  v_bad record;
begin
  perform jobforge.require_printable(p_policy, 'policy');
  if p_policy is null then
    return;
  elsif jsonb_typeof(p_policy) <> 'object' or octet_length(p_policy::text) > 262144 then
    perform jobforge.fail_argument('policy', 'policy must be a JSON object of at most 256 kB');
  end if;
  select p.key, k.kind into v_bad
  from jsonb_each(p_policy) p
  left join (values ('allow_cidrs', 'a list of networks such as 10.1.0.0/16'), ('allow_names', 'a list of hosts such as *.svc.cluster.local'),
    ('allow_ports', 'a list of ports, or of ranges such as 8000-8100'),
    ('dns_servers', 'a list of addresses, each perhaps with a port'), ('allow_http', 'true or false'),
    ('nat64', 'true or false'), ('dns', 'resolver or system'), ('proxy', 'a URL without a password'),
    ('ca', 'a text or a list of texts'),
    ('secrets', 'an object of {hosts, shared} by the names of secrets; a host is such as *.example.com'))
    k(key, kind) on k.key = p.key
  where k.key is null or not case
    when p.key = 'allow_cidrs' then jobforge.are_networks(p.value)
    when p.key = 'allow_ports' then jobforge.are_ports(p.value)
    when p.key = 'allow_names' then p.value = '[]' or jobforge.are_hosts(p.value)
    when p.key = 'dns_servers' then jobforge.are_texts(p.value) and not exists (
      select from jsonb_array_elements_text(p.value) d
      where not jobforge.is_server(d))
    when p.key in ('allow_http', 'nat64') then jsonb_typeof(p.value) = 'boolean'
    when p.key = 'dns' then p.value in ('"resolver"', '"system"')
    when p.key = 'proxy' then jsonb_typeof(p.value) = 'string'
      and coalesce(jobforge.is_host(substring(p.value #>> '{}' from '^https?://([^*/?#@\s]+)(?:/[^@\s]*)?$')), false)
    when p.key = 'ca' then jsonb_typeof(p.value) = 'string' or jobforge.are_texts(p.value)
    else jsonb_typeof(p.value) = 'object' and not exists (
      select from jsonb_each(p.value) s
      where s.key !~ '^[A-Z][A-Z0-9_]{0,63}$' or jsonb_typeof(s.value) <> 'object'
        or s.value - '{hosts,shared}'::text[] <> '{}' or not jobforge.are_hosts(s.value -> 'hosts')
        or jsonb_typeof(coalesce(s.value -> 'shared', 'false')) <> 'boolean')
  end
  order by p.key
  limit 1;
  if found and v_bad.kind is null then
    perform jobforge.fail_argument('policy.' || v_bad.key, format('unknown key %s', v_bad.key),
      'Known keys: allow_cidrs, allow_names, allow_ports, allow_http, nat64, dns, dns_servers, proxy, ca, secrets.');
  elsif found then
    perform jobforge.fail_argument('policy.' || v_bad.key, format('%s must be %s', v_bad.key, v_bad.kind));
  end if;
end $$;
