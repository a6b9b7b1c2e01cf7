-- Decides about the limits of types and of tenants together, because a type has jobs of many tenants and a tenant has
-- jobs of many types. One after the other, jobs that the second limit refuses would use up the room of the first: the
-- jobs of a tenant at its limit would fill a type, and the jobs of a full type would fill a tenant. Goes through the
-- jobs in their order and admits each that has room in both, up to p_most. Parks the jobs whose tenant has no room
-- left. So a job is parked in a tenant's bucket only if the bucket is full. Returns in mine the buckets that it has
-- decided about. Never waits.
create or replace function jobforge.admit_to_types_and_tenants(
  p_wanted jobforge.candidate[], p_most integer, p_now timestamptz,
  out admitted jobforge.candidate[], out full_types text[], out mine bigint[], out again_at timestamptz
)
language plpgsql
set enable_hashjoin = on as $$
declare
  v_slots constant jobforge.slot[] := array(
    select row(c.type, c.tenant_id, c.concurrency_key)::jobforge.slot from unnest(p_wanted) c);
  v_types constant jobforge.bucket[] := array(select b from jobforge.buckets_of('type', v_slots) b);
  v_tenants constant jobforge.bucket[] := array(select b from jobforge.buckets_of('tenant', v_slots) b);
  -- For each job, the place of its bucket in these arrays; null if no limit applies.
  v_type_of constant integer[] := array(
    select b.no::integer
    from unnest(p_wanted) with ordinality c(place, id, type, tenant_id, concurrency_key, rank, run_at, seq, ord)
    left join (select (v_types[n]).type, n as no from generate_subscripts(v_types, 1) n) b on b.type = c.type
    order by c.ord);
  v_tenant_of constant integer[] := array(
    select b.no::integer
    from unnest(p_wanted) with ordinality c(place, id, type, tenant_id, concurrency_key, rank, run_at, seq, ord)
    left join (select (v_tenants[n]).tenant_id, n as no from generate_subscripts(v_tenants, 1) n) b
      on b.tenant_id = c.tenant_id
    order by c.ord);
  v_planned jobforge.candidate[] := p_wanted;
  v_type_rooms jobforge.room[];
  v_tenant_rooms jobforge.room[];
  v_verdict record;
begin
  if jobforge.bound_tenant() is not null and cardinality(v_types) > 0 then
    -- A bound claim uses marks of types, which are places that others need, only for jobs that its tenant's limit
    -- would admit.
    v_verdict := jobforge.judge(
      v_type_of, v_tenant_of, jobforge.advised_rooms(v_types, p_now), jobforge.advised_rooms(v_tenants, p_now), p_most);
    v_planned := jobforge.numbered(p_wanted, v_verdict.fitting);
  end if;
  v_tenant_rooms := jobforge.rooms_in('tenant', v_tenants, p_wanted, p_now);
  v_type_rooms := jobforge.rooms_in('type', v_types, v_planned, p_now);
  v_verdict := jobforge.judge(v_type_of, v_tenant_of, v_type_rooms, v_tenant_rooms, p_most);
  admitted := jobforge.numbered(p_wanted, v_verdict.fitting);
  full_types := array(select (v_types[n]).type from unnest(v_verdict.full_types) n);
  mine := jobforge.decided_by(v_types || v_tenants, v_type_rooms || v_tenant_rooms);
  again_at := jobforge.next_room_at(v_type_rooms || v_tenant_rooms);
  perform jobforge.park(
    array(select c.id from unnest(jobforge.numbered(p_wanted, v_verdict.parking)) c), v_verdict.parking_in, v_tenants,
    p_now);
end $$;

-- Returns the jobs with these numbers, which ascend.
create or replace function jobforge.numbered(p_jobs jobforge.candidate[], p_numbers integer[])
returns jobforge.candidate[]
language plpgsql immutable
set enable_hashjoin = on as $$
begin
  return array(
    select row(c.place, c.id, c.type, c.tenant_id, c.concurrency_key, c.rank, c.run_at, c.seq)::jobforge.candidate
    from unnest(p_jobs) with ordinality c(place, id, type, tenant_id, concurrency_key, rank, run_at, seq, no)
    join unnest(p_numbers) n on n = c.no
    order by c.no);
end $$;

-- Returns how much room buckets have, read without locks. Only advice.
create or replace function jobforge.advised_rooms(p_buckets jobforge.bucket[], p_now timestamptz)
returns jobforge.room[]
language plpgsql stable as $$
begin
  return array(
    select row(true, r.room, r.only_id, r.next_at)::jobforge.room
    from generate_subscripts(p_buckets, 1) n
    cross join lateral jobforge.room_in(p_buckets[n], p_now) r
    order by n);
end $$;

-- Goes through jobs, given by the places of their buckets, and returns:
--   fitting     the numbers of up to p_most jobs that have room in both buckets
--   parking     the numbers of the jobs whose tenant has no room left, if the caller may decide about its bucket
--   parking_in  the places of the buckets of these tenants
--   full_types  the places of the types that have no room left
-- The jobs that come after the last one of p_most are not judged.
create or replace function jobforge.judge(
  p_type_of integer[], p_tenant_of integer[], p_types jobforge.room[], p_tenants jobforge.room[], p_most integer,
  out fitting integer[], out parking integer[], out parking_in integer[], out full_types integer[]
)
language plpgsql immutable as $$
declare
  -- How many more jobs each bucket has room for; null if there is no limit.
  v_type_rooms integer[] := array(select case when r.mine then r.room else 0 end from unnest(p_types) r);
  v_tenant_rooms integer[] := array(select case when r.mine then r.room else 0 end from unnest(p_tenants) r);
  v_types_mine boolean[] := array(select r.mine from unnest(p_types) r);
  v_tenants_mine boolean[] := array(select r.mine from unnest(p_tenants) r);
  v_job record;
begin
  fitting := '{}';
  parking := '{}';
  parking_in := '{}';
  for v_job in
    select j.type, j.tenant, j.no::integer from unnest(p_type_of, p_tenant_of) with ordinality j(type, tenant, no)
  loop
    exit when cardinality(fitting) = p_most;
    if v_tenant_rooms[v_job.tenant] <= 0 then
      if v_tenants_mine[v_job.tenant] then
        parking := parking || v_job.no;
        parking_in := parking_in || v_job.tenant;
      end if;
    elsif v_type_rooms[v_job.type] <= 0 then
      continue;
    else
      fitting := fitting || v_job.no;
      if v_job.type is not null then
        v_type_rooms[v_job.type] := v_type_rooms[v_job.type] - 1;
      end if;
      if v_job.tenant is not null then
        v_tenant_rooms[v_job.tenant] := v_tenant_rooms[v_job.tenant] - 1;
      end if;
    end if;
  end loop;
  full_types := array(
    select n from generate_subscripts(v_type_rooms, 1) n where v_types_mine[n] and v_type_rooms[n] <= 0);
end $$;
