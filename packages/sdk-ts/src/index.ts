export * from "./adapters.ts";
export { globalTenant } from "./arguments.ts";
export type { BulkFilters, BulkResult } from "./bulk.ts";
export type {
  CancelResult,
  JobChanges,
  JobForgeClient,
  JobReference,
  RescheduleOptions,
  RescheduleResult,
  TransactionClient,
} from "./client.ts";
export type { JobContext, JobLogger } from "./context.ts";
export { defineJob } from "./define-job.ts";
export { defineSchedule } from "./define-schedule.ts";
export type * from "./definition.ts";
export type { NewJob } from "./enqueue-many.ts";
export * from "./errors.ts";
export type { AuditEntry, AuditLog, AuditOptions } from "./groups/audit.ts";
export type { ConnectorReference, Connectors } from "./groups/connectors.ts";
export type { Gate, GateScope, Gates, PauseOptions } from "./groups/gates.ts";
export type { Health, Installation } from "./groups/installation.ts";
export type { AllJobs, CountOptions, DeadGroup, DeadGroupOptions, JobCount } from "./groups/jobs.ts";
export type { Limit, LimitOptions, LimitScope, Limits } from "./groups/limits.ts";
export type { Policies, Policy, PolicyChanges } from "./groups/policies.ts";
export type {
  ScheduleListOptions,
  ScheduleRunsOptions,
  Schedules,
  TransactionSchedules,
} from "./groups/schedules.ts";
export type { TenantInfo, TenantSettings, Tenants } from "./groups/tenants.ts";
export type { JobTypes, TypeInfo, TypeOptions } from "./groups/types.ts";
export type { LiveCount, LiveCountOptions, Usage, UsageOptions, UsageReports } from "./groups/usage.ts";
export type { WorkerInfo, Workers } from "./groups/workers.ts";
export type { EnqueuedJob, JobHandle } from "./handle.ts";
export { type HttpOptions, httpTransport } from "./http.ts";
export type * from "./job.ts";
export { JobForge, type JobForgeOptions } from "./job-forge.ts";
export { JsonText, maxPayloadBytes, toJson, toStorableJson } from "./json.ts";
export type { List, ListOptions, Page, PageOptions, SearchOptions } from "./list.ts";
export type { PgClient, PgPool, PgPoolOptions } from "./postgres/pg.ts";
export { type PostgresOptions, postgresTransport, type SqlExecutor } from "./postgres/transport.ts";
export { jobJson, type PreparedJob, prepareJob } from "./prepare.ts";
export type * from "./schedule.ts";
export { checkInput, checkOutput, typed } from "./schema.ts";
export { sleep } from "./sleep.ts";
export { type Difference, type PolicySync, policyOf } from "./sync/policies.ts";
export type { ScheduleSync } from "./sync/schedules.ts";
export type { SyncOptions } from "./sync/sync.ts";
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  PrismaTransaction,
  Transaction,
} from "./transactions.ts";
export type {
  CallArguments,
  CallOptions,
  ListenEvents,
  Listener,
  Transport,
} from "./transport.ts";
export type { WaitOptions } from "./wait.ts";
export * from "./words.ts";
