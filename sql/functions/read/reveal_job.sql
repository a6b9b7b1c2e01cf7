-- Returns what the masked views of a job hide: {payload, progress, result}. The audit log says who looked at which job.
-- Null if the tenant has no such job.
-- Who: operators. Locks nothing.
create or replace function :"api_schema".jobforge_reveal_job(p_job_id uuid, p_tenant_id uuid) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_shown jsonb;
begin
  perform require_tenant(p_tenant_id);
  select jsonb_build_object('payload', j.payload, 'progress', j.progress, 'result', (
    select a.result from archive a where a.id = j.id and a.finished_at = j.finished_at limit 1))
  into v_shown
  from find_job(p_job_id) j
  where j.tenant_id = p_tenant_id;
  if found then
    perform audit(p_tenant_id, 'JOB_REVEALED', p_job_id);
  end if;
  return v_shown;
end $$;

-- Returns a job as it is, or masked.
create or replace function jobforge.shown_job(p_job jobforge.all_jobs, p_masked boolean)
returns setof jobforge.all_jobs
language plpgsql stable as $$
begin
  if p_masked then
    p_job.payload := jobforge.masked(p_job.payload, p_job.type);
    p_job.progress := jobforge.masked(p_job.progress, p_job.type);
  end if;
  return next p_job;
end $$;

-- Returns a document of a job with the values masked of the keys that the policy of its type lists in redact.
create or replace function jobforge.masked(p_document jsonb, p_type text) returns jsonb
language plpgsql stable as $$
declare
  v_listed text[] := (select array_agg(lower(l)) from jobforge.policy_of(p_type) p cross join lateral unnest(p.redact) l);
begin
  -- Most documents have none of the keys, and then their values need not be looked at.
  if not exists (select from unnest(v_listed) l where strpos(lower(p_document::text), to_json(l)::text) > 0) then
    return p_document;
  end if;
  return jobforge.mask_keys(p_document, v_listed, 0);
end $$;

-- Returns a JSON document with the values of keys masked, which are in lower case. What is nested more than 100 levels
-- deep is masked as a whole.
create or replace function jobforge.mask_keys(p_document jsonb, p_keys text[], p_depth integer) returns jsonb
language plpgsql immutable as $$
begin
  if p_depth > 100 then
    return '"[redacted]"';
  end if;
  return case jsonb_typeof(p_document)
    when 'array' then (
      select coalesce(jsonb_agg(jobforge.mask_keys(e.item, p_keys, p_depth + 1) order by e.place), '[]')
      from jsonb_array_elements(p_document) with ordinality e(item, place))
    when 'object' then (
      select coalesce(jsonb_object_agg(e.key, case when lower(e.key) = any (p_keys) then '"[redacted]"'
        else jobforge.mask_keys(e.value, p_keys, p_depth + 1) end), '{}')
      from jsonb_each(p_document) e)
    else p_document
  end;
end $$;
