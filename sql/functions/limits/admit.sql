-- Admission: decides which of the jobs that a claim has locked may start.

-- Decides about jobs that the caller has locked: admits up to p_most of them and takes their tokens. A job without
-- room in a bucket of a tenant or a key is parked in that bucket. A job without room in its type stays in the queue,
-- where turns continue. So does a job in a bucket that another transaction is deciding about. Returns the places of
-- the admitted jobs, the number of skipped jobs, the types that are full, the lanes of tenants whose buckets a bound
-- claim holds, and when it is worth trying again. Scopes go from the narrowest to the widest, so that a job refused by
-- one takes no room in the next. Never waits.
create or replace function jobforge.admit(
  p_places tid[], p_most integer, p_now timestamptz, p_rules jobforge.claim_rules,
  out places tid[], out passed_over integer, out full_types text[], out busy_lanes bigint[], out again_at timestamptz
)
language plpgsql as $$
declare
  v_asked constant jobforge.candidate[] := jobforge.in_turns(p_places, p_rules.weighted);
  v_wanted jobforge.candidate[] := v_asked;
  v_scope text;
  v_step record;
  -- The buckets whose locks this transaction holds.
  v_mine bigint[] := '{}';
begin
  full_types := '{}';
  foreach v_scope in array array['key', 'type_tenant', 'type', 'tenant'] loop
    continue when v_scope <> all (p_rules.scopes) or (v_scope = 'type' and 'tenant' = any (p_rules.scopes));
    if v_scope = 'tenant' then
      v_step := jobforge.admit_to_types_and_tenants(v_wanted, p_most, p_now);
    else
      v_step := jobforge.admit_to(v_scope, v_wanted, p_now);
    end if;
    v_wanted := v_step.admitted;
    again_at := least(again_at, v_step.again_at);
    full_types := full_types || v_step.full_types;
    v_mine := v_mine || v_step.mine;
  end loop;
  v_wanted := v_wanted[:p_most];
  if p_rules.rated and cardinality(v_wanted) > 0 then
    perform jobforge.spend_tokens(v_wanted, v_mine, p_now);
  end if;
  places := array(select c.place from unnest(v_wanted) c);
  passed_over := cardinality(p_places) - cardinality(places);
  busy_lanes := '{}';
  if passed_over > 0 and exists (select from jobforge.bound_tenants) and jobforge.bound_tenant() is null then
    busy_lanes := array(
      select jobforge.lane_of(t)
      from unnest(jobforge.tenants_in_use(array(select distinct c.tenant_id from unnest(v_asked) c))) t);
  end if;
end $$;

-- Returns the locked jobs of one rank in the order in which limits decide about them. Each tenant's jobs come in the
-- order of the queue. Tenants take turns: the first job of each, the second of each, and so on, and a tenant of weight
-- three has three jobs in each round. The order of the tenants in a round is random. With the order of the queue, the
-- room of a type would always go to the tenant with the oldest jobs; with a fixed order, to the first tenant.
create or replace function jobforge.in_turns(p_places tid[], p_weighted boolean) returns jobforge.candidate[]
language plpgsql as $$
declare
  v_seed bigint := (random() * 4611686018427387904)::bigint;
begin
  return array(
    select row(j.place, j.id, j.type, j.tenant_id, j.concurrency_key, j.rank, j.run_at, j.seq)::jobforge.candidate
    from (
      select p.place, j.id, j.type, j.tenant_id, j.concurrency_key, j.rank, j.run_at, j.seq,
        row_number() over (partition by j.tenant_id order by j.rank, j.run_at, j.seq) as nth
      from unnest(p_places) p(place)
      cross join lateral (select * from jobforge.queue j where j.ctid = p.place limit 1) j
    ) j
    order by
      (j.nth - (uuid_hash_extended(j.tenant_id, v_seed) & 1048575) / 1048576.0::double precision)
        / case when p_weighted then jobforge.weight_of(j.tenant_id) else 1 end,
      j.tenant_id, j.nth);
end $$;

-- Does the same for the buckets of one scope: keys, types of tenants, or types. Returns in mine the buckets that it has
-- decided about.
create or replace function jobforge.admit_to(
  p_scope text, p_wanted jobforge.candidate[], p_now timestamptz,
  out admitted jobforge.candidate[], out full_types text[], out mine bigint[], out again_at timestamptz
)
language plpgsql
set enable_hashjoin = on as $$
declare
  v_buckets jobforge.bucket[] := array(
    select b from jobforge.buckets_of(p_scope,
      array(select row(c.type, c.tenant_id, c.concurrency_key)::jobforge.slot from unnest(p_wanted) c)) b);
  v_rooms jobforge.room[];
  v_refused uuid[];
  v_refused_by integer[];
begin
  admitted := p_wanted;
  full_types := '{}';
  mine := '{}';
  if cardinality(v_buckets) = 0 then
    return;
  end if;
  v_rooms := jobforge.rooms_in(p_scope, v_buckets, p_wanted, p_now);
  mine := jobforge.decided_by(v_buckets, v_rooms);
  -- Usually no limit is reached: each bucket has room for more jobs than there are.
  if jobforge.have_room_for(v_rooms, cardinality(p_wanted)) then
    again_at := jobforge.next_room_at(v_rooms);
    return;
  end if;
  with room as materialized (
    -- Parts that the scope does not have are empty, so that they are equal for every job.
    select b.no::integer, coalesce(b.type, '') as type, coalesce(b.tenant_id, jobforge.global_tenant()) as tenant_id,
      coalesce(b.concurrency_key, '') as concurrency_key, b.mine, b.room, b.only_id
    from unnest(v_buckets, v_rooms) with ordinality b(
      id, scope, type, tenant_id, concurrency_key, max_running, rate, per, burst, set_at, in_force,
      mine, room, only_id, next_at, no)
  ), asked as materialized (
    select c.candidate, c.ord, (c.candidate).id, r.no as bucket, r.mine, r.room, r.only_id,
      row_number() over (partition by r.no order by (c.candidate).id = r.only_id desc, c.ord) as place
    from (
      select row(c.place, c.id, c.type, c.tenant_id, c.concurrency_key, c.rank, c.run_at,
        c.seq)::jobforge.candidate as candidate,
        c.ord,
        c.type,
        case when p_scope <> 'type' then c.tenant_id else jobforge.global_tenant() end as tenant_id,
        case when p_scope = 'key' then c.concurrency_key else '' end as concurrency_key
      from unnest(p_wanted) with ordinality c(place, id, type, tenant_id, concurrency_key, rank, run_at, seq, ord)
      offset 0
    ) c
    left join room r
      on r.type = c.type and r.tenant_id = c.tenant_id and r.concurrency_key = c.concurrency_key
  ), judged as materialized (
    select a.*,
      a.bucket is null
        or (a.mine and (a.room is null or a.place <= a.room) and (a.only_id is null or a.only_id = a.id)) as fits
    from asked a
  )
  select
    array(select j.candidate from judged j where j.fits order by j.ord),
    array(select j.id from judged j where not j.fits and j.mine order by j.ord),
    array(select j.bucket from judged j where not j.fits and j.mine order by j.ord),
    array(
      select r.type from room r
      where p_scope = 'type'
        and r.room <= (select count(*) from judged j where j.bucket = r.no and j.fits))
  into admitted, v_refused, v_refused_by, full_types;
  again_at := jobforge.next_room_at(v_rooms);
  if p_scope <> 'type' then
    perform jobforge.park(v_refused, v_refused_by, v_buckets, p_now);
  end if;
end $$;
