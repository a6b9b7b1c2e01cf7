-- A schedule as it is after some runs have ended, in their order. The only place where a run's end becomes a schedule's state,
-- for rows that are written and for those that a view shows while an application holds them.
-- A handler's time is exact and counts, whatever else was said; one that nobody named fills a gap only. Reads no table: it is
-- the owner's only because readers of the view may not name the kernel's types.
create or replace function jobforge.folded(p_schedule jobforge.schedules, p_ends jobforge.schedule_end[])
returns jobforge.schedules
language plpgsql immutable
security definer
set search_path = jobforge, pg_temp as $$
declare
  v schedules := p_schedule;
  v_end schedule_end;
begin
  if p_ends is null then
    return v;
  end if;
  foreach v_end in array p_ends loop
    -- A run that was canceled says nothing about the task.
    if v_end.status <> 'canceled' then
      v.consecutive_failures := case v_end.status when 'succeeded' then 0 else v.consecutive_failures + 1 end;
      v.last_error := case when v_end.status <> 'succeeded' then coalesce(v_end.error, '') end;
      v.last_run_at := v_end.ended_at;
      v.last_status := v_end.status;
      v.last_scheduled_for := v_end.scheduled_for;
    end if;
    v.next_run_at := case when v_end.exact then v_end.next_run_at else coalesce(v.next_run_at, v_end.next_run_at) end;
    if v.next_run_at > v.ends_at then
      v.next_run_at := null;
    end if;
  end loop;
  return v;
end $$;

-- Schedules in public words. running_since is read from the run itself: a claim that wrote it here would have to wait for
-- whoever holds the row.
create or replace view jobforge.all_schedules as
select
  s.id,
  s.tenant_id,
  s.type,
  s.key,
  s.kind,
  s.cron,
  s.timezone,
  s.every,
  s.anchor,
  s.jitter,
  s.enabled,
  f.next_run_at,
  (select min(j.started_at) from jobforge.jobs j where j.schedule_id = s.id and j.state = 'running') as running_since,
  f.last_run_at,
  f.last_scheduled_for,
  f.last_status,
  f.last_error,
  f.consecutive_failures,
  s.run_requested,
  (select count(*)::integer from jobforge.jobs j where j.schedule_id = s.id) as live_runs,
  s.overlap,
  s.missed,
  s.missed_limit,
  s.starts_at,
  s.ends_at,
  s.retry_runs,
  s.priority,
  s.max_attempts,
  s.payload,
  s.tags,
  s.subject,
  s.concurrency_key,
  s.created_at,
  s.updated_at,
  s.declared_by
from jobforge.schedules s
cross join lateral (
  select array_agg(row(e.schedule_id, e.tenant_id, e.scheduled_for, e.ended_at, e.status, e.error, e.next_run_at, e.exact)
    ::jobforge.schedule_end order by e.id) as ends
  from jobforge.schedule_ends e
  where e.schedule_id = s.id
) p
cross join lateral jobforge.folded(s, p.ends) f;

do $$
declare
  v_path text := current_setting('search_path');
begin
  -- So that every name in the text has its schema.
  perform set_config('search_path', 'pg_catalog', true);
  execute format('create or replace view %I.jobforge_schedules as %s', :'api_schema',
    pg_get_viewdef('jobforge.all_schedules'::regclass));
  perform set_config('search_path', v_path, true);
end $$;

alter view :"api_schema".jobforge_schedules owner to jobforge_view;

-- What the handler of a run is told of its schedule, as members of a JSON object with a comma before them.
create or replace function jobforge.schedule_of_run(p_schedule_id uuid, p_scheduled_for timestamptz) returns text
language plpgsql stable as $$
begin
  return concat(',"schedule_id":"', p_schedule_id, '","scheduled_for":', to_json(p_scheduled_for), (
    select concat(',"schedule_key":', to_json(s.key), ',"previous_run":', case when s.last_run_at is null then 'null' else
      json_build_object('scheduled_for', s.last_scheduled_for, 'finished_at', s.last_run_at, 'status', s.last_status,
        'error', s.last_error, 'consecutive_failures', s.consecutive_failures)::text end)
    from jobforge.all_schedules s
    where s.id = p_schedule_id));
end $$;
