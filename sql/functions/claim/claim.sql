-- Claims up to p_limit jobs for a worker: strict priority; within a rank tenants take turns. Promotes what has become due
-- first; a claim that would come back short looks after lost leases and expired jobs and tries again, so any worker keeps the
-- system alive. With a hint it goes on where the last call stopped; when that gives less than asked for, or something more
-- urgent has come, it looks again in full before it answers. Jobs that a limit has no room for are passed over. Answers where the
-- claimed rows are, which holds until the transaction ends, and when the next waiting job of the types becomes due, or a limit
-- that said no has room again. Never waits for a lock.
create or replace function jobforge.claim(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_want_hint boolean,
  inout p_hint jsonb, out claimed tid[], out due timestamptz
)
language plpgsql
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_key text := coalesce(p_tenant_id::text, '') || ':' || coalesce(array_to_string(p_types, ','), '*');
  v_hint hint := read_hint(p_hint, v_key, p_now);
  v_at timestamptz := coalesce(v_hint.at, p_now);
  v_from bigint := v_hint.lane;
  v_floor timestamptz := coalesce(v_hint.due, '-infinity');
  v_batch integer := greatest(p_limit, 200);
  v_pages bigint := pages_read();
  v_open text[] := open_types(coalesce(p_types, v_hint.types), p_now);
  v_closed bigint[] := closed_lanes(p_now);
  v_rules claim_rules := claim_rules();
  v_full text[] := '{}';
  v_again_at timestamptz;
  v_promote record;
  v_above integer := -2147483648;
  v_looks integer := 0;
  v_rounds integer := 0;
  v_look record;
  v_take record;
  v_streams stream[];
  v_look_again boolean := true;
  -- A worker that has just been here looks further, so that its hint holds the lanes of a few hundred tenants.
  v_reach integer := case when p_want_hint and v_hint.lane is not null and v_hint.many is null then 256 else 64 end;
  -- What looks of this call have read, and of how many types and lanes they were.
  v_spent bigint := 0;
  v_seen integer := 0;
begin
  claimed := '{}';
  if v_hint.streams is null and v_hint.costly is not true and p_types is not null then
    -- Nothing to go on with: it looks in full from the start, not once more at the end.
    v_hint.at := null;
    v_at := p_now;
    v_floor := '-infinity';
  end if;
  -- Not for a role that is bound to a tenant: it can read its hint, and the types are everybody's.
  if p_types is null and is_costly(pages_read() - v_pages, cardinality(v_open)) and bound_tenant() is null then
    v_hint.types := v_open;
  end if;
  if v_rules.limited then
    if unpark_due(p_now) > 0 then
      -- Older than what the hint remembers, so it would be passed over; and it may be of a new type.
      v_hint.streams := null;
      v_open := open_types(p_types, p_now);
    end if;
    if v_rules.early then
      perform count_early_runs(p_now);
    end if;
    select f.types, f.next_at into v_full, v_again_at from full_types(v_open, p_now) f;
    v_open := without_types(v_open, v_full);
  end if;
  v_pages := blocks_read();
  v_promote := make_ready(v_open, p_now, v_batch, v_floor);
  v_spent := blocks_read() - v_pages;

  if v_hint.streams is not null then
    select m.urgent, m.ask into v_look_again, v_hint.ask from more_urgent(v_open, v_hint.streams, v_hint.ask, p_now) m;
  end if;
  if not v_look_again then
    v_take := take(p_worker_id,
      array(select s from unnest(v_hint.streams) s where s.type = any (v_open) and not s.lane = any (v_closed)),
      p_tenant_id, p_limit, p_now, v_rules);
    claimed := v_take.claimed;
    v_streams := v_take.streams;
    v_from := after_lane(v_take.last_lane);
    if v_take.passed_over > 0 then
      v_streams := null;
      v_full := v_full || v_take.full_types;
      v_again_at := least(v_again_at, v_take.again_at);
    end if;
  end if;

  while cardinality(claimed) < p_limit loop
    if v_hint.at is not null then
      -- What a transaction left open brought in late lies before the floor, and may be of a new type.
      v_hint.at := null;
      v_floor := '-infinity';
      v_open := without_types(open_types(p_types, p_now), v_full);
      v_promote := make_ready(v_open, p_now, v_batch);
    end if;
    v_at := p_now;
    v_streams := null;
    v_pages := blocks_read();
    v_look := look(v_open, p_tenant_id, v_closed, v_above, coalesce(v_from, -9223372036854775808),
      greatest(p_limit - cardinality(claimed), v_reach));
    v_spent := v_spent + blocks_read() - v_pages;
    v_seen := v_seen + cardinality(v_open) + cardinality(v_look.streams);
    if not v_look.complete and cardinality(v_look.streams) >= 256 then
      v_hint.many := p_now + interval '10 seconds';
    end if;
    if v_look.rank is null then
      -- What is due may all be of paused tenants, and a million: the next claim goes on with it.
      v_rounds := v_rounds + 1;
      exit when v_rounds > 10 or (v_promote.promoted < v_batch and not maintain_jobs(p_now, 1000, false));
      v_open := without_types(open_types(p_types, p_now), v_full);
      v_promote := make_ready(v_open, p_now, v_batch);
      v_above := -2147483648;
      continue;
    end if;
    if v_from is null and not v_look.complete then
      -- A random place among many lanes: workers that start at the same one meet in the same rows.
      v_from := (random() * 18446744073709549568 - 9223372036854774784)::bigint;
      continue;
    end if;
    v_streams := v_look.streams;
    if v_from is null then
      v_streams := in_turn(v_streams, p_limit - cardinality(claimed), coalesce(v_rules.weighted, false));
    end if;
    v_take := take(p_worker_id, v_streams, p_tenant_id, p_limit - cardinality(claimed), p_now, v_rules);
    claimed := claimed || v_take.claimed;
    v_from := coalesce(after_lane(v_take.last_lane), v_from);
    v_streams := case when v_look.complete and v_take.passed_over = 0 then v_take.streams end;
    if v_take.passed_over > 0 then
      v_full := v_full || v_take.full_types;
      v_open := without_types(v_open, v_full);
      v_again_at := least(v_again_at, v_take.again_at, case when v_take.gave_up then p_now end);
    end if;
    exit when cardinality(claimed) >= p_limit or v_take.gave_up;

    -- All that was seen of this rank has been asked. What is left is beyond it, paused, or in other workers' hands.
    v_looks := v_looks + 1;
    if v_look.complete or v_looks >= 8 then
      v_above := v_look.rank;
      v_looks := 0;
    else
      v_from := after_lane((v_look.streams[cardinality(v_look.streams)]).lane);
    end if;
  end loop;

  due := v_promote.due;
  if v_rules.limited then
    due := least(due, v_again_at, (select r.due_at from unpark_requests r order by r.due_at limit 1));
  end if;
  if p_want_hint then
    if v_seen > 0 then
      -- A descent and a row for each, and what the last claims have left behind.
      v_hint.costly := case when v_spent > 100 + 6 * v_seen then true end;
    end if;
    v_hint.at := v_at;
    v_hint.lane := v_from;
    v_hint.due := least(v_promote.due, p_now);
    v_hint.streams := v_streams;
    p_hint := write_hint(v_hint);
  end if;
