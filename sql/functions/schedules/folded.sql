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
