/** The kernel's API as clients call it: parameters with their SQL types, and what comes back. A test compares it to the catalog. */

type Returns = "json" | "rows" | "text" | "timestamptz" | "void";

export interface ApiFunction {
  readonly parameters: ReadonlyMap<string, string>;
  /** One JSON value; a set of rows, which clients get as an array of objects; JSON as a text, which clients get parsed; a time; nothing. */
  readonly returns: Returns;
  /** The call acts for the tenant of `p_tenant_id`, so a caller that is trusted to name its tenant names that one. */
  readonly namesTenant: boolean;
}

/** Calls of workers: there a tenant only narrows what is claimed. */
const workerCalls = new Set([
  "jobforge_claim_jobs",
  "jobforge_settle_jobs",
  "jobforge_exchange_jobs",
  "jobforge_bind_role",
  "jobforge_create_token",
]);

const settling =
  "p_worker_id text, p_results jsonb, p_claim_limit integer, p_types text[], p_tenant_id uuid, p_hint jsonb";

const ofSchedule = "p_tenant_id uuid, p_type text, p_key text";

const signatures: Readonly<Record<string, readonly [Returns, string]>> = {
  jobforge_enqueue_job: [
    "json",
    `p_tenant_id uuid, p_type text, p_payload jsonb, p_idempotency_key text, p_run_at timestamptz, p_max_attempts integer,
     p_priority integer, p_dedupe_key text, p_dedupe_mode text, p_tags text[], p_subject text, p_concurrency_key text,
     p_expires_at timestamptz, p_traceparent text, p_notify boolean`,
  ],
  jobforge_enqueue_jobs: ["json", "p_tenant_id uuid, p_jobs jsonb, p_notify boolean, p_partial boolean"],
  jobforge_claim_jobs: ["rows", "p_worker_id text, p_limit integer, p_types text[], p_tenant_id uuid"],
  jobforge_complete_job: [
    "json",
    `p_job_id uuid, p_worker_id text, p_status text, p_error jsonb, p_result jsonb, p_artifact_ref text, p_attempt integer,
     p_retry boolean, p_retry_at timestamptz, p_cost_cents integer, p_next_run_at timestamptz`,
  ],
  jobforge_settle_jobs: ["json", settling],
  jobforge_exchange_jobs: ["text", settling],
  jobforge_defer_job: [
    "json",
    "p_job_id uuid, p_worker_id text, p_run_at timestamptz, p_attempt integer, p_counts boolean",
  ],
  jobforge_heartbeat_job: ["json", "p_job_id uuid, p_worker_id text, p_attempt integer"],
  jobforge_progress_job: ["json", "p_job_id uuid, p_worker_id text, p_progress jsonb, p_attempt integer"],
  jobforge_heartbeat_worker: ["json", "p_worker_id text, p_info jsonb"],
  jobforge_cancel_job: ["json", "p_job_id uuid, p_tenant_id uuid"],
  jobforge_reschedule_job: [
    "json",
    "p_job_id uuid, p_tenant_id uuid, p_run_at timestamptz, p_max_attempts integer",
  ],
  jobforge_update_job: ["json", "p_job_id uuid, p_tenant_id uuid, p_changes jsonb"],
  jobforge_cancel_jobs: ["json", "p_tenant_id uuid, p_filters jsonb, p_limit integer"],
  jobforge_reschedule_jobs: ["json", "p_tenant_id uuid, p_filters jsonb, p_limit integer"],
  jobforge_get_job: ["rows", "p_job_id uuid, p_tenant_id uuid"],
  jobforge_list_jobs: ["rows", "p_tenant_id uuid, p_filters jsonb"],
  jobforge_search_jobs: ["rows", "p_filters jsonb"],
  jobforge_ensure_schedule: ["json", `${ofSchedule}, p_options jsonb`],
  jobforge_sync_schedules: ["json", "p_app text, p_schedules jsonb, p_tenant_id uuid, p_dry_run boolean"],
  jobforge_update_schedule: ["json", `${ofSchedule}, p_changes jsonb`],
  jobforge_set_schedule_enabled: ["json", `${ofSchedule}, p_enabled boolean`],
  jobforge_enable_schedule: ["json", ofSchedule],
  jobforge_disable_schedule: ["json", ofSchedule],
  jobforge_lock_schedule: ["json", ofSchedule],
  jobforge_run_schedule: ["json", ofSchedule],
  jobforge_delete_schedule: ["json", ofSchedule],
  jobforge_get_schedule: ["rows", ofSchedule],
  jobforge_list_schedules: ["rows", "p_tenant_id uuid, p_filters jsonb"],
  jobforge_list_schedule_runs: ["rows", `${ofSchedule}, p_filters jsonb`],
  jobforge_cron_next: ["timestamptz", "p_expression text, p_timezone text, p_after timestamptz"],
  jobforge_cron_runs: ["rows", "p_expression text, p_timezone text, p_after timestamptz, p_count integer"],
  jobforge_get_result: ["json", "p_job_id uuid, p_tenant_id uuid"],
  jobforge_list_attempts: ["rows", "p_job_id uuid, p_tenant_id uuid"],
  jobforge_list_audit: ["rows", "p_tenant_id uuid, p_filters jsonb"],
  jobforge_watch_job: ["json", "p_job_id uuid, p_tenant_id uuid"],
  jobforge_wake_workers: ["void", "p_wakes jsonb"],
  jobforge_set_policy: ["json", "p_type text, p_policy jsonb"],
  jobforge_get_policy: ["json", "p_type text"],
  jobforge_set_gate: [
    "json",
    "p_scope text, p_key text, p_paused boolean, p_reason text, p_until timestamptz",
  ],
  jobforge_list_gates: ["rows", ""],
  jobforge_set_limit: [
    "json",
    "p_scope text, p_key text, p_max_running integer, p_rate integer, p_per interval, p_burst integer",
  ],
  jobforge_remove_limit: ["json", "p_scope text, p_key text"],
  jobforge_get_limit: ["json", "p_scope text, p_key text"],
  jobforge_list_limits: ["rows", ""],
  jobforge_list_workers: ["rows", ""],
  jobforge_bind_role: ["json", "p_role text, p_tenant_id uuid"],
  jobforge_set_connector_config: ["json", "p_tenant_id uuid, p_connector_type text, p_config jsonb"],
  jobforge_get_connector_config: ["json", "p_tenant_id uuid, p_connector_type text"],
  jobforge_count_jobs: ["rows", "p_tenant_id uuid, p_filters jsonb, p_change text"],
  jobforge_list_dead_groups: ["rows", "p_tenant_id uuid, p_filters jsonb"],
  jobforge_purge_jobs: ["json", "p_tenant_id uuid, p_filters jsonb, p_limit integer"],
  jobforge_list_types: ["rows", "p_span interval"],
  jobforge_health: ["json", ""],
  jobforge_maintain: ["json", "p_limit integer"],
  jobforge_create_token: ["json", "p_name text, p_role text, p_tenant_id uuid, p_expires_at timestamptz"],
  jobforge_list_tokens: ["rows", ""],
  jobforge_revoke_token: ["json", "p_token_id uuid"],
  jobforge_recognise_token: ["json", "p_digest text"],
  jobforge_stats: ["json", "p_tenant_id uuid, p_since timestamptz"],
  jobforge_metrics: ["json", "p_since timestamptz, p_buckets numeric[], p_by_tenant boolean"],
  jobforge_explain_job: ["json", "p_job_id uuid, p_tenant_id uuid"],
  jobforge_count_live: ["rows", "p_tenant_id uuid, p_by text[], p_cap integer"],
  jobforge_report_usage: [
    "rows",
    `p_tenant_id uuid, p_from timestamptz, p_to timestamptz, p_bucket text, p_by text[], p_types text[],
     p_timezone text`,
  ],
  jobforge_set_tenant: ["json", "p_tenant_id uuid, p_settings jsonb"],
  jobforge_get_tenant: ["json", "p_tenant_id uuid"],
};

export const apiFunctions: ReadonlyMap<string, ApiFunction> = new Map(
  Object.entries(signatures).map(([name, [returns, signature]]) => {
    const parameters = readSignature(signature);
    return [
      name,
      { parameters, returns, namesTenant: parameters.has("p_tenant_id") && !workerCalls.has(name) },
    ];
  }),
);

function readSignature(signature: string): Map<string, string> {
  const declared = signature.split(",").map((each) => each.trim().split(" "));
  return new Map(declared.flatMap(([name = "", type = ""]) => (name === "" ? [] : [[name, type]])));
}
