-- Moves queued jobs to another store and back, one step of a batch at a time. p_step is one of these:
--   count    returns {jobs, left}: how many queued jobs of the types can be moved, and how many cannot, because they
--            are runs of schedules or steps of workflows, or have a concurrency key
--   take     takes up to p_limit queued jobs out of the queue. Returns the documents of all that are taken and not sent
--   send     p_jobs are ids: the other store has them, but does not run them yet
--   sent     returns the documents of up to p_limit jobs that are sent
--   drop     p_jobs are ids of sent jobs: the other store runs them from now on
--   receive  p_jobs are documents: the other store no longer runs these jobs. Returns how many are new here
--   release  puts up to p_limit received jobs into the queue, because the other store has let them go. Returns how many
-- Repeating a step is harmless. Documents keep the id of a job, its keys, its due time and the number of its runs.
-- Who: operators. Locks the rows it moves; never waits.
create or replace function :"api_schema".jobforge_move_jobs(
  p_step text,
  p_types text[],
  p_jobs jsonb default '[]',
  p_limit integer default 500
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_limit integer := least(greatest(coalesce(p_limit, 500), 1), 5000);
begin
  perform require_operator();
  if p_types is null or cardinality(p_types) = 0 then
    perform fail_argument('types', 'types must name at least one type');
  elsif p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    perform fail_argument('jobs', 'jobs must be a JSON array');
  end if;
  case p_step
    when 'count' then
      return count_movable(p_types);
    when 'take' then
      perform take_movable(p_types, v_limit, v_now);
      return moves_in('taken', p_types, 5000);
    when 'sent' then
      return moves_in('sent', p_types, v_limit);
    when 'send' then
      update moves m set step = 'sent' where m.step = 'taken' and m.id in (select moved_ids(p_jobs));
      return 'null';
    when 'drop' then
      delete from moves m where m.step = 'sent' and m.id in (select moved_ids(p_jobs));
      return 'null';
    when 'receive' then
      return to_jsonb(receive_moved(p_types, p_jobs));
    when 'release' then
      return to_jsonb(release_moved(p_types, v_limit, v_now));
    else
      perform fail_argument('step', 'step must be count, take, send, sent, drop, receive or release');
  end case;
end $$;

-- Returns the ids of a JSON array of texts.
create or replace function jobforge.moved_ids(p_jobs jsonb) returns setof uuid
language sql immutable as $$
  select e::uuid from jsonb_array_elements_text(p_jobs) e
$$;

-- Returns the documents of jobs in a step of their move, in the order of their ids.
create or replace function jobforge.moves_in(p_step text, p_types text[], p_limit integer) returns jsonb
language sql stable as $$
  select coalesce(jsonb_agg(m.document order by m.id), '[]')
  from (
    select m.id, m.document from jobforge.moves m
    where m.step = p_step and m.type = any (p_types)
    order by m.id
    limit p_limit
  ) m
$$;

-- Returns how many queued jobs of the types can be moved, and how many stay.
create or replace function jobforge.count_movable(p_types text[]) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'jobs', count(*) filter (where m.movable),
    'left', count(*) filter (where not m.movable))
  from jobforge.queue j
  cross join lateral (
    select num_nonnulls(j.schedule_id, j.concurrency_key, j.step_id) = 0 as movable
  ) m
  where j.type = any (p_types)
$$;
