-- Takes locked jobs out of the index that claims read, each into its bucket: p_refused_by[i] is the place in p_buckets
-- of the bucket that refused p_job_ids[i]. A bucket that waits for a token is checked when the token comes; a full
-- bucket is checked when a run ends. Jobs stay in the queue if jobs of another bucket with the same id are parked. So
-- any job that is parked in an id tells which bucket that is. Requests a check of the wider buckets. The caller holds
-- the buckets' locks.
create or replace function jobforge.park(
  p_job_ids uuid[], p_refused_by integer[], p_buckets jobforge.bucket[], p_now timestamptz
) returns void
language plpgsql
set enable_hashjoin = on as $$
declare
  v_parking integer[];
begin
  if cardinality(p_job_ids) = 0 then
    return;
  end if;
  v_parking := array(
    select distinct on ((p_buckets[x.no]).id) x.no
    from (select distinct n as no from unnest(p_refused_by) n) x
    left join lateral (
      select j.type, j.tenant_id, j.concurrency_key
      from jobforge.queue j
      where j.state = 'parked' and j.parked_in = (p_buckets[x.no]).id
      limit 1
    ) j on true
    where j.type is null or jobforge.is_in_bucket(p_buckets[x.no], j.type, j.tenant_id, j.concurrency_key)
    order by (p_buckets[x.no]).id, x.no);
  update jobforge.queue j
  set state = 'parked', parked_in = (p_buckets[x.no]).id
  from unnest(p_job_ids, p_refused_by) x(id, no)
  where j.id = x.id and x.no = any (v_parking);
  insert into jobforge.unpark_requests (tenant_id, bucket, due_at)
  select (b.bucket).tenant_id, b.id, coalesce(t.next_at, p_now)
  from unnest(v_parking) x(no)
  cross join lateral (select p_buckets[x.no] as bucket, (p_buckets[x.no]).id) b
  cross join lateral jobforge.tokens_in(b.bucket, p_now) t
  where (b.bucket).rate is not null
    and not exists (select from jobforge.unpark_requests r where r.bucket = b.id and r.due_at > p_now);
  perform jobforge.request_wider(
    array(select p_buckets[n] from unnest(p_refused_by) n where n = any (v_parking)), p_now);
end $$;
