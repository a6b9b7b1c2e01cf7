-- Forgets jobs whose retention has passed, a bounded slice in each call. First it deletes the keys, large payloads and
-- attempts of the jobs of one leaf. Then it truncates the leaf, and then drops it, each as soon as no reader is in the
-- way. It picks any of the leaves whose time has passed, so that one with a reader holds up no other. Returns how many
-- jobs it processed. Waits for readers of the leaf for up to the DDL lock timeout.
create or replace function jobforge.retire_leaves(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_leaf leaves;
  v_jobs uuid[];
  v_count integer;
  v_last tid;
begin
  select l.* into v_leaf
  from leaves l
  where l.to_at + make_interval(days => l.keep_days) <= p_now
  order by random()
  limit 1
  for update skip locked;
  if not found then
    return 0;
  elsif v_leaf.emptied_at is not null then
    if try_ddl(format('drop table %I', v_leaf.name)) then
      delete from leaves l where l.name = v_leaf.name;
    end if;
    return 0;
  end if;
  execute format(
    'select count(*), max(s.ctid) from (select f.ctid from %I f where f.ctid > $1 limit $2) s',
    v_leaf.name) into v_count, v_last using v_leaf.cleared_to, p_limit;
  if v_count > 0 then
    execute format('select array(select f.id from %I f where f.ctid > $1 and f.ctid <= $2 for update skip locked)',
      v_leaf.name) into v_jobs using v_leaf.cleared_to, v_last;
    perform delete_side_rows(v_jobs);
    -- An open transaction that reschedules a job has locked it. The job keeps its rows, and the slice is processed
    -- again.
    if cardinality(v_jobs) < v_count then
      return 0;
    end if;
    update leaves l set cleared_to = v_last where l.name = v_leaf.name;
  elsif try_ddl(format('truncate %I', v_leaf.name)) then
    update leaves l set emptied_at = p_now where l.name = v_leaf.name;
  end if;
  return v_count;
end $$;

-- Forgets jobs in default leaves whose retention has passed: the few that finished before maintenance had made their
-- leaf. Returns how many. Skips rows that another transaction has locked; never waits.
create or replace function jobforge.empty_default_leaves(p_now timestamptz, p_limit integer) returns integer
language plpgsql
set search_path = jobforge, pg_temp as $$
declare
  v_leaf regclass;
  v_gone uuid[];
  v_count integer := 0;
begin
  for v_leaf in
    select i.inhrelid::regclass
    from pg_partition_tree('archive') t
    join pg_inherits i on i.inhrelid = t.relid
    join pg_class c on c.oid = t.relid
    where t.isleaf and pg_get_expr(c.relpartbound, c.oid) = 'DEFAULT'
  loop
    execute format(
      'with gone as (
         delete from %s f where f.ctid = any (array(
           select d.ctid from %s d
           where d.finished_at + make_interval(days => d.keep_days) <= $1
           limit $2
           for update skip locked))
         returning f.id
       )
       select array_agg(g.id) from gone g', v_leaf, v_leaf) into v_gone using p_now, p_limit;
    perform delete_side_rows(v_gone);
    v_count := v_count + coalesce(cardinality(v_gone), 0);
  end loop;
  return v_count;
end $$;
