-- Returns the workers that heartbeat, the one seen last first. A worker is alive, stopped if it said so, or gone after
-- the worker timeout (one minute) without a word. It is forgotten an hour after it stopped, or after a day of silence.
-- A role bound to a tenant sees the workers of that tenant.
-- Bounded by bytes (page_bytes): workers that were seen before those that fit are left out.
-- Who: operators, readers. Locks nothing.
create or replace function :"api_schema".jobforge_list_workers()
returns table (
  id text, status text, instance text, tenant_id uuid, started_at timestamptz, seen_at timestamptz, types text[],
  concurrency integer, running integer, host text, pid integer, version text,
  tenant_label text
)
language sql stable
security definer
set search_path = jobforge, pg_temp as $$
  select w.id,
    case when w.stopped_at is not null then 'stopped' when is_alive(w.worker, jobforge.now()) then 'alive' else 'gone' end,
    w.instance,
    nullif(w.scope, all_tenants()),
    w.started_at,
    w.seen_at,
    worker_types(w.info),
    case when w.info ->> 'concurrency' ~ '^[0-9]{1,9}$' then (w.info ->> 'concurrency')::integer end,
    (select count(*)::integer
      from runs j
      where j.worker_id = w.id and w.scope in (j.tenant_id, all_tenants())),
    w.info ->> 'host',
    case when w.info ->> 'pid' ~ '^[0-9]{1,9}$' then (w.info ->> 'pid')::integer end,
    w.info ->> 'version',
    label_of(w.scope)
  from (
    select w.*, w as worker,
      sum(octet_length(w.id) + octet_length(w.info::text) + coalesce(octet_length(w.instance), 0))
        over (order by w.seen_at desc, w.id rows unbounded preceding) as bytes
    from workers w
    cross join (select bound_tenant() as tenant_id offset 0) b
    where w.scope = coalesce(b.tenant_id, w.scope)
  ) w
  where w.bytes <= page_bytes()
  order by w.seen_at desc, w.id
$$;
