-- Returns a schedule as it is after some runs have ended, in their order. This is the only place where the end of a
-- run becomes the state of a schedule, for rows that are written and for those that a view shows while an application
-- holds them. A time that a handler names is exact and always counts. A computed time only fills a gap. If a caller
-- named a time for a dynamic schedule and it came during the run, it becomes a request: another run follows. The
-- function reads no table. It is security definer because readers of the view may not use the kernel's types.
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
    -- A canceled run says nothing about the task.
    if v_end.status <> 'canceled' then
      v.consecutive_failures := case v_end.status when 'succeeded' then 0 else v.consecutive_failures + 1 end;
      v.last_error := case when v_end.status <> 'succeeded' then coalesce(v_end.error, '') end;
      v.last_run_at := v_end.ended_at;
      v.last_status := v_end.status;
      v.last_scheduled_for := v_end.scheduled_for;
    end if;
    if v_end.exact and v.kind = 'dynamic' and v.enabled and v.next_run_at <= v_end.ended_at
      and v.next_run_at <> v_end.next_run_at
    then
      v.run_requested := true;
    end if;
    v.next_run_at := case when v_end.exact then v_end.next_run_at else coalesce(v.next_run_at, v_end.next_run_at) end;
    if v.next_run_at > v.ends_at then
      v.next_run_at := null;
    end if;
  end loop;
  return v;
end $$;
