-- Makes up to p_limit queued, failed or dead jobs of a tenant that a filter selects run now. Finished jobs get a fresh
-- budget. Returns {matched, changed}. Fewer jobs change than match if another transaction holds some of them, or if a
-- live job has taken the dedupe key. A change of many jobs is an operation: calls with one p_operation, an id that the
-- caller makes up, and as p_cursor the cursor of the previous answer, until that is null. They look at each job once,
-- and have one entry in the audit log; see jobforge.audit_bulk. With an operation and null as the tenant, jobs of all
-- tenants.
-- Who: the tenant itself; operators, also with null.
create or replace function :"api_schema".jobforge_reschedule_jobs(p_tenant_id uuid, p_filters jsonb,
  p_limit integer default 1000, p_operation uuid default null, p_cursor uuid default null)
returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_filter job_filter;
  v_found uuid[];
  v_ends timestamptz[];
  v_changed integer;
begin
  perform require_bulk(p_tenant_id, p_operation);
  v_filter := narrowed(read_bulk_filters(p_filters, p_limit, p_cursor), changeable('reschedule'));
  select coalesce(array_agg(p.id order by p.id), '{}'), array_agg(p.finished_at order by p.id) into v_found, v_ends
  from find_narrowed(p_tenant_id, v_filter) p;
  v_changed := run_now(p_tenant_id, v_found, v_ends, v_now);
  return audit_bulk(p_tenant_id, 'JOBS_RESCHEDULED', p_filters,
    jsonb_build_object('matched', cardinality(v_found), 'changed', v_changed), p_operation,
    bulk_cursor(v_found, p_limit));
end $$;

-- Makes those jobs of a tenant (null: of all tenants) run now that are queued, failed or dead. p_ends: when they
-- finished; null for live ones. Returns how many.
create or replace function jobforge.run_now(p_tenant_id uuid, p_job_ids uuid[], p_ends timestamptz[], p_now timestamptz)
returns integer
language plpgsql as $$
declare
  v_queued uuid[];
  v_revived uuid[] := '{}';
  v_of record;
begin
  perform jobforge.lock_roots(p_job_ids, p_tenant_id);
  -- Take keys first, because that may wait, in the order of tenants. Lock rows after that, because that does not. So a
  -- waiting transaction holds no row that another one waits for.
  for v_of in select b.tenant_id, b.ids from jobforge.by_tenant(p_tenant_id, p_job_ids, p_ends) b order by b.tenant_id
  loop
    v_revived := v_revived || array(select r.id from jobforge.revive(v_of.ids, v_of.tenant_id, p_now, null, p_now) r);
  end loop;
  perform jobforge.reopen_for_jobs(v_revived, p_now);
  v_queued := jobforge.lock_queued_jobs(array(select unnest(p_job_ids) except select unnest(v_revived)));
  perform jobforge.postpone(i, p_now, null, p_now) from unnest(v_queued) i;
  perform jobforge.wake(t.type, p_now, p_now, t.tenants)
  from (
    select j.type, array_agg(distinct j.tenant_id) as tenants
    from jobforge.queue j
    where j.id = any (v_queued || v_revived)
    group by j.type
  ) t;
  return cardinality(v_queued) + cardinality(v_revived);
end $$;

-- Returns the jobs by tenant; those of one tenant as they are.
create or replace function jobforge.by_tenant(p_tenant_id uuid, p_job_ids uuid[], p_ends timestamptz[])
returns table (tenant_id uuid, ids uuid[])
language sql stable as $$
  select p_tenant_id, p_job_ids where p_tenant_id is not null
  union all
  select j.tenant_id, array_agg(j.id order by j.id)
  from unnest(p_job_ids, p_ends) p(id, finished_at)
  cross join lateral (
    select q.id, q.tenant_id from jobforge.queue q where q.id = p.id and p.finished_at is null
    union all
    select a.id, a.tenant_id from jobforge.archive a where a.id = p.id and a.finished_at = p.finished_at
  ) j
  where p_tenant_id is null
  group by j.tenant_id
$$;
