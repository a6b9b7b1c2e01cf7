-- Moves queued jobs to another store and back, one step of a batch at a time. p_step is one of these:
--   count    returns {jobs, left}: how many queued jobs of the types can be moved, and how many cannot, because only
--            this database has what they need: see take_movable.sql
--   begin    begins a move of the types, and returns its id, which all further steps name as p_move. A move that has
--            begun before can do no further step: what it has read may no longer be true
--   take     takes up to p_limit queued jobs out of the queue, unless some are taken and not sent. Returns the
--            documents of those that are
--   send     p_jobs are ids: the other store has them, but does not run them yet
--   sent     returns the documents of up to p_limit jobs that are sent
--   drop     p_jobs are ids of sent jobs: the other store runs them from now on
--   receive  p_jobs are documents: the other store no longer runs these jobs. Returns how many are new here
--   release  p_jobs are ids of received jobs: the other store has let them go. Puts them into the queue, and returns
--            how many. Without ids, up to p_limit of all that were received
-- Repeating a step is harmless. Documents keep the id of a job, its keys, its due time and the number of its runs. A
-- response has about 16 MB of them at most; the next call returns the others.
-- Who: operators. Locks the rows it moves. Waits only for another step of a move of the same types.
create or replace function :"api_schema".jobforge_move_jobs(
  p_step text,
  p_types text[],
  p_jobs jsonb default '[]',
  p_limit integer default 500,
  p_move uuid default null
) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp as $$
declare
  v_now timestamptz := jobforge.now();
  v_limit integer := least(greatest(coalesce(p_limit, 500), 1), 5000);
begin
  perform require_operator();
  perform require_movable(p_step, p_types, p_jobs);
  if p_step = 'count' then
    return count_movable(p_types);
  elsif p_step = 'begin' then
    return to_jsonb(begin_move(p_types));
  end if;
  perform require_move(p_types, p_move);
  case p_step
    when 'take' then
      if not exists (select from moves m where m.step = 'taken' and m.type = any (p_types)) then
        perform take_movable(p_types, v_limit, v_now);
      end if;
      return moves_in('taken', p_types, 5000);
    when 'sent' then
      return moves_in('sent', p_types, v_limit);
    when 'send' then
      update moves m set step = 'sent'
      where m.step = 'taken' and m.type = any (p_types) and m.id in (select moved_ids(p_jobs));
      return 'null';
    when 'drop' then
      delete from moves m where m.step = 'sent' and m.type = any (p_types) and m.id in (select moved_ids(p_jobs));
      return 'null';
    when 'receive' then
      return to_jsonb(receive_moved(p_types, p_jobs));
    when 'release' then
      return to_jsonb(release_moved(p_types, array(select moved_ids(p_jobs)), v_limit, v_now));
  end case;
end $$;

-- Raises JF002 for a step, types or jobs that no move can have.
create or replace function jobforge.require_movable(p_step text, p_types text[], p_jobs jsonb) returns void
language plpgsql as $$
begin
  if p_types is null or cardinality(p_types) = 0 then
    perform jobforge.fail_argument('types', 'types must name at least one type');
  elsif exists (select from unnest(p_types) t where jobforge.is_type(t) is not true) then
    perform jobforge.fail_argument('types', 'types: ' || jobforge.type_rule(), jobforge.type_hint());
  elsif p_jobs is null or jsonb_typeof(p_jobs) <> 'array' then
    perform jobforge.fail_argument('jobs', 'jobs must be a JSON array');
  elsif p_step is null
    or p_step <> all ('{count,begin,take,send,sent,drop,receive,release}')
  then
    perform jobforge.fail_argument('step',
      'step must be count, begin, take, send, sent, drop, receive or release');
  end if;
end $$;

-- Begins a move of the types. Returns its id.
create or replace function jobforge.begin_move(p_types text[]) returns uuid
language plpgsql as $$
declare
  v_move uuid := jobforge.new_id();
begin
  insert into jobforge.movers as m (type, move)
  -- In the order in which require_move locks them.
  select distinct t collate "C", v_move from unnest(p_types) t order by 1
  on conflict (type) do update set move = excluded.move;
  return v_move;
end $$;

-- Raises JF002 unless this move is the last one of all the types. No other move of them begins before this transaction
-- ends.
create or replace function jobforge.require_move(p_types text[], p_move uuid) returns void
language plpgsql as $$
begin
  perform from jobforge.movers m where m.type = any (p_types) order by m.type for share;
  if exists (
    select from unnest(p_types) t
    where not exists (select from jobforge.movers m where m.type = t and m.move = p_move)
  ) then
    perform jobforge.fail_argument('move', 'another move of these types has begun since',
      'Nothing is lost: the other move goes on with these jobs.');
  end if;
end $$;

-- Returns the ids of a JSON array of texts.
create or replace function jobforge.moved_ids(p_jobs jsonb) returns setof uuid
language sql immutable as $$
  select e::uuid from jsonb_array_elements_text(p_jobs) e
$$;

-- Returns the documents of jobs in a step of their move, in the order of their ids: as many as one response can have.
create or replace function jobforge.moves_in(p_step text, p_types text[], p_limit integer) returns jsonb
language plpgsql stable as $$
declare
  v_document jsonb;
  v_documents jsonb[] := '{}';
  v_bytes bigint := 0;
begin
  for v_document in
    select m.document from jobforge.moves m
    where m.step = p_step and m.type = any (p_types)
    order by m.id
    limit p_limit
  loop
    v_bytes := v_bytes + octet_length(v_document::text);
    exit when v_bytes > 16000000 and cardinality(v_documents) > 0;
    v_documents := v_documents || v_document;
  end loop;
  return to_jsonb(v_documents);
end $$;

-- Returns how many queued jobs of the types can be moved, and how many stay. take_movable says which.
create or replace function jobforge.count_movable(p_types text[]) returns jsonb
language sql stable as $$
  select jsonb_build_object(
    'jobs', count(*) filter (where m.movable),
    'left', count(*) filter (where not m.movable))
  from jobforge.queue j
  cross join lateral (
    select num_nonnulls(j.schedule_id, j.concurrency_key, j.step_id) = 0
      and j.state <> 'suspended'
      and j.id not in (select c.job_id from jobforge.checkpoints c)
      and j.id not in (select g.target_id from jobforge.signals g)
      and j.id not in (select n.job_id from jobforge.job_notices n where n.live)
      and j.id not in (select a.job_id from jobforge.artifacts a where a.job_id is not null) as movable
  ) m
  where j.type = any (p_types)
$$;
