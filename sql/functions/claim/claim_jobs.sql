-- Claims up to p_limit due jobs of the types (null: any) for a worker, in the claim order (see claim.sql). Afterwards
-- each runs under the worker; its column attempts counts the claim and is its fence. Returned by priority, run_at and
-- seq.
-- Who: workers, operators; a role bound to a tenant gets that tenant's jobs only. Locks the jobs it claims; skips jobs
-- that another transaction has locked and never waits. Refuses isolation levels above READ COMMITTED, in which almost
-- every second claim would fail.
create or replace function :"api_schema".jobforge_claim_jobs(
  p_worker_id text,
  p_limit integer default 10,
  p_types text[] default null,
  p_tenant_id uuid default null
) returns setof :"api_schema".jobforge_jobs
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off
set plan_cache_mode = force_generic_plan as $$
declare
  v_tenant_id uuid := claimable_tenant(p_tenant_id);
  v_claimed tid[];
begin
  perform require_read_committed();
  perform require_worker_id(p_worker_id);
  if p_limit is null or p_limit not between 1 and 1000 then
    perform fail_argument('limit', 'limit must be between 1 and 1000');
  end if;
  select c.claimed into v_claimed from claim(p_worker_id, p_limit, p_types, v_tenant_id, jobforge.now(), false, null) c;
  return query
  select j.*
  from unnest(v_claimed) c(place)
  cross join lateral (select s.id, s.seq from runs s where s.ctid = c.place limit 1) s
  cross join lateral (select * from live_jobs l where l.id = s.id limit 1) j
  order by j.priority desc, j.run_at, s.seq;
end $$;
