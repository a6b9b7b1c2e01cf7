-- Returns a workflow of a tenant: the columns of jobforge_workflows, counts: {status of steps: number}, waits: the
-- signals that it waits for [{step, signal, since, until}], and failed: up to 10 steps that ended badly [{step, status,
-- reason, error, job_id}]; null if there is none. Steps of a large workflow are counted up to 10,000, and then
-- estimated is true.
-- Who: the tenant itself, operators. Locks nothing.
create or replace function :"api_schema".jobforge_get_workflow(p_workflow_id uuid, p_tenant_id uuid) returns jsonb
language plpgsql stable
security definer
set search_path = jobforge, pg_temp
set jit = off
set enable_seqscan = off
set enable_bitmapscan = off as $$
declare
  v_workflow jsonb;
  v_more boolean;
begin
  perform require_tenant(p_tenant_id);
  select to_jsonb(w) into v_workflow from all_workflows w where w.id = p_workflow_id and w.tenant_id = p_tenant_id;
  if v_workflow is null then
    return null;
  end if;
  v_more := (select count(*) > 10000 from (select from steps s where s.workflow_id = p_workflow_id limit 10002) s);
  return v_workflow
    || jsonb_build_object(
      'counts', (
        select coalesce(jsonb_object_agg(c.status, c.steps), '{}')
        from (
          select s.status, count(*) as steps
          from (select s.status from all_steps s where s.workflow_id = p_workflow_id order by s.workflow_id, s.id limit 10000) s
          group by s.status
        ) c),
      'waits', (
        select coalesce(jsonb_agg(jsonb_strip_nulls(jsonb_build_object(
            'step', s.path, 'signal', s.spec -> 'signal', 'since', s.opened_at,
            'until', s.opened_at + (s.spec ->> 'timeout_ms')::bigint * interval '1 millisecond')) order by s.id), '[]')
        from (
          select s.* from steps s
          where s.workflow_id = p_workflow_id and s.kind = 'signal' and s.opened_at is not null and s.decided_at is null
          limit 100
        ) s),
      'failed', (
        select coalesce(jsonb_agg(jsonb_build_object(
            'step', s.path, 'status', s.status, 'reason', s.reason, 'error', s.error, 'job_id', s.job_id) order by s.ended_at), '[]')
        from (
          select s.* from steps s
          where s.workflow_id = p_workflow_id and s.kind <> 'root' and s.status in ('failed', 'dead')
          order by s.workflow_id, s.id
          limit 10
        ) s))
    || case when v_more then '{"estimated": true}' else '{}' end::jsonb;
end $$;
