-- Sets the configuration of a tenant's connector; a null config removes it. Store no secrets in it: name the
-- environment variable that holds the secret.
-- Who: servers that name their tenant (jobforge_app), operators.
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
