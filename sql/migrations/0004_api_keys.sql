-- Keys for the HTTP server. The secret itself is nowhere: only its SHA-256, and a prefix to know it by.
--   tenant_id the one tenant of a jobforge_app; null for roles that act for every tenant
create table jobforge.tokens (
  id           uuid primary key default gen_random_uuid(),
  name         text not null check (name <> '' and length(name) <= 200),
  prefix       text not null,
  digest       text not null unique check (digest ~ '^[0-9a-f]{64}$'),
  role         text not null check (role in ('jobforge_app', 'jobforge_worker', 'jobforge_operator', 'jobforge_reader')),
  tenant_id    uuid,
  created_at   timestamptz not null,
  created_by   text not null,
  expires_at   timestamptz check (isfinite(expires_at)),
  last_used_at timestamptz,
  revoked_at   timestamptz,
  constraint an_app_has_a_tenant check ((role = 'jobforge_app') = (tenant_id is not null))
);
