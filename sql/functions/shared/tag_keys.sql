-- Returns the keys under which the tags of an archived job are indexed: each tag alone, for searches over all tenants,
-- and with the tenant before it, for lists of one tenant. An index uses this function, so apply-order.txt puts this
-- file before the tables. Its body is SQL-standard, because analyze and reindex run it with the search path of the role
-- that calls them.
create or replace function jobforge.tag_keys(p_tenant_id uuid, p_tags text[]) returns text[]
language sql immutable parallel safe
return p_tags || array(select p_tenant_id::text || '/' || t from unnest(p_tags) t);
