-- Returns the id of the stored payload that a payload refers to: {"$artifact": "artifact:payloads/TENANT/ID/NAME", …}.
-- Null for any other payload, and for one of another tenant.
create or replace function jobforge.stored_payload(p_tenant_id uuid, p_payload jsonb) returns uuid
language sql immutable as $$
  select jobforge.uuid_or_null(substring(p_payload ->> '$artifact' from
    '^artifact:payloads/' || p_tenant_id || '/([0-9a-f-]{36})/[A-Za-z0-9._-]{1,128}$'))
$$;

-- Binds stored payloads to the jobs that a call of jobforge_enqueue_jobs has created or changed. From then on they are
-- kept as long as their job. A payload that is bound already stays with the job it was stored for. p_results are the
-- outcomes of p_jobs, in order. Raises JF002 if a payload was not noted, or if its job comes too late, so that it may
-- have been deleted. Locks the rows that it binds, so that they are not deleted meanwhile.
create or replace function jobforge.bind_payloads(
  p_tenant_id uuid, p_jobs jobforge.new_job[], p_results jsonb, p_now timestamptz
) returns void
language plpgsql
set enable_seqscan = off as $$
declare
  v_payload record;
  v_bound uuid;
begin
  for v_payload in
    select jobforge.stored_payload(p_tenant_id, j.payload) as id, j.ord, (r.result ->> 'id')::uuid as job_id
    from unnest(p_jobs) j
    join (
      select j.ord, row_number() over (order by j.ord) as place from unnest(p_jobs) j
    ) o on o.ord = j.ord
    join jsonb_array_elements(p_results) with ordinality r(result, place) on r.place = o.place
    where j.payload ? '$artifact' and r.result ->> 'outcome' in ('created', 'replaced')
    order by 1
  loop
    continue when v_payload.id is null;
    update jobforge.artifacts a
    set job_id = coalesce(a.job_id, v_payload.job_id),
      check_at = case when a.job_id is null then p_now + interval '1 hour' else a.check_at end
    where a.id = v_payload.id and a.area = 'payloads' and a.tenant_id = p_tenant_id
      -- After a day it may have been handed out for deletion.
      and (a.job_id is not null or a.noted_at > p_now - jobforge.unbound_payload_age())
    returning a.job_id into v_bound;
    if not found then
      perform jobforge.fail_argument(format('jobs[%s].payload', v_payload.ord - 1),
        format('job %s: its stored payload does not exist', v_payload.ord - 1),
        'A stored payload is deleted after a day if no job refers to it. Store it again.');
    end if;
  end loop;
end $$;
