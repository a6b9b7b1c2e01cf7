/**
 * The names of the options of reads and bulk changes. A misspelled filter would select more jobs than the caller means,
 * so every call refuses names that it does not know. The types make sure that no name is missing.
 */
import { scheduleAliases } from "./aliases.ts";
import { checkKnown, requireObject } from "./arguments/values.ts";
import type { JobDefinition } from "./define/definition.ts";
import type { ScheduleChanges, ScheduleDefinitionOptions, ScheduleOptions } from "./define/schedule.ts";
import type { EndpointOptions, NewEndpointOptions, WebhookEvent } from "./define/webhook.ts";
import type { AuditOptions } from "./groups/audit.ts";
import type { PauseOptions } from "./groups/gates.ts";
import type { CountOptions, DeadGroupOptions } from "./groups/jobs.ts";
import type { LimitOptions } from "./groups/limits.ts";
import type { ClaimOptions } from "./groups/runs.ts";
import type {
  ScheduleBulkFilters,
  ScheduleFilters,
  ScheduleListOptions,
  ScheduleRunsOptions,
} from "./groups/schedules.ts";
import type { LiveCountOptions, UsageOptions } from "./groups/usage.ts";
import type {
  DeliveryFilters,
  DeliveryListOptions,
  ReplayOptions,
  RotateOptions,
} from "./groups/webhooks.ts";
import type { JobFilters, OfTenant } from "./jobs/job.ts";
import type { ListOptions } from "./jobs/list.ts";
import type { BulkFilters, CopyChanges, JobChanges, JobReference, RescheduleOptions } from "./jobs/steer.ts";
import type { WaitOptions } from "./jobs/wait.ts";
import type { Aliases } from "./suggest.ts";
import type { SyncOptions } from "./sync/sync.ts";
import type { CallOptions } from "./transport/transport.ts";
import type {
  ResolveOptions,
  SignalSendOptions,
  StepListOptions,
  WorkflowBulkFilters,
  WorkflowCancelOptions,
  WorkflowChanges,
  WorkflowFilters,
  WorkflowListOptions,
  WorkflowReference,
  WorkflowRetryOptions,
} from "./workflows/workflow.ts";

type Names<O> = Readonly<Record<keyof O, true>>;

const jobFilters: Names<JobFilters> = {
  status: true,
  type: true,
  tags: true,
  subject: true,
  errorContains: true,
  errorGroup: true,
  createdAfter: true,
  createdBefore: true,
  finishedAfter: true,
  finishedBefore: true,
};

const scheduleFilters: Names<ScheduleFilters> = {
  job: true,
  enabled: true,
  failing: true,
  due: true,
  overdue: true,
  running: true,
  tags: true,
  subject: true,
  keyPrefix: true,
  updatedBefore: true,
};

const list: Names<ListOptions> = { tenantId: true, job: true, ...jobFilters, pageSize: true };
const bulk: Names<BulkFilters> = { tenantId: true, ...jobFilters, limit: true };
const count: Names<CountOptions> = { tenantId: true, ...jobFilters, change: true };
const deadGroups: Names<DeadGroupOptions> = { tenantId: true, ...jobFilters, limit: true };
const reschedule: Names<RescheduleOptions & { tenantId: string }> = {
  tenantId: true,
  runAt: true,
  maxAttempts: true,
  payload: true,
};
const update: Names<JobChanges> = { payload: true, priority: true, tags: true, runAt: true };
const copy: Names<CopyChanges> = { ...update, maxAttempts: true };
const schedules: Names<ScheduleListOptions> = {
  tenantId: true,
  ...scheduleFilters,
  order: true,
  pageSize: true,
};
/** What the options of every call that makes or changes a schedule have in common. */
const scheduleSettings: Names<
  Omit<ScheduleChanges, "mergePayload" | "nextRunAt" | "reset" | "resetFailures">
> = {
  cron: true,
  timezone: true,
  every: true,
  anchor: true,
  jitter: true,
  dynamic: true,
  payload: true,
  enabled: true,
  overlap: true,
  missed: true,
  missedLimit: true,
  startsAt: true,
  endsAt: true,
  retryRuns: true,
  priority: true,
  maxAttempts: true,
  tags: true,
  subject: true,
  concurrencyKey: true,
};
const defineSchedule: Names<ScheduleDefinitionOptions<JobDefinition>> = {
  job: true,
  key: true,
  tenantId: true,
  ...scheduleSettings,
};
const ensureSchedule: Names<ScheduleOptions> = {
  tenantId: true,
  ...scheduleSettings,
  nextRunAt: true,
  firstRunAt: true,
  reset: true,
  ifMissing: true,
  resetFailures: true,
};
const updateSchedule: Names<ScheduleChanges> = {
  ...scheduleSettings,
  mergePayload: true,
  nextRunAt: true,
  reset: true,
  resetFailures: true,
};
const scheduleBulk: Names<ScheduleBulkFilters> = { tenantId: true, ...scheduleFilters, limit: true };
const scheduleRuns: Names<ScheduleRunsOptions> = { tenantId: true, status: true, pageSize: true };
const audit: Names<AuditOptions> = {
  tenantId: true,
  action: true,
  entityType: true,
  entityId: true,
  actor: true,
  after: true,
  before: true,
  pageSize: true,
};
const usage: Names<UsageOptions> = {
  tenantId: true,
  from: true,
  to: true,
  bucket: true,
  by: true,
  types: true,
  timezone: true,
};
const live: Names<LiveCountOptions> = { tenantId: true, by: true, cap: true };
const within: Names<CallOptions> = { timeoutMs: true, signal: true };
const wait: Names<WaitOptions & JobReference> = { tenantId: true, job: true, timeoutMs: true, signal: true };
const sync: Names<SyncOptions> = { app: true, appVersion: true, tenantId: true, dryRun: true, force: true };
const pause: Names<PauseOptions> = { reason: true, until: true };
const limit: Names<LimitOptions> = { maxRunning: true, rate: true, per: true, burst: true };
const claim: Names<ClaimOptions> = { workerId: true, job: true, limit: true, tenantId: true };

