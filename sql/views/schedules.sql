-- Schedules with the columns and types of the API, including ends of runs that are not written to their row yet.
-- running_since is read from the run itself: a claim that wrote it here would wait for transactions that hold the row.
-- waiting_since is the due time of the oldest run that is queued: the next run of a dynamic schedule, whose next_run_at
-- is null until the run ends.
create or replace view jobforge.all_schedules as
select
  s.id,
  s.tenant_id,
  s.type::text,
  s.key::text,
  s.kind::text,
  s.cron,
  s.timezone,
  s.every,
  s.anchor::timestamptz,
  s.jitter,
  s.enabled,
  f.next_run_at::timestamptz,
  (select min(r.started_at) from jobforge.runs r where r.schedule_id = s.id) as running_since,
  f.last_run_at,
  f.last_scheduled_for,
  f.last_status::text,
  f.last_error,
  f.consecutive_failures::integer,
  f.run_requested,
  (select count(*)::integer
    from (
      select from jobforge.queue q where q.schedule_id = s.id
      union all
      select from jobforge.runs r where r.schedule_id = s.id
    ) l) as live_runs,
  s.overlap::text,
  s.missed::text,
  s.missed_limit,
  s.starts_at::timestamptz,
  s.ends_at::timestamptz,
  s.retry_runs,
  s.priority,
  s.max_attempts,
  s.payload,
  s.tags::text[],
  s.subject::text,
  s.concurrency_key::text,
  s.created_at,
  s.updated_at,
  s.declared_by,
  (select min(q.scheduled_for) from jobforge.queue q where q.schedule_id = s.id) as waiting_since,
  s.default_attempts,
  (select t.label from jobforge.tenants t where t.tenant_id = s.tenant_id) as tenant_label
from jobforge.schedules s
cross join lateral (
  select array_agg(row(
      e.schedule_id, e.tenant_id, e.scheduled_for, e.ended_at, e.status, e.error, e.next_run_at, e.exact
    )::jobforge.schedule_end order by e.id) as ends
  from jobforge.schedule_ends e
  where e.schedule_id = s.id
) p
cross join lateral jobforge.folded(s, p.ends) f;

do $$
begin
  -- With the search path of a migration every name in the copied text has its schema.
  execute format('create or replace view %I.jobforge_schedules as %s', :'api_schema',
    pg_get_viewdef('jobforge.all_schedules'::regclass));
end $$;

alter view :"api_schema".jobforge_schedules owner to jobforge_view;
