-- Takes the locks of buckets of one scope and reads how much room they have. Returns a room for each bucket, in the
-- same order. A bucket that another transaction is deciding about is not mine. p_wanted are the jobs that the caller
-- wants to start: a role that is bound to a tenant uses a mark of the type for each (see bound.sql). Never waits.
create or replace function jobforge.rooms_in(
  p_scope text, p_buckets jobforge.bucket[], p_wanted jobforge.candidate[], p_now timestamptz
) returns jobforge.room[]
language plpgsql as $$
declare
  v_soon constant timestamptz := p_now + interval '10 milliseconds';
  v_bound uuid;
  -- For each bucket of a type: how many marks a bound caller has changed, and how many are held by others.
  v_marks integer[];
  v_held integer[];
  v_mine bigint[];
begin
  if cardinality(p_buckets) = 0 then
    return '{}';
  end if;
  if p_scope = 'type' then
    v_bound := jobforge.bound_tenant();
    if v_bound is not null then
      v_marks := jobforge.use_marks(v_bound, array(select b.type from unnest(p_buckets) b), array(
        select least(
          (select count(*)::integer from unnest(p_wanted) c where c.type = b.type), (jobforge.room_in(b, p_now)).room)
        from unnest(p_buckets) b), p_now);
    end if;
  end if;
  v_mine := jobforge.lock_buckets(
    array(select b.id from unnest(p_buckets) b), array(select b.tenant_id from unnest(p_buckets) b), p_scope = 'type');
  -- Marks are counted before runs: a transaction that ends in between is counted twice, never missed.
  if p_scope = 'type' and exists (select from jobforge.type_marks) then
    v_held := jobforge.marks_of_others(array(select b.type from unnest(p_buckets) b));
  end if;
  -- This is a later statement than the one that took the locks, so it sees everything that was committed before they
  -- were taken.
  return array(
    select row(
      b.mine,
      case when r.room is not null then greatest(least(r.room - coalesce(v_held[b.no], 0), v_marks[b.no]), 0) end,
      r.only_id,
      case
        when not b.mine then v_soon
        else coalesce(r.next_at, case when v_held[b.no] > 0 or v_marks[b.no] = 0 then v_soon end)
      end)::jobforge.room
    from (
      select (row_number() over ())::integer as no, b as bucket, b.id in (select m from unnest(v_mine) m) as mine
      from unnest(p_buckets) b
    ) b
    left join lateral jobforge.room_in(b.bucket, p_now) r on b.mine
    order by b.no);
end $$;

-- Returns when it is worth asking these buckets again; null if no time is known.
create or replace function jobforge.next_room_at(p_rooms jobforge.room[]) returns timestamptz
language plpgsql immutable as $$
begin
  return (select min(r.next_at) from unnest(p_rooms) r);
end $$;

-- Returns whether this transaction decides about all of these buckets, and each has room for more than p_jobs jobs, in
-- any order. So it does not matter which jobs belong to which bucket, and no bucket will be full.
create or replace function jobforge.have_room_for(p_rooms jobforge.room[], p_jobs integer) returns boolean
language plpgsql immutable as $$
begin
  return (select bool_and(r.mine and r.only_id is null and coalesce(r.room > p_jobs, true)) from unnest(p_rooms) r);
end $$;

-- Returns the ids of the buckets that this transaction decides about. p_rooms are what rooms_in has returned for them.
create or replace function jobforge.decided_by(p_buckets jobforge.bucket[], p_rooms jobforge.room[]) returns bigint[]
language plpgsql immutable as $$
begin
  return array(
    select (p_buckets[n]).id from generate_subscripts(p_buckets, 1) n where (p_rooms[n]).mine);
end $$;
