-- Under which keys an archived job's tags are indexed: each tag as it is, for searches over all tenants, and with the
-- tenant before it, for lists of one. (An index is made of this function, so files below 010 come before the tables.)
create or replace function jobforge.tag_keys(p_tenant_id uuid, p_tags text[]) returns text[]
language sql immutable parallel safe as $$
  select p_tags || array(select p_tenant_id::text || '/' || t from unnest(p_tags) t)
$$;
