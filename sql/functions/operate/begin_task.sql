-- Returns whether a maintenance task is due (p_every null: always) and no other session is doing it. If so, the
-- caller's transaction holds the task.
create or replace function jobforge.begin_task(p_task text, p_now timestamptz, p_every interval) returns boolean
language plpgsql as $$
begin
  -- Read first: most calls come too early and must not write.
  if not exists (
    select from jobforge.maintenance m
    where m.task = p_task and (p_every is null or p_now >= m.ran_at + p_every or p_now < m.ran_at - p_every)
  ) then
    return false;
  end if;
  perform from jobforge.maintenance m where m.task = p_task for update skip locked;
  if not found then
    return false;
  end if;
  update jobforge.maintenance set ran_at = p_now where task = p_task;
  return true;
end $$;
