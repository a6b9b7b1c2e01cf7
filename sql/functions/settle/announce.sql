-- Sends notifications: wakes sleeping workers for jobs that went back into the queue, and tells watchers which jobs
-- have finished. Deletes the watches it has served; skips those that another transaction has locked and never waits.
create or replace function jobforge.announce(p_outcomes jobforge.run_outcome[], p_now timestamptz) returns void
language plpgsql as $$
declare
  v_watched uuid[];
begin
  perform jobforge.wake(o.type, min(o.run_at), p_now, array_agg(distinct o.tenant_id))
  from unnest(p_outcomes) o
  where o.status = 'queued'
  group by o.type;
  if exists (select from jobforge.watches) then
    v_watched := array(
      select w.job_id
      from jobforge.watches w
      where w.job_id = any (array(select o.id from unnest(p_outcomes) o where o.status <> 'queued')));
    perform jobforge.notify('jobforge_done', i::text) from unnest(v_watched) i;
    -- A watch that an application is just renewing stays, and expires later.
    delete from jobforge.watches w
    where w.ctid = any (array(
      select f.ctid from jobforge.watches f where f.job_id = any (v_watched) for update skip locked));
  end if;
end $$;
