/**
 * The entry `@jobforge/sdk-ts`. Where to find things in this folder:
 *
 * - job-forge.ts, client.ts, client-jobs.ts: the client and its calls
 * - groups/: the calls of operators, such as `forge.gates`
 * - define/: definitions of jobs and schedules; sync/: writing definitions to the database
 * - enqueue/: from a definition and an input to a call; jobs/: reading jobs, changing them, waiting for them
 * - workflows/: definitions of workflows, references, starting and waiting
 * - transport/: calls over Postgres and HTTP; transactions of other libraries
 * - artifacts/: large contents outside the database
 * - words.ts: fixed words and bounds; arguments/: checks; errors.ts, sdk-errors.ts: all errors
 * - adapters.ts, adapters/: the interfaces of older designs
 */
export * from "./adapters.ts";
export { globalTenant } from "./arguments/names.ts";
export type {
  ArtifactOptions,
  Artifacts,
  OffloadOptions,
  PutArtifactOptions,
} from "./artifacts/artifacts.ts";
export {
  type ArtifactKey,
  type ArtifactStore,
  artifactRef,
  type ListedArtifact,
  type PutOptions,
  parseArtifactKey,
  parseArtifactRef,
  type StoredArtifact,
} from "./artifacts/store.ts";
export { isStoredValue, maxOffloadBytes, offloadBytes, type StoredValue } from "./artifacts/stored-value.ts";
export type { SweepResult } from "./artifacts/sweep.ts";
export type { JobForgeClient, TransactionClient } from "./client.ts";
export type { JobContext, JobLogger, LogMethod, RunConnection } from "./define/context.ts";
export { defineJob } from "./define/define-job.ts";
export { defineSchedule } from "./define/define-schedule.ts";
export type * from "./define/definition.ts";
export type * from "./define/durable.ts";
export { retryDelayMs, retryOf } from "./define/retry.ts";
export type * from "./define/schedule.ts";
export { checkInput, checkOutput, typed } from "./define/schema.ts";
export type * from "./define/webhook.ts";
export { type NewJob, prepareJobs } from "./enqueue/enqueue-many.ts";
export type { BulkCounts, StreamOptions } from "./enqueue/enqueue-stream.ts";
export { jobJson, type PreparedJob, prepareJob } from "./enqueue/prepare.ts";
export { traced } from "./enqueue/telemetry.ts";
export * from "./errors.ts";
export type { AuditEntry, AuditLog, AuditOptions } from "./groups/audit.ts";
export type { ConnectorReference, Connectors } from "./groups/connectors.ts";
export type { Egress, EgressPolicies, EgressPolicyDocument } from "./groups/egress.ts";
export type { ChangedGate, Gate, GateScope, Gates, PauseOptions } from "./groups/gates.ts";
export type { Health, Installation } from "./groups/installation.ts";
export type { AllJobs, CountOptions, DeadGroup, DeadGroupOptions, JobCount } from "./groups/jobs.ts";
export type { ChangedLimit, Limit, LimitOptions, LimitScope, Limits, ListedLimit } from "./groups/limits.ts";
export type { Policies, Policy, PolicyChanges, PolicyReset } from "./groups/policies.ts";
export type {
  ClaimedRun,
  ClaimOptions,
  RunEndOptions,
  RunFailureOptions,
  RunOutcome,
  Runs,
} from "./groups/runs.ts";
export type {
  ScheduleBulkFilters,
  ScheduleBulkResult,
  ScheduleCount,
  ScheduleFilters,
  ScheduleKey,
  ScheduleListOptions,
  ScheduleRunsOptions,
  Schedules,
  TransactionSchedules,
} from "./groups/schedules.ts";
export type { ListedTenant, TenantInfo, TenantSettings, Tenants } from "./groups/tenants.ts";
export type { JobTypes, TypeInfo, TypeOptions } from "./groups/types.ts";
export type { LiveCount, LiveCountOptions, Usage, UsageOptions, UsageReports } from "./groups/usage.ts";
export type {
  DeliveryFilters,
  DeliveryListOptions,
  ReplayOptions,
  RotateOptions,
  WebhookDelivery,
  Webhooks,
} from "./groups/webhooks.ts";
export type { WorkerInfo, Workers } from "./groups/workers.ts";
export type { Workflows } from "./groups/workflows.ts";
export { intervalText } from "./interval.ts";
export { type GatherOptions, JobForge, type JobForgeOptions, type StoreOptions } from "./job-forge.ts";
export { cutText, type ErrorParts, failureLine, failureTrace } from "./jobs/failure.ts";
export type { EnqueuedJob, JobHandle } from "./jobs/handle.ts";
export type * from "./jobs/job.ts";
export type { List, ListOptions, Page, PageOptions, SearchOptions } from "./jobs/list.ts";
export type {
  BulkFilters,
  BulkResult,
  CancelResult,
  JobChanges,
  JobReference,
  RescheduleOptions,
  RescheduleResult,
} from "./jobs/steer.ts";
export { readOutput, type WaitOptions } from "./jobs/wait.ts";
export { checkResult, JsonText, maxPayloadBytes, resultForm, toJson, toStorableJson } from "./json.ts";
export * from "./sdk-errors.ts";
export { sleep } from "./sleep.ts";
export { type Aliases, suggest } from "./suggest.ts";
export {
  type Difference,
  type PolicySync,
  type PolicySyncOptions,
  policiesOf,
  policyOf,
  syncPolicies,
} from "./sync/policies.ts";
export type { ScheduleSync } from "./sync/schedules.ts";
export type { SyncOptions } from "./sync/sync.ts";
export { tenantId, tenantNamespace, tenantOf } from "./tenant-id.ts";
export { type HttpOptions, httpTransport } from "./transport/http.ts";
export type { PgClient, PgPool, PgPoolOptions } from "./transport/postgres/pg.ts";
export { type PostgresOptions, postgresTransport, type SqlExecutor } from "./transport/postgres/transport.ts";
export type {
  DrizzleTransaction,
  KnexTransaction,
  KyselyTransaction,
  PrismaTransaction,
  Transaction,
} from "./transport/transactions.ts";
export type {
  CallArguments,
  CallOptions,
  ListenEvents,
  Listener,
  Transport,
} from "./transport/transport.ts";
export * from "./words.ts";
export {
  AddedSteps,
  buildSteps,
  type JobResult,
  type SignalTimeout,
  type StepJson,
  Steps,
} from "./workflows/builder.ts";
export {
  buildWorkflow,
  defineWorkflow,
  type OutputTemplate,
  type StartOptions,
  type WorkflowDefinition,
  type WorkflowDefinitionOptions,
  type WorkflowGraph,
  type WorkflowInput,
  type WorkflowOutput,
} from "./workflows/definition.ts";
export type { StartedWorkflow, WorkflowHandle } from "./workflows/handle.ts";
export type { JobStepOptions, NeedJson, SignalOptions, StepOptions } from "./workflows/needs.ts";
export type { Ref, Reference, Resolved, StepInput } from "./workflows/reference.ts";
export { type NewWorkflow, type PreparedStart, prepareStart, startJson } from "./workflows/start.ts";
export { AnyStep, compensate, MapStep, Need, run, Step, wait } from "./workflows/step.ts";
export type * from "./workflows/workflow.ts";
