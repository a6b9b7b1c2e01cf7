-- Asks a worker to stop: its next heartbeat, within ten seconds, says so. The worker then claims nothing more, finishes
-- the jobs that it runs, and stops, as after SIGTERM. The request is for the process that runs now: one that starts
-- again with the same id works. Returns {id, requested_at, requested_by, audit_id}; null if no worker with this id
-- runs.
-- Who: operators; one that is bound to a tenant stops workers of that tenant. Waits only for another call for the same
-- worker.
create or replace function :"api_schema".jobforge_stop_worker(p_worker_id text) returns jsonb
language plpgsql
security definer
set search_path = jobforge, pg_temp
set enable_seqscan = off as $$
declare
  v_now timestamptz := jobforge.now();
  v_bound uuid := bound_tenant();
  v_actor text := actor();
  v_audit_id bigint;
begin
  insert into stop_requests as s (worker_id, scope, instance, requested_at, requested_by)
  select w.id, w.scope, w.instance, v_now, v_actor
  from workers w
  where w.id = p_worker_id and w.stopped_at is null and (v_bound is null or w.scope = v_bound)
  order by w.scope
  on conflict (worker_id, scope) do update
  set instance = excluded.instance, requested_at = excluded.requested_at, requested_by = excluded.requested_by;
  if not found then
    return null;
  end if;
  insert into audit_log (at, tenant_id, actor, action, entity_type, entity_id)
  values (v_now, coalesce(v_bound, all_tenants()), v_actor, 'WORKER_STOP_REQUESTED', 'worker', p_worker_id)
  returning id into v_audit_id;
  return jsonb_build_object('id', p_worker_id, 'requested_at', v_now, 'requested_by', v_actor, 'audit_id', v_audit_id);
end $$;
