export {
  canRetry,
  DEFAULT_MAX_ATTEMPTS,
  type EnqueueJobInput,
  getBackoffDelayMs,
  type HarmonykJob,
  type HarmonykJobStatus,
  JobForgeJobsRepository,
  type JobsRepository,
  type JobsRepositoryOptions,
  makeJobDedupeKey,
} from "./adapters/harmonyk.ts";
export { MemoryJobQueue, type MemoryJobQueueOptions, type MemoryQueueJob } from "./adapters/memory-queue.ts";
export { JobForgeJobQueue, type JobQueue, type QueueJob, type StageQueue } from "./adapters/processing.ts";
export { globalTenant } from "./arguments.ts";
export type {
  BulkAnswer,
  BulkFilters,
  CancelAnswer,
  JobChanges,
  JobForgeClient,
  JobReference,
  RescheduleAnswer,
  RescheduleOptions,
  TransactionClient,
} from "./client.ts";
export type { JobContext, JobLogger } from "./context.ts";
export { defineJob } from "./define-job.ts";
export { defineSchedule } from "./define-schedule.ts";
export type * from "./definition.ts";
export type { NewJob } from "./enqueue-many.ts";
export * from "./errors.ts";
export type { EnqueuedJob, JobHandle } from "./handle.ts";
export { type HttpOptions, httpTransport } from "./http.ts";
export type * from "./job.ts";
export { JobForge, type JobForgeOptions } from "./job-forge.ts";
export { JsonText, maxPayloadBytes, toJson, toStorableJson } from "./json.ts";
export type { Limit, LimitOptions, LimitScope, Limits } from "./limits.ts";
export type { List, ListOptions, Page, PageOptions, SearchOptions } from "./list.ts";
export type {
  AuditEntry,
  AuditOptions,
  ConnectorReference,
  Gate,
  GateScope,
  PauseOptions,
  WorkerInfo,
} from "./operations.ts";
export type {
  CountOptions,
  DeadGroup,
  DeadGroupOptions,
  Health,
  JobCount,
  TypeInfo,
  TypeOptions,
} from "./overview.ts";
export {
  type Difference,
  type Policy,
  type PolicyChanges,
  type PolicySync,
  policyOf,
  retryPresets,
  type SyncOptions,
} from "./policies.ts";
export type { PgClient, PgPool, PgPoolOptions } from "./postgres/pg.ts";
export { type PostgresOptions, postgresTransport, type SqlExecutor } from "./postgres/transport.ts";
export { jobJson, type PreparedJob, prepareJob } from "./prepare.ts";
export type * from "./schedule.ts";
export type {
  ScheduleListOptions,
  ScheduleRunsOptions,
  Schedules,
  TransactionSchedules,
} from "./schedules.ts";
export { checkInput, checkOutput, typed } from "./schema.ts";
export type { ScheduleSync } from "./sync-schedules.ts";
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
export type {
  Dimension,
  LiveCount,
  LiveCountOptions,
  TenantInfo,
  TenantSettings,
  Tenants,
  Usage,
  UsageOptions,
} from "./usage.ts";
export type { WaitOptions } from "./wait.ts";
