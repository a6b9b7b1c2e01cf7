-- Deleting the artifacts of forgotten jobs. The database knows which jobs are forgotten, and a worker or a server has
-- the store. So it asks what to delete, deletes it, and reports that. After a crash in between, the same contents are
-- handed out again.

-- Returns what can be deleted from the artifact store, because its job is forgotten: {looked, gone: [{area, tenant_id,
-- id}]}. Looks at up to p_limit folders whose check is due. Those of a job that is remembered are checked again when
-- an eighth of their age has passed. Those that are gone are handed out again after ten minutes, unless
-- jobforge_forget_artifacts is called for them.
-- Who: workers, operators. A role that is bound to a tenant gets that tenant's. Skips rows that another transaction has
-- locked; never waits.
create or replace function :"api_schema".jobforge_take_artifacts(p_limit integer default 100) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := claimable_tenant(null);
  v_result jsonb;
begin
  if p_limit is null or p_limit not between 1 and 1000 then
    perform fail_argument('limit', 'limit must be between 1 and 1000');
  end if;
  with due as materialized (
    select a.id, a.area, a.tenant_id, a.job_id
    from artifacts a
    where a.check_at <= v_now and (v_bound is null or a.tenant_id = v_bound)
    order by a.check_at
    limit p_limit
    for update skip locked
  ), judged as materialized (
    select d.*, is_remembered(d.job_id) as remembered from due d
  ), checked as (
    update artifacts a
    set check_at = v_now + case
      when not j.remembered or a.released then interval '10 minutes'
      else greatest(interval '1 hour', (v_now - a.noted_at) / 8)
    end
    from judged j
    where a.id = j.id and a.area = j.area
  )
  select jsonb_build_object('looked', count(*), 'gone', coalesce(
    jsonb_agg(jsonb_build_object('area', j.area, 'tenant_id', j.tenant_id, 'id', j.id)) filter (where not j.remembered),
    '[]'))
  into v_result
  from judged j;
  return v_result;
end $$;

-- Forgets folders of the artifact store whose contents have been deleted, as jobforge_take_artifacts has listed them:
-- [{area, id}]. A folder whose job is remembered stays. Returns {forgotten}: how many.
-- Who: workers, operators; a role that is bound to a tenant for that tenant's. Skips rows that another transaction has
-- locked; never waits.
create or replace function :"api_schema".jobforge_forget_artifacts(p_artifacts jsonb) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_bound uuid := claimable_tenant(null);
  v_count integer;
begin
  if p_artifacts is null or jsonb_typeof(p_artifacts) <> 'array' or jsonb_array_length(p_artifacts) > 1000 then
    perform fail_argument('artifacts', 'artifacts must be an array of at most 1000 objects {area, id}');
  end if;
  perform require_printable(p_artifacts, 'artifacts');
  with gone as materialized (
    select a.ctid as place, a.job_id
    from jsonb_array_elements(p_artifacts) e(artifact)
    cross join lateral (
      select a.ctid, a.job_id from artifacts a
      where a.id = uuid_or_null(e.artifact ->> 'id') and a.area = e.artifact ->> 'area'
        and (v_bound is null or a.tenant_id = v_bound)
      for update skip locked
    ) a
  )
  delete from artifacts a
  where a.ctid = any (array(select g.place from gone g where not is_remembered(g.job_id)));
  get diagnostics v_count = row_count;
  return jsonb_build_object('forgotten', v_count);
end $$;

-- Returns whether a job is queued, runs, or is in the archive. False for null.
create or replace function jobforge.is_remembered(p_job_id uuid) returns boolean
language plpgsql stable
set enable_seqscan = off as $$
begin
  return p_job_id is not null and exists (select from jobforge.find_job(p_job_id));
end $$;

-- Asks for an early check of the artifacts of jobs that are forgotten, or will be soon. Skips rows that another
-- transaction has locked: their own check finds out.
create or replace function jobforge.release_artifacts(p_job_ids uuid[], p_now timestamptz) returns void
language plpgsql as $$
begin
  if exists (select from jobforge.artifacts) then
    update jobforge.artifacts a
    set released = true, check_at = p_now
    where a.ctid = any (array(
      select r.ctid from jobforge.artifacts r where r.job_id = any (p_job_ids) for update skip locked));
  end if;
end $$;
