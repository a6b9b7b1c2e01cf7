-- Returns facts about the installation that only its owner can see, for `jobforge doctor` and monitoring: versions,
-- differences from the list of grants, tables without row security, objects of others with names like JobForge's and
-- who may create objects in the API schema, rows and size of the queue and the runs, how far ahead leaves exist, rows
-- in default leaves, when maintenance last ran and which of its tasks fail, roles whose bindings are stale, how full
-- the queue of notifications is, how many schedules of types that are not paused are due (up to 1,000 of a type), since
-- when, and which types have runs that take far longer than usual. It returns nothing about a tenant. The caller
-- decides what is a problem.
-- Who: operators and readers that are not bound to a tenant, because this concerns every tenant. Locks nothing.
create or replace function :"api_schema".jobforge_health() returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp as $$
begin
  if bound_tenant() is not null then
    perform fail_forbidden('Permission denied: this concerns every tenant',
      'Call it as a role that is bound to no tenant.');
  end if;
  return (select jsonb_build_object(
    'version', i.version,
    'min_client', i.min_client,
    'api_schema', i.api_schema,
    'time_travel', i.time_travel,
    'now', jobforge.now(),
    'grants', (
      select coalesce(jsonb_agg(jsonb_build_object('object', g.name, 'wanted', g.wanted, 'granted', g.granted)
        order by g.name), '[]')
      from grants(i.api_schema) g
      where array(select unnest(g.wanted) order by 1) <> array(select unnest(g.granted) order by 1)),
    'open_tables', (
      select coalesce(jsonb_agg(c.relname order by c.relname), '[]')
      from pg_class c
      where c.relnamespace = 'jobforge'::regnamespace and c.relkind in ('r', 'p') and not c.relrowsecurity),
    'foreign_objects', (
      select coalesce(jsonb_agg(jsonb_build_object('object', f.object, 'kind', f.kind, 'owner', f.owner)
        order by f.object), '[]')
      from foreign_objects(i.api_schema) f),
    'creators', (select coalesce(jsonb_agg(c order by c), '[]') from creators(i.api_schema) c),
    'hot', (
      select jsonb_build_object(
        'live', sum(pg_stat_get_live_tuples(h.oid)),
        'dead', sum(pg_stat_get_dead_tuples(h.oid)),
        'table_bytes', sum(pg_table_size(h.oid)),
        'index_bytes', sum(pg_indexes_size(h.oid)),
        'vacuumed_at', max(greatest(pg_stat_get_last_vacuum_time(h.oid), pg_stat_get_last_autovacuum_time(h.oid))),
        'autovacuum', current_setting('autovacuum') = 'on'
          and bool_and(not coalesce('autovacuum_enabled=false' = any (h.reloptions), false)))
      from pg_class h
      where h.oid in ('queue'::regclass, 'runs'::regclass)),
    'leaves', (
      select coalesce(jsonb_agg(jsonb_build_object('branch', l.branch, 'keep_days', l.keep_days,
        'ahead_to', l.ahead_to)), '[]')
      from (
        select l.branch, l.keep_days, max(l.to_at) as ahead_to
        from leaves l
        where l.keep_days in (select shelf_for(p.retention_days) from policies p)
        group by 1, 2
        order by 1, 2
      ) l),
    'lacks_shelf', lacks_shelf(),
    'overdue_leaves', (
      select count(*) from leaves l
        where l.to_at + make_interval(days => l.keep_days) <= jobforge.now() - interval '1 day'),
    'maintained_at', (select jsonb_object_agg(m.task, m.ran_at) from maintenance m where isfinite(m.ran_at)),
    'failed_tasks', (
      select coalesce(jsonb_object_agg(m.task, jsonb_build_object('failures', m.failures, 'failed_at', m.failed_at,
        'error', m.error)), '{}')
      from maintenance m
      where m.failures > 0),
    'stale_bindings', to_jsonb(stale_bindings()),
    'notify_queue', pg_notification_queue_usage(),
    'outbox', (select count(*) from outbox),
    'due_schedules', (
      select jsonb_build_object('count', coalesce(sum(d.due), 0), 'oldest_at', min(d.oldest_at))
      from unnest(due_schedules(null, false, jobforge.now())) d
      where not is_paused('all', '', jobforge.now()) and not is_paused('type', d.type, jobforge.now())),
    'long_runs', (select coalesce(jsonb_agg(to_jsonb(l)), '[]') from long_runs(jobforge.now()) l))
  from installation i);
end $$;
