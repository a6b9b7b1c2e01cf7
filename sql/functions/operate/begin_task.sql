-- Whether it is time for a task of maintenance (p_every null: always), and nobody else is at it. The caller's transaction
-- holds the task then.
create or replace function jobforge.begin_task(p_task text, p_now timestamptz, p_every interval) returns boolean
language plpgsql as $$
begin
  -- A plain read first: most calls come too early, and must not write.
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
