/** The views of the API whose rows belong to tenants. */
export const tenantViews: readonly string[] = [
  "jobforge_jobs",
  "jobforge_job_attempts",
  "jobforge_job_results",
  "jobforge_connector_configs",
  "jobforge_audit_log",
  "jobforge_schedules",
  "jobforge_usage",
];