const workflowFilters: Names<WorkflowFilters> = {
  status: true,
  name: true,
  tags: true,
  subject: true,
  createdAfter: true,
  createdBefore: true,
};
const workflows: Names<WorkflowListOptions> = { tenantId: true, ...workflowFilters, pageSize: true };
const workflowSteps: Names<StepListOptions> = {
  tenantId: true,
  status: true,
  kind: true,
  group: true,
  pageSize: true,
};
const workflowWait: Names<WaitOptions & WorkflowReference> = {
  tenantId: true,
  workflow: true,
  timeoutMs: true,
  signal: true,
};
const workflowCancel: Names<WorkflowCancelOptions & OfTenant> = { tenantId: true, reason: true };
const workflowRetry: Names<WorkflowRetryOptions & OfTenant> = {
  tenantId: true,
  steps: true,
  downstream: true,
  reset: true,
};
const workflowBulk: Names<WorkflowBulkFilters> = { tenantId: true, ...workflowFilters, limit: true };
const workflowChanges: Names<WorkflowChanges & OfTenant> = {
  tenantId: true,
  deadline: true,
  priority: true,
  tags: true,
};
const resolve: Names<ResolveOptions> = { tenantId: true, status: true, result: true };
const signal: Names<SignalSendOptions> = { tenantId: true, key: true };

const endpoint: Names<EndpointOptions> = {
  url: true,
  description: true,
  events: true,
  jobTypes: true,
  tags: true,
  include: true,
  format: true,
  signature: true,
  headers: true,
  ordered: true,
  retrySchedule: true,
};
const newEndpoint: Names<NewEndpointOptions> = { ...endpoint, masterKey: true };
const rotateEndpoint: Names<RotateOptions> = { keepMs: true, masterKey: true };
const event: Names<WebhookEvent> = { type: true, data: true, id: true, timestamp: true };
const { type: _type, subject: _subject, ...ofDeliveries } = jobFilters;
const deliveryFilters: Names<DeliveryFilters> = ofDeliveries;
const deliveries: Names<DeliveryListOptions> = { ...deliveryFilters, pageSize: true };
const replay: Names<ReplayOptions> = { ...deliveryFilters, limit: true };

const calls = {
  list,
  bulk,
  count,
  deadGroups,
  reschedule,
  update,
  copy,
  wait,
  within,
  sync,
  limit,
  pause,
  schedules,
  defineSchedule,
  ensureSchedule,
  updateSchedule,
  scheduleBulk,
  scheduleRuns,
  scheduleCount: { tenantId: true },
  audit,
  usage,
  live,
  claim,
  types: { spanMs: true },
  page: { pageSize: true },
  workflows,
  workflowSteps,
  workflowWait,
  workflowCancel,
  workflowRetry,
  workflowBulk,
  workflowChanges,
  resolve,
  signal,
  newEndpoint,
  updateEndpoint: endpoint,
  disableEndpoint: { reason: true },
  rotateEndpoint,
  event,
  deliveries,
  replay,
} as const;

/** What callers may call the filters of jobs. */
const filterAliases: Aliases = {
  state: "status",
  statuses: "status",
  types: "type",
  queue: "type",
  job: "Did you mean type? Pass the type of the definition: job.type.",
  error: "errorContains",
  since: "createdAfter",
  after: "createdAfter",
  before: "createdBefore",
};

const pageAliases: Aliases = {
  limit: "Did you mean pageSize? To read one page only, call page() of the list.",
  cursor: "Pass the cursor to page(cursor) of the list.",
};

/** Refuses what is not an object, and names that the call does not know. Returns the options. */
export function knownOptions<O extends object>(
  options: O,
  call: keyof typeof calls,
  field: "options" | "filters" | "changes" = "options",
): O {
  const known: object = calls[call];
  const names = Object.keys(known);
  requireObject(options, field, `Pass an object with any of: ${names.join(", ")}.`);
  const aliases = {
    ...("errorContains" in known ? filterAliases : {}),
    ...("pageSize" in known ? pageAliases : {}),
    ...("cron" in known ? scheduleAliases : {}),
  };
  checkKnown(options, names, { aliases });
  return options;
}
