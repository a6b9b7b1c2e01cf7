-- Deletes what is no longer needed: keys of jobs without history after a day, expired watches, idle marks and workers
-- of processes that ended long ago, token buckets that are full again, audit rows after a year. Never waits.
create or replace function jobforge.forget(p_now timestamptz, p_limit integer) returns integer
language plpgsql as $$
declare
  v_count integer := 0;
  v_step integer;
begin
  delete from jobforge.job_keys k
  where k.ctid = any (array(
    select f.ctid from jobforge.job_keys f
    where f.forget_at <= p_now and f.forget_at is not null
      and (select j.id from jobforge.live_rows j where j.id = f.job_id) is null
    order by f.forget_at limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.watches w
  where w.job_id = any (array(
    select f.job_id from jobforge.watches f where f.until <= p_now limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.idle_workers i
  where i.ctid = any (array(
    select f.ctid from jobforge.idle_workers f
    where f.since < p_now - interval '2 minutes'
      and not exists (
        select from jobforge.workers w
        where w.id = f.worker_id and w.scope = f.scope and jobforge.is_alive(w, p_now))
    limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.offers o
  where o.ctid = any (array(
    select f.ctid from jobforge.offers f
    where not exists (select from jobforge.workers w where w.id = f.worker_id and w.scope = f.scope)
    limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.workers w
  where (w.id, w.scope) in (
    select f.id, f.scope from jobforge.workers f
    where f.seen_at < p_now - case when f.stopped_at is null then interval '1 day' else interval '1 hour' end
    limit p_limit for update skip locked);
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  delete from jobforge.stop_requests r
  where r.ctid = any (array(
    select f.ctid from jobforge.stop_requests f
    where not exists (select from jobforge.workers w where w.id = f.worker_id and w.scope = f.scope)
    limit p_limit for update skip locked));
  delete from jobforge.limit_rates r
  where r.bucket = any (array(
    select f.bucket from jobforge.limit_rates f
    where f.empty_until < p_now - interval '1 hour'
    order by f.empty_until limit p_limit for update skip locked));
  get diagnostics v_step = row_count;
  v_count := v_count + v_step;
  perform jobforge.tidy_marks(p_now, p_limit);
  v_count := v_count + jobforge.forget_holds(p_now, p_limit);
  delete from jobforge.audit_log a
  where a.id = any (array(
    select f.id from (select o.id, o.at from jobforge.audit_log o order by o.id limit p_limit) f
    where f.at < p_now - interval '1 year'));
  get diagnostics v_step = row_count;
  return v_count + v_step + jobforge.forget_types(p_now, p_limit);
end $$;
