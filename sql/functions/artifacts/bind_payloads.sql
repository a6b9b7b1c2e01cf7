-- Returns the id of the stored payload that a payload refers to: {"$artifact": "artifact:payloads/TENANT/ID/NAME", …}.
-- Null for any other payload, and for one of another tenant.
create or replace function jobforge.stored_payload(p_tenant_id uuid, p_payload jsonb) returns uuid
language sql immutable as $$
  select jobforge.uuid_or_null(substring(p_payload ->> '$artifact' from
    '^artifact:payloads/' || p_tenant_id || '/([0-9a-f-]{36})/[A-Za-z0-9._-]{1,128}$'))
$$;

-- Binds the stored payload that the payload of a job refers to, if it does. From then on it is kept as long as the job.
-- One that is bound already stays with the job it was stored for. Raises JF002 if it was not noted, or if the job comes
-- too late, so that it may have been deleted. p_index: the place of the job in a call of many. Locks the row that it
-- binds, so that it is not deleted meanwhile.
create or replace function jobforge.bind_payload(
  p_tenant_id uuid, p_job_id uuid, p_payload jsonb, p_now timestamptz, p_index integer default null
) returns void
language plpgsql
set enable_seqscan = off as $$
declare
  v_id uuid := jobforge.stored_payload(p_tenant_id, p_payload);
begin
  if v_id is null then
    return;
  end if;
  update jobforge.artifacts a
  set job_id = coalesce(a.job_id, p_job_id),
    check_at = case when a.job_id is null then p_now + interval '1 hour' else a.check_at end
  where a.id = v_id and a.area = 'payloads' and a.tenant_id = p_tenant_id
    -- After a day it may have been handed out for deletion.
    and (a.job_id is not null or a.noted_at > p_now - jobforge.unbound_payload_age());
  if not found then
    perform jobforge.fail_argument(case when p_index is null then 'payload' else format('jobs[%s].payload', p_index) end,
      case when p_index is null then 'the' else format('job %s: its', p_index) end || ' stored payload does not exist',
      'A stored payload is deleted after a day if no job refers to it. Store it again.');
  end if;
end $$;

-- Does the same for the jobs that a call of jobforge_enqueue_jobs has created or changed, in the order of the payloads.
-- p_results are the outcomes of p_jobs, in order.
create or replace function jobforge.bind_payloads(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_results jsonb, p_now timestamptz
) returns void
language plpgsql as $$
declare
  v_job record;
begin
  for v_job in
    select j.payload, j.ord - 1 as index, (r.result ->> 'id')::uuid as id
    from (select j.*, row_number() over (order by j.ord) as place from unnest(p_jobs) j) j
    join jsonb_array_elements(p_results) with ordinality r(result, place) on r.place = j.place
    where j.payload ? '$artifact' and r.result ->> 'outcome' in ('created', 'replaced')
    order by jobforge.stored_payload(p_tenant_id, j.payload)
  loop
    perform jobforge.bind_payload(p_tenant_id, v_job.id, v_job.payload, p_now, v_job.index);
  end loop;
end $$;