end $$;

-- The lane a look begins at after this one was served; the first of all after the last.
create or replace function jobforge.after_lane(p_lane bigint) returns bigint
language sql immutable as $$
  select case when p_lane < 9223372036854775807 then p_lane + 1 when p_lane is not null then -9223372036854775808 end
$$;

-- Whether a job of a better rank than the streams' is ready. Under a long transaction the entries of all better jobs that have
-- been are walked for that, so when it was costly it is not asked again before `ask`, a fifth of a second later.
create or replace function jobforge.more_urgent(
  p_types text[], p_streams jobforge.stream[], p_ask timestamptz, p_now timestamptz, out urgent boolean, out ask timestamptz
)
language plpgsql
set enable_sort = off as $$
declare
  v_pages bigint := jobforge.pages_read();
begin
  if p_ask > p_now then
    urgent := false;
    ask := p_ask;
    return;
  end if;
  urgent := (
    select exists (
      select from unnest(p_types) t(type)
      cross join lateral (
        select from jobforge.jobs j
        where j.state = 'ready' and j.type = t.type and j.rank < (p_streams[1]).rank
        order by j.rank
        limit 1
      ) x));
  if jobforge.is_costly(jobforge.pages_read() - v_pages, cardinality(p_types)) then
    ask := p_now + interval '200 milliseconds';
  end if;
end $$;

-- How many pages this transaction has read to find queued jobs and due schedules: what a question cost is counted, because its
-- time would measure the neighbours. Of jobs the pages of the indexes; of schedules those of the table too, because many are due at
-- the same time, and a page of the index holds a thousand such entries.
create or replace function jobforge.pages_read() returns bigint
language sql stable as $$
  select pg_stat_get_xact_blocks_fetched('jobforge.jobs_ready'::regclass)
    + pg_stat_get_xact_blocks_fetched('jobforge.jobs_waiting'::regclass)
    + pg_stat_get_xact_blocks_fetched('jobforge.schedules_due'::regclass)
    + pg_stat_get_xact_blocks_fetched('jobforge.schedules'::regclass)
$$;

-- The same with the pages of the jobs themselves: a dead entry costs a look into its row.
create or replace function jobforge.blocks_read() returns bigint
language sql stable as $$
  select jobforge.pages_read() + pg_stat_get_xact_blocks_fetched('jobforge.jobs'::regclass)
$$;

-- Whether a question about some types read more pages than dead entries can explain in a healthy database.
create or replace function jobforge.is_costly(p_pages bigint, p_types integer) returns boolean
language sql immutable as $$
  select p_pages > 20 + 10 * p_types
$$;
