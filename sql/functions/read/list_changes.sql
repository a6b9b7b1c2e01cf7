-- Returns what has changed lately, so that a page that shows it can be read again: {entries, more, workers}. entries
-- are those of the audit log since p_since, the newest first, at most 100: {id, kind}, where kind is what was changed,
-- such as gate, limit, type, tenant, schedule or job. more is true if there are others. Without p_since there are none.
-- For readers and operators workers is {known, alive, started_at}, which changes when a worker comes, stops or goes
-- silent: how many there are, how many of them are alive, and when the last one started. Entries are written before
-- they are committed, so ask with a p_since that is some seconds ago, and ignore those that are known.
-- Who: the tenant itself, with its own entries; operators and readers, with null for all tenants. Locks nothing; reads
-- at most 101 entries, and the rows of the workers.
create or replace function :"api_schema".jobforge_list_changes(
  p_tenant_id uuid default null, p_since timestamptz default null
) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_custom_plan as $$
declare
  v_tenant_id uuid := countable_tenant(p_tenant_id);
  v_entries jsonb := '[]';
begin
  if p_since is not null then
    select coalesce(jsonb_agg(jsonb_build_object('id', a.id, 'kind', a.entity_type) order by a.id desc), '[]')
    into v_entries
    from (
      select a.id, a.entity_type, a.at
      from audit_log a
      where v_tenant_id is null or a.tenant_id = v_tenant_id
      order by a.id desc
      limit 101
    ) a
    where a.at >= p_since;
  end if;
  return jsonb_build_object(
    'entries', case when jsonb_array_length(v_entries) > 100 then v_entries - 100 else v_entries end,
    'more', jsonb_array_length(v_entries) > 100,
    'workers', case when caller_is('jobforge_reader') or caller_is('jobforge_operator')
      then workers_mark(v_tenant_id, jobforge.now()) end);
end $$;

-- Returns what changes when a worker comes, stops or goes silent.
create or replace function jobforge.workers_mark(p_tenant_id uuid, p_now timestamptz) returns jsonb
language sql stable as $$
  select jsonb_build_object('known', count(*), 'alive', count(*) filter (where jobforge.is_alive(w, p_now)),
    'started_at', max(w.started_at))
  from jobforge.workers w
  where p_tenant_id is null or w.scope in (p_tenant_id, jobforge.all_tenants())
$$;
