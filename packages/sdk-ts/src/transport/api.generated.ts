/** Written from sql/api.json by `npm run golden`. Do not edit. */

/**
 * What a call returns: one JSON value; rows, which clients get as an array of objects; a JSON document as a text, which
 * clients get parsed; a time; a uuid; or nothing.
 */
export type ApiReturns = "json" | "rows" | "text" | "timestamptz" | "uuid" | "void";

interface Signature {
  readonly returns: ApiReturns;
  /** The roles that may call it. */
  readonly callers: readonly string[];
  /** Names with SQL types. */
  readonly parameters: Readonly<Record<string, string>>;
}

export const signatures: Readonly<Record<string, Signature>> = {
  jobforge_bind_role: { returns: "json", callers: ["jobforge_operator"], parameters: { p_role: "text", p_tenant_id: "uuid" } },
  jobforge_cancel_job: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid" } },
  jobforge_cancel_jobs: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb", p_limit: "integer" } },
  jobforge_claim_jobs: { returns: "rows", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_worker_id: "text", p_limit: "integer", p_types: "text[]", p_tenant_id: "uuid" } },
  jobforge_complete_job: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_job_id: "uuid", p_worker_id: "text", p_status: "text", p_error: "jsonb", p_result: "jsonb", p_artifact_ref: "text", p_attempt: "integer", p_retry: "boolean", p_retry_at: "timestamptz", p_cost_cents: "integer", p_next_run_at: "timestamptz" } },
  jobforge_count_jobs: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb", p_change: "text" } },
  jobforge_count_live: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_by: "text[]", p_cap: "integer" } },
  jobforge_count_schedules: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_cap: "integer" } },
  jobforge_create_token: { returns: "json", callers: ["jobforge_operator"], parameters: { p_name: "text", p_role: "text", p_tenant_id: "uuid", p_expires_at: "timestamptz" } },
  jobforge_cron_next: { returns: "timestamptz", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant", "jobforge_worker"], parameters: { p_expression: "text", p_timezone: "text", p_after: "timestamptz" } },
  jobforge_cron_runs: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant", "jobforge_worker"], parameters: { p_expression: "text", p_timezone: "text", p_after: "timestamptz", p_count: "integer" } },
  jobforge_defer_job: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_job_id: "uuid", p_worker_id: "text", p_run_at: "timestamptz", p_attempt: "integer", p_counts: "boolean" } },
  jobforge_delete_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_schedule_id: "uuid" } },
  jobforge_delete_schedules: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb", p_limit: "integer" } },
  jobforge_disable_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_schedule_id: "uuid" } },
  jobforge_enable_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_schedule_id: "uuid" } },
  jobforge_enqueue_each: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_jobs: "jsonb", p_notify: "boolean" } },
  jobforge_enqueue_job: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_payload: "jsonb", p_idempotency_key: "text", p_run_at: "timestamptz", p_max_attempts: "integer", p_priority: "integer", p_dedupe_key: "text", p_dedupe_mode: "text", p_tags: "text[]", p_subject: "text", p_concurrency_key: "text", p_expires_at: "timestamptz", p_traceparent: "text", p_notify: "boolean", p_delay_ms: "bigint", p_default_attempts: "integer" } },
  jobforge_enqueue_jobs: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_jobs: "jsonb", p_notify: "boolean", p_partial: "boolean" } },
  jobforge_ensure_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_options: "jsonb" } },
  jobforge_explain_job: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid" } },
  jobforge_get_connector_config: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_connector_type: "text" } },
  jobforge_get_job: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid" } },
  jobforge_get_limit: { returns: "json", callers: ["jobforge_operator", "jobforge_reader"], parameters: { p_scope: "text", p_key: "text" } },
  jobforge_get_policy: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_type: "text" } },
  jobforge_get_result: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid" } },
  jobforge_get_schedule: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_schedule_id: "uuid" } },
  jobforge_get_tenant: { returns: "json", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant"], parameters: { p_tenant_id: "uuid" } },
  jobforge_health: { returns: "json", callers: ["jobforge_operator", "jobforge_reader"], parameters: {} },
  jobforge_heartbeat_job: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_job_id: "uuid", p_worker_id: "text", p_attempt: "integer" } },
  jobforge_heartbeat_worker: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_worker_id: "text", p_info: "jsonb" } },
  jobforge_list_attempts: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid", p_after: "integer" } },
  jobforge_list_audit: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb" } },
  jobforge_list_dead_groups: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb" } },
  jobforge_list_gates: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader"], parameters: {} },
  jobforge_list_jobs: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb" } },
  jobforge_list_limits: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader"], parameters: {} },
  jobforge_list_logs: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid", p_after: "integer" } },
  jobforge_list_policies: { returns: "json", callers: ["jobforge_operator"], parameters: { p_filters: "jsonb" } },
  jobforge_list_schedule_runs: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_filters: "jsonb", p_schedule_id: "uuid" } },
  jobforge_list_schedules: { returns: "rows", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb" } },
  jobforge_list_tenants: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader"], parameters: { p_after: "uuid", p_limit: "integer" } },
  jobforge_list_tokens: { returns: "rows", callers: ["jobforge_operator"], parameters: {} },
  jobforge_list_types: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader"], parameters: { p_span: "interval" } },
  jobforge_list_workers: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader"], parameters: {} },
  jobforge_lock_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_schedule_id: "uuid" } },
  jobforge_maintain: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_limit: "integer" } },
  jobforge_metrics: { returns: "json", callers: ["jobforge_operator", "jobforge_reader"], parameters: { p_since: "timestamptz", p_buckets: "numeric[]", p_by_tenant: "boolean" } },
  jobforge_move_jobs: { returns: "json", callers: ["jobforge_operator"], parameters: { p_step: "text", p_types: "text[]", p_jobs: "jsonb", p_limit: "integer" } },
  jobforge_progress_job: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_job_id: "uuid", p_worker_id: "text", p_progress: "jsonb", p_attempt: "integer" } },
  jobforge_purge_jobs: { returns: "json", callers: ["jobforge_operator"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb", p_limit: "integer" } },
  jobforge_recognise_token: { returns: "json", callers: ["jobforge_operator", "jobforge_reader"], parameters: { p_digest: "text" } },
  jobforge_remove_limit: { returns: "json", callers: ["jobforge_operator"], parameters: { p_scope: "text", p_key: "text" } },
  jobforge_report_usage: { returns: "rows", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_from: "timestamptz", p_to: "timestamptz", p_bucket: "text", p_by: "text[]", p_types: "text[]", p_timezone: "text" } },
  jobforge_reschedule_job: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid", p_run_at: "timestamptz", p_max_attempts: "integer" } },
  jobforge_reschedule_jobs: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_filters: "jsonb", p_limit: "integer" } },
  jobforge_reset_policy: { returns: "json", callers: ["jobforge_operator"], parameters: { p_type: "text" } },
  jobforge_revoke_token: { returns: "json", callers: ["jobforge_operator"], parameters: { p_token_id: "uuid" } },
  jobforge_run_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_schedule_id: "uuid" } },
  jobforge_search_jobs: { returns: "rows", callers: ["jobforge_operator"], parameters: { p_filters: "jsonb" } },
  jobforge_set_connector_config: { returns: "json", callers: ["jobforge_app", "jobforge_operator"], parameters: { p_tenant_id: "uuid", p_connector_type: "text", p_config: "jsonb" } },
  jobforge_set_gate: { returns: "json", callers: ["jobforge_operator"], parameters: { p_scope: "text", p_key: "text", p_paused: "boolean", p_reason: "text", p_until: "timestamptz" } },
  jobforge_set_limit: { returns: "json", callers: ["jobforge_operator"], parameters: { p_scope: "text", p_key: "text", p_max_running: "integer", p_rate: "integer", p_per: "interval", p_burst: "integer" } },
  jobforge_set_policy: { returns: "json", callers: ["jobforge_operator"], parameters: { p_type: "text", p_policy: "jsonb" } },
  jobforge_set_schedule_enabled: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_enabled: "boolean", p_schedule_id: "uuid" } },
  jobforge_set_tenant: { returns: "json", callers: ["jobforge_operator"], parameters: { p_tenant_id: "uuid", p_settings: "jsonb" } },
  jobforge_settle_jobs: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_worker_id: "text", p_results: "jsonb", p_claim_limit: "integer", p_types: "text[]", p_tenant_id: "uuid", p_hint: "jsonb" } },
  jobforge_settle_jobs_text: { returns: "text", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_worker_id: "text", p_results: "jsonb", p_claim_limit: "integer", p_types: "text[]", p_tenant_id: "uuid", p_hint: "jsonb" } },
  jobforge_stats: { returns: "json", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant"], parameters: { p_tenant_id: "uuid", p_since: "timestamptz" } },
  jobforge_sync_policies: { returns: "json", callers: ["jobforge_operator", "jobforge_worker"], parameters: { p_policies: "jsonb", p_version: "text", p_force: "boolean", p_dry_run: "boolean" } },
  jobforge_sync_schedules: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_app: "text", p_schedules: "jsonb", p_tenant_id: "uuid", p_dry_run: "boolean" } },
  jobforge_tenant_id: { returns: "uuid", callers: ["jobforge_operator", "jobforge_reader", "jobforge_tenant", "jobforge_worker"], parameters: { p_text: "text" } },
  jobforge_update_job: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid", p_changes: "jsonb" } },
  jobforge_update_schedule: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_tenant_id: "uuid", p_type: "text", p_key: "text", p_changes: "jsonb", p_schedule_id: "uuid" } },
  jobforge_wake_workers: { returns: "void", callers: ["jobforge_operator", "jobforge_tenant", "jobforge_worker"], parameters: { p_wakes: "jsonb" } },
  jobforge_watch_job: { returns: "json", callers: ["jobforge_operator", "jobforge_tenant"], parameters: { p_job_id: "uuid", p_tenant_id: "uuid" } },
};
