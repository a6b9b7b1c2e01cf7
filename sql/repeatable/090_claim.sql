-- Claims up to p_limit jobs for a worker: strict priority; within a rank tenants take turns. Promotes what has become due
-- first; a claim that would come back short looks after lost leases and expired jobs and tries again, so any worker keeps the
-- system alive. With a hint it goes on where the last call stopped; when that gives less than asked for, or something more
-- urgent has come, it looks again in full before it answers. Never waits for a lock.
create or replace function jobforge.claim(
  p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid, p_now timestamptz, p_want_hint boolean,
  inout p_hint jsonb, out job_ids uuid[]
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
  v_hint record := read_hint(p_hint, v_key, p_now);
  v_at timestamptz := coalesce(v_hint.at, p_now);
  v_from bigint := v_hint.lane;
  v_floor timestamptz := coalesce(v_hint.due, '-infinity');
  v_batch integer := greatest(p_limit, 200);
  v_open text[] := open_types(p_types, p_now);
  v_closed bigint[] := closed_lanes(p_now);
  v_promoted integer;
  v_above integer := -2147483648;
  v_looks integer := 0;
  v_rounds integer := 0;
  v_look record;
  v_take record;
  v_streams stream[];
begin
  job_ids := '{}';
  v_promoted := promote(v_open, p_now, v_batch, v_floor);

  if v_hint.streams is not null and not is_more_urgent(v_open, v_hint.streams) then
    v_take := take(p_worker_id,
      array(select s from unnest(v_hint.streams) s where s.type = any (v_open) and not s.lane = any (v_closed)),
      p_tenant_id, p_limit, false, p_now);
    job_ids := v_take.job_ids;
    v_streams := v_take.streams;
    v_from := after_lane(v_take.last_lane);
  end if;

  while cardinality(job_ids) < p_limit loop
    if v_floor > '-infinity' then
      -- What a transaction left open brought in late lies before the floor.
      v_floor := '-infinity';
      v_promoted := promote(v_open, p_now, v_batch);
    end if;
    v_at := p_now;
    v_streams := null;
    v_look := look(v_open, p_tenant_id, v_closed, v_above, coalesce(v_from, -9223372036854775808),
      p_limit - cardinality(job_ids));
    if v_look.rank is null then
      -- What is due may all be of paused tenants, and a million: the next claim goes on with it.
      v_rounds := v_rounds + 1;
      exit when v_rounds > 10 or (v_promoted < v_batch and not upkeep(p_now, 1000, false));
      v_open := open_types(p_types, p_now);
      v_promoted := promote(v_open, p_now, v_batch);
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
      v_streams := in_turn(v_streams, p_limit - cardinality(job_ids));
    end if;
    v_take := take(p_worker_id, v_streams, p_tenant_id, p_limit - cardinality(job_ids), false, p_now);
    job_ids := job_ids || v_take.job_ids;
    v_from := coalesce(after_lane(v_take.last_lane), v_from);
    v_streams := case when v_look.complete then v_take.streams end;
    exit when cardinality(job_ids) >= p_limit;

    v_take := take(p_worker_id, v_take.streams, p_tenant_id, p_limit - cardinality(job_ids), true, p_now);
    job_ids := job_ids || v_take.job_ids;
    exit when cardinality(job_ids) >= p_limit;

    -- All that was seen of this rank has been asked. What is left is beyond it, paused, or in other workers' hands.
    v_looks := v_looks + 1;
    if v_look.complete or v_looks >= 8 then
      v_above := v_look.rank;
      v_looks := 0;
    else
      v_from := after_lane((v_look.streams[cardinality(v_look.streams)]).lane);
    end if;
  end loop;

  if p_want_hint then
    p_hint := write_hint(v_key, v_at, v_from, least(next_due(v_open, v_floor), p_now), v_streams);
  end if;
end $$;

-- The lane a look begins at after this one was served; the first of all after the last.
create or replace function jobforge.after_lane(p_lane bigint) returns bigint
language sql immutable as $$
  select case when p_lane < 9223372036854775807 then p_lane + 1 when p_lane is not null then -9223372036854775808 end
$$;

-- Whether a job of a better rank than the streams' is ready.
create or replace function jobforge.is_more_urgent(p_types text[], p_streams jobforge.stream[]) returns boolean
language plpgsql stable as $$
begin
  return (
    select exists (
      select from unnest(p_types) t(type)
      cross join lateral (
        select from jobforge.jobs j
        where j.state = 'ready' and j.type = t.type and j.rank < (p_streams[1]).rank
        limit 1
      ) x));
end $$;
