-- Deletes workflows that ended longer ago than they are kept, with their steps and signals, up to p_limit steps in one
-- call; but none while the job lives that waited for it. Returns how many steps and workflows it has deleted. Skips
-- workflows that another transaction has locked.
create or replace function jobforge.forget_workflows(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_roots uuid[];
  v_steps integer;
  v_gone uuid[];
begin
  v_roots := array(
    select s.id
    from workflows w
    join steps s on s.id = w.id
    where w.finished_at <= p_now - interval '1 day'
      and w.finished_at + make_interval(days => w.keep_days) <= p_now
      -- The job that waited for it reads its output again whenever it goes on. A subquery with a limit is asked for one
      -- workflow at a time: NOT EXISTS may become a join that reads the whole queue.
      and (select true from live_rows j where j.id = w.parent_id limit 1) is null
    order by w.finished_at
    limit 100
    for update of s skip locked);
  delete from steps s
  where s.id = any (array(
    select m.id from steps m where m.workflow_id = any (v_roots) and m.kind <> 'root' limit p_limit));
  get diagnostics v_steps = row_count;
  v_gone := array(
    select r.id
    from unnest(v_roots) r(id)
    where not exists (select from steps s where s.workflow_id = r.id and s.kind <> 'root'));
  delete from signals g where g.target_id = any (v_gone);
  delete from workflows w where w.id = any (v_gone);
  delete from steps s where s.id = any (v_gone);
  return v_steps + cardinality(v_gone);
end $$;
