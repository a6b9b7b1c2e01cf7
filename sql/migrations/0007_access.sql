-- Who may act for whom, who did what, and what tenants' connectors need.

-- Logins that are bound to one tenant. Nothing that the login sets overrides the binding. A binding holds for the role
-- that has both this id and this name. A role that has only one of the two was renamed, was dropped and created again,
-- or is in another cluster to which the database was restored. It is refused until an operator binds it again.
create table jobforge.role_bindings (
  role_id   oid primary key,
  role      text collate "C" not null unique,
  tenant_id uuid not null,
  bound_at  timestamptz not null,
  bound_by  text not null
);

-- The roles that a key for the HTTP server can have.
create domain jobforge.token_role as text collate "C"
  constraint token_role_is_known
  check (value in ('jobforge_app', 'jobforge_worker', 'jobforge_operator', 'jobforge_reader'));

-- Keys for the HTTP server. The secret itself is stored nowhere: the table holds its SHA-256, and a prefix by which
-- people recognise the key.
--   tenant_id the one tenant that a key of jobforge_app acts for; null for roles that act for every tenant
create table jobforge.tokens (
  id           uuid primary key default gen_random_uuid(),
  name         text not null check (name <> '' and length(name) <= 200),
  prefix       text collate "C" not null,
  digest       text collate "C" not null unique check (digest ~ '^[0-9a-f]{64}$'),
  role         jobforge.token_role not null,
  tenant_id    uuid,
  created_at   timestamptz not null,
  created_by   text not null,
  expires_at   jobforge.finite_time,
  last_used_at timestamptz,
  revoked_at   timestamptz,
  constraint an_app_has_a_tenant check ((role = 'jobforge_app') = (tenant_id is not null))
);

-- How the connectors of tenants are configured, without secrets.
create table jobforge.connector_configs (
  tenant_id      uuid not null,
  connector_type text collate "C" not null check (connector_type <> '' and length(connector_type) <= 200),
  config         jsonb not null default '{}',
  created_at     timestamptz not null,
  updated_at     timestamptz not null,
  primary key (tenant_id, connector_type)
);

-- What was done, by whom and to what. Rows are deleted after a year.
create table jobforge.audit_log (
  id          bigint generated always as identity primary key,
  at          timestamptz not null,
  tenant_id   uuid not null,
  actor       text not null,
  action      text collate "C" not null,
  entity_type text collate "C" not null,
  entity_id   text collate "C" not null,
  message     text,
  meta        jsonb not null default '{}'
);

create index audit_log_tenant on jobforge.audit_log (tenant_id, id);
create index audit_log_entity on jobforge.audit_log (entity_type, entity_id, id);
