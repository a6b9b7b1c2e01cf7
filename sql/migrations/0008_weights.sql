-- What tenants weigh.

-- What operators grant a tenant. weight: how many turns it takes where others take one.
create table if not exists jobforge.tenants (
  tenant_id  uuid primary key,
  weight     integer not null default 1 check (weight between 1 and 100),
  updated_at timestamptz not null,
  updated_by text not null
);

create index tenants_lane on jobforge.tenants (uuid_hash_extended(tenant_id, 0)) where weight > 1;
