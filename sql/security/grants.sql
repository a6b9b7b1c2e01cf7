-- Returns the list of all rights on JobForge's objects. Everything else is closed: a grantee that is not on the list
-- loses its rights. That includes grants by default privileges: Supabase grants every new object in public to anon,
-- authenticated and service_role.
create or replace function jobforge.rights() returns table (object text, kind text, grantees text[])
language sql stable as $$
  values
    ('jobforge_enqueue_job', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'::text[]),
    ('jobforge_enqueue_jobs', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_enqueue_each', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_claim_jobs', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_heartbeat_job', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_complete_job', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_settle_jobs', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_receive_jobs', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_settle_jobs_text', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_defer_job', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_progress_job', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_heartbeat_worker', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_maintain', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_cancel_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_reschedule_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_update_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_copy_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_cancel_jobs', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_reschedule_jobs', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_get_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_reveal_job', 'api', '{jobforge_operator}'),
    ('jobforge_get_result', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_attempts', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_logs', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_audit', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_wake_workers', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_watch_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_jobs', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_cron_next', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator,jobforge_reader}'),
    ('jobforge_cron_runs', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator,jobforge_reader}'),
    ('jobforge_ensure_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_sync_schedules', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_update_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_set_schedule_enabled', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_enable_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_disable_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_lock_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_run_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_delete_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_delete_schedules', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_get_schedule', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_list_schedules', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_count_schedules', 'api', '{jobforge_tenant,jobforge_operator,jobforge_reader}'),
    ('jobforge_next_runs', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_list_schedule_runs', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_set_policy', 'api', '{jobforge_operator}'),
    ('jobforge_sync_policies', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_get_policy', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_list_policies', 'api', '{jobforge_operator}'),
    ('jobforge_reset_policy', 'api', '{jobforge_operator}'),
    ('jobforge_set_gate', 'api', '{jobforge_operator}'),
    ('jobforge_list_gates', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_set_limit', 'api', '{jobforge_operator}'),
    ('jobforge_remove_limit', 'api', '{jobforge_operator}'),
    ('jobforge_get_limit', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_list_limits', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_list_workers', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_get_worker', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_stop_worker', 'api', '{jobforge_operator}'),
    ('jobforge_list_changes', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_search_jobs', 'api', '{jobforge_operator}'),
    ('jobforge_list_attention', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_list_waiting', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_series', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_browse_jobs', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_count_jobs', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_dead_groups', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_purge_jobs', 'api', '{jobforge_operator}'),
    ('jobforge_move_jobs', 'api', '{jobforge_operator}'),
    ('jobforge_list_types', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_health', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_set_connector_config', 'api', '{jobforge_app,jobforge_operator}'),
    ('jobforge_get_connector_config', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_set_egress_policy', 'api', '{jobforge_operator}'),
    ('jobforge_get_egress_policy', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_hold_key', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_note_artifact', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_take_artifacts', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_forget_artifacts', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_set_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_get_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_list_webhook_endpoints', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_enable_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_disable_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_rotate_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_delete_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_test_webhook_endpoint', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_webhook_deliveries', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_replay_webhook_deliveries', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_send_event', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_bind_role', 'api', '{jobforge_operator}'),
    ('jobforge_create_token', 'api', '{jobforge_operator}'),
    ('jobforge_list_tokens', 'api', '{jobforge_operator}'),
    ('jobforge_revoke_token', 'api', '{jobforge_operator}'),
    ('jobforge_recognise_token', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_stats', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_metrics', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_set_tenant', 'api', '{jobforge_operator}'),
    ('jobforge_list_tenants', 'api', '{jobforge_reader,jobforge_operator}'),
    ('jobforge_tenant_id', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator,jobforge_reader}'),
    ('jobforge_get_tenant', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_count_live', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_report_usage', 'api', '{jobforge_tenant,jobforge_reader,jobforge_operator}'),
    ('jobforge_explain_job', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_start_workflow', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_start_workflows', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_add_steps', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_cancel_workflow', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_cancel_workflows', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_retry_workflows', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_update_workflow', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_retry_workflow', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_resolve_step', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_send_signal', 'api', '{jobforge_tenant,jobforge_worker,jobforge_operator}'),
    ('jobforge_suspend_job', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_save_steps', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_load_steps', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_take_signal', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_read_results', 'api', '{jobforge_worker,jobforge_operator}'),
    ('jobforge_explain_workflow', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_get_workflow', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_workflows', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_list_steps', 'api', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_workflows', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_steps', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_signals', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_checkpoints', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_jobs', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_job_attempts', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_job_logs', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_job_results', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_connector_configs', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_audit_log', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_schedules', 'view', '{jobforge_tenant,jobforge_operator}'),
    ('jobforge_usage', 'view', '{jobforge_tenant,jobforge_operator}'),
    -- The functions in a view run with the rights of the role that reads the view.
    ('visible_from', 'private', '{jobforge_tenant,jobforge_operator}'),
    ('visible_to', 'private', '{jobforge_tenant,jobforge_operator}'),
    ('trace_id', 'private', '{jobforge_tenant,jobforge_operator}'),
    ('folded', 'private', '{jobforge_tenant,jobforge_operator}'),
    ('percentile', 'private', '{jobforge_tenant,jobforge_operator}'),
    -- The API views read these tables with the rights of their owner.
    ('queue', 'table', '{jobforge_view}'),
    ('runs', 'table', '{jobforge_view}'),
    ('payloads', 'table', '{jobforge_view}'),
    ('cancel_requests', 'table', '{jobforge_view}'),
    ('attempts', 'table', '{jobforge_view}'),
    ('job_logs', 'table', '{jobforge_view}'),
    ('archive', 'table', '{jobforge_view}'),
    ('connector_configs', 'table', '{jobforge_view}'),
    ('audit_log', 'table', '{jobforge_view}'),
    ('schedules', 'table', '{jobforge_view}'),
    ('schedule_ends', 'table', '{jobforge_view}'),
    ('usage', 'table', '{jobforge_view}'),
    ('tenants', 'table', '{jobforge_view}'),
    ('workflows', 'table', '{jobforge_view}'),
    ('steps', 'table', '{jobforge_view}'),
    ('signals', 'table', '{jobforge_view}'),
    ('checkpoints', 'table', '{jobforge_view}')
$$;

-- Every object of JobForge that rights can be granted on, with the grantees that it should have and those that it has.
-- The block below, jobforge_health and tests read it.
create or replace function jobforge.grants(p_api_schema text)
returns table (name text, object text, kind text, owner oid, wanted text[], granted text[])
language sql stable as $$
  with objects as (
    select p.oid::regprocedure::text as name, p.proname::text as object, 'function' as kind, p.proowner as owner,
      coalesce(p.proacl, acldefault('f', p.proowner)) as acl, p.pronamespace as namespace
    from pg_proc p
    where p.pronamespace = 'jobforge'::regnamespace
      or (p.pronamespace = to_regnamespace(quote_ident(p_api_schema)) and p.proname like 'jobforge\_%'
        and p.proowner = 'jobforge_owner'::regrole)
    union all
    select c.oid::regclass::text, c.relname::text, case c.relkind when 'S' then 'sequence' else 'table' end, c.relowner,
      coalesce(c.relacl, acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)), c.relnamespace
    from pg_class c
    where c.relkind in ('r', 'p', 'v', 'S')
      and (c.relnamespace = 'jobforge'::regnamespace
        or (c.relnamespace = to_regnamespace(quote_ident(p_api_schema)) and c.relname like 'jobforge\_%'
          and c.relowner = 'jobforge_view'::regrole))
  )
  select o.name, o.object, o.kind, o.owner, coalesce(r.grantees, '{}'),
    array(
      select distinct case x.grantee when 0 then 'public' else x.grantee::regrole::text end
      from aclexplode(o.acl) x
      where x.grantee <> o.owner
      order by 1)
  from objects o
  left join jobforge.rights() r
    on r.object = o.object
    and (o.kind, r.kind) in (('function', 'api'), ('function', 'private'), ('table', 'view'), ('table', 'table'))
    and (r.kind in ('private', 'table')) = (o.namespace = 'jobforge'::regnamespace)
$$;

do $$
declare
  v_object record;
  v_grantee text;
begin
  for v_object in select g.* from jobforge.grants(:'api_schema') g loop
    foreach v_grantee in array v_object.granted loop
      execute format('revoke all on %s %s from %s', v_object.kind, v_object.name, v_grantee);
    end loop;
    foreach v_grantee in array v_object.wanted loop
      execute format('grant %s on %s %s to %I',
        case v_object.kind when 'function' then 'execute' else 'select' end, v_object.kind, v_object.name, v_grantee);
    end loop;
  end loop;
end $$;
