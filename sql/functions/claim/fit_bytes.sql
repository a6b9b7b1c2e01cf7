-- Bounds a claim by bytes. Otherwise a tenant with a few hundred jobs of 1 MiB could make a claim larger than a worker,
-- or Postgres itself, can read.

-- Returns whether a locked job may be so large that a claim must measure it. A job that need not be measured has at
-- most about 36 kB as JSON, and usually less than 2 kB: see jobforge.inline_payload and problem_with. The size of a
-- stored value counts only if the value is not compressed. One expression, so that Postgres inlines it.
create or replace function jobforge.may_be_large(p_payload jsonb, p_progress jsonb, p_tags text[], p_error jsonb)
returns boolean
language sql stable as $$
  select p_payload is null or p_progress is not null
    or pg_column_size(p_tags) > 300 or pg_column_compression(p_tags) is not null
    or pg_column_size(p_error) > 1500 or pg_column_compression(p_error) is not null
$$;

-- Returns those of the locked jobs that together have at most p_bytes, in their order, and how much they have. Each
-- tenant gets an equal share of the bytes; what one tenant leaves, the others get. A tenant's jobs stay in their order:
-- none passes an older one that is too large. So a tenant with large jobs takes no small job's place.
create or replace function jobforge.fit_bytes(p_places tid[], p_bytes bigint, out places tid[], out bytes bigint)
language plpgsql as $$
begin
  select coalesce(array_agg(f.place order by f.ord), '{}'), coalesce(sum(f.size), 0)
  into places, bytes
  from (
    select o.place, o.ord, o.size, sum(o.size) over (order by o.of_tenant, o.ord) as total
    from (
      select l.place, l.ord, j.size, sum(j.size) over (partition by j.lane order by l.ord) as of_tenant
      from unnest(p_places) with ordinality l(place, ord)
      cross join lateral (
        select j.lane,
          coalesce(octet_length(j.progress::text), 0) + coalesce(2 * octet_length(j.error::text), 0)
            + octet_length(to_json(j.tags)::text)
            + case when j.payload is null
              then (select p.bytes from jobforge.payloads p where p.job_id = j.id) else 0 end as size
        from jobforge.queue j
        where j.ctid = l.place
        limit 1
      ) j
    ) o
  ) f
  where f.total <= p_bytes;
end $$;
