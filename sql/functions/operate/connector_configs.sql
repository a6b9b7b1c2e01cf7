-- Sets the configuration of a tenant's connector; a null config removes it. Store no secrets in it: name the
-- environment variable that holds the secret. The configurations http.request and webhook.deliver are checked.
-- Who: servers that name their tenant (jobforge_app), operators. JF002 for a configuration that workers would not
-- understand.
create or replace function :"api_schema".jobforge_set_connector_config(p_tenant_id uuid, p_connector_type text,
  p_config jsonb)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
begin
  perform require_tenant(p_tenant_id);
  if p_connector_type is null or btrim(p_connector_type) = '' or length(p_connector_type) > 200 then
    perform fail_argument('connector_type', 'connector_type must have 1 to 200 characters');
  elsif jsonb_typeof(p_config) <> 'object' or text_bytes(p_config) > 65536 then
    perform fail_argument('config', 'config must be a JSON object of at most 64 kB');
  end if;
  perform require_printable(p_config, 'config');
  if p_connector_type in ('http.request', 'webhook.deliver') then
    perform require_connector_config(p_config);
  end if;
  if p_config is null then
    delete from connector_configs c where c.tenant_id = p_tenant_id and c.connector_type = p_connector_type;
  else
    insert into connector_configs (tenant_id, connector_type, config, created_at, updated_at)
    values (p_tenant_id, p_connector_type, p_config, v_now, v_now)
    on conflict (tenant_id, connector_type) do update
    set config = excluded.config, updated_at = excluded.updated_at;
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id)
  values (v_now, p_tenant_id, actor(), 'CONNECTOR_CONFIG_SET', 'connector', p_connector_type);
  return jsonb_build_object('tenant_id', p_tenant_id, 'connector_type', p_connector_type, 'config', p_config);
end $$;

-- Returns the configuration of a tenant's connector; null if there is none. It serves workers, which read no views.
-- Who: workers, operators.
create or replace function :"api_schema".jobforge_get_connector_config(p_tenant_id uuid, p_connector_type text)
returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  perform require_tenant(p_tenant_id);
  return (
    select c.config from connector_configs c where c.tenant_id = p_tenant_id and c.connector_type = p_connector_type);
end $$;

-- Raises JF002 for a configuration of http.request or webhook.deliver that workers would not understand: the jobs of
-- the tenant would wait for another one.
create or replace function jobforge.require_connector_config(p_config jsonb) returns void
language plpgsql stable as $$
declare
  v_bad record;
begin
  select c.key, k.kind into v_bad
  from jsonb_each(coalesce(p_config, '{}')) c
  left join (values ('allowed_hosts', 'must be a list of hosts such as *.example.com'),
    ('default_headers', jobforge.problem_with_headers(p_config -> 'default_headers')),
    ('timeout_ms', 'must be a whole number of at least 1'), ('max_bytes', 'must be a whole number of at least 0'),
    ('user_agent_suffix', 'must be a text of 1 to 100 visible ASCII characters'),
    ('retry_schedule', 'must be a list of at most 50 waits of 1 to 86400 seconds'))
    k(key, kind) on k.key = c.key
  where k.key is null or c.value = 'null' or not case c.key
    when 'allowed_hosts' then c.value = '[]' or jobforge.are_hosts(c.value)
    when 'default_headers' then k.kind is null
    when 'timeout_ms' then jobforge.setting_is_between(c.value, 1, 2147483647)
    when 'max_bytes' then jobforge.setting_is_between(c.value, 0, 2147483647)
    when 'user_agent_suffix' then jsonb_typeof(c.value) = 'string' and c.value #>> '{}' ~ '^[\x20-\x7e]{1,100}$'
    else c.value = '[]' or jobforge.are_waits(c.value)
  end
  order by c.key
  limit 1;
  if found and v_bad.kind is null then
    perform jobforge.fail_argument('config.' || v_bad.key, format('unknown key %s', v_bad.key),
      'Known keys: allowed_hosts, default_headers, timeout_ms, max_bytes, user_agent_suffix, retry_schedule.');
  elsif found then
    perform jobforge.fail_argument('config.' || v_bad.key, format('%s %s', v_bad.key, v_bad.kind));
  end if;
end $$;
