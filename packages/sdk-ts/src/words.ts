/**
 * The fixed words and numbers of the API, each written once. The types and the argument checks of the SDK derive from
 * them. They are exported, so that the schemas of the server and the options of the CLI can derive from them, too.
 */

const standard = { baseMs: 1000, capMs: 3_600_000, factor: 2, maxAttempts: 5 } as const;
const quick = { baseMs: 1000, capMs: 60_000, factor: 2, maxAttempts: 6 } as const;
const gentle = { baseMs: 10_000, capMs: null, factor: 2, maxAttempts: 4 } as const;
const patient = { baseMs: 30_000, capMs: 600_000, factor: 2, maxAttempts: 5 } as const;
const webhook = { baseMs: 5000, capMs: 36_000_000, factor: 5, jitter: 0.2, maxAttempts: 12 } as const;

/**
 * The retry presets with their settings, and the other names of the same presets. The kernel has the same names; a
 * test compares them.
 */
export const retryPresets = {
  /** Waits 1, 2, 4, 8 seconds; five executions. */
  standard,
  /** Waits 1, 2, 4, 8, 16 seconds; six executions. */
  quick,
  /** Waits 10, 20, 40 seconds; four executions. */
  gentle,
  /** Waits 30, 60, 120, 240 seconds; five executions. */
  patient,
  /** Waits about 5 s, 25 s, 2 min, 10 min, 52 min, 4.3 h, then 10 h; twelve executions in about 55 hours. */
  webhook,
  jobforge: standard,
  harmonyk: quick,
  atlas: gentle,
  processing: patient,
} as const;
export type RetryPreset = keyof typeof retryPresets;

/** The names of the presets that errors and helps recommend. The other names are older, and still accepted. */
export const retryPresetNames = ["standard", "quick", "gentle", "patient", "webhook"] as const;

/** Why a sync leaves a difference between a definition and its policy. */
export const keptReasons = ["set_by_hand", "newer_version"] as const;
export type KeptBecause = (typeof keptReasons)[number];

/** The states of a job. The last four are final. */
export const jobStatuses = ["queued", "running", "succeeded", "failed", "dead", "canceled"] as const;
export type JobStatus = (typeof jobStatuses)[number];

/** What a queued job waits for: a worker, its first time, or its next time after a failure. */
export const jobPhases = ["due", "scheduled", "retrying"] as const;
export type JobPhase = (typeof jobPhases)[number];

/** The orders of a list of summaries: newest first, or the named time. */
export const jobOrders = ["created", "oldest", "run_at", "started_at", "finished_at"] as const;
export type JobOrder = (typeof jobOrders)[number];

/** Why a finished job is in its final state. */
export const jobEndReasons = [
  "done",
  "refused",
  "failed",
  "exhausted",
  "crashed",
  "canceled",
  "expired",
] as const;
export type JobEndReason = (typeof jobEndReasons)[number];

/** The states of one attempt. */
export const attemptStatuses = [
  "running",
  "succeeded",
  "failed",
  "lost",
  "deferred",
  "released",
  "canceled",
] as const;
export type AttemptStatus = (typeof attemptStatuses)[number];

/** The runs whose logs are kept with their attempts: none, those that failed, or all. */
export const keepLogsModes = ["off", "failed", "all"] as const;
export type KeepLogs = (typeof keepLogsModes)[number];

/** The levels of a line that a handler logs. */
export const logLevels = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof logLevels)[number];

/** What an enqueue does when a live job has the same dedupe key. */
export const dedupeModes = ["skip", "replace", "debounce"] as const;
export type DedupeMode = (typeof dedupeModes)[number];

/** What an enqueue did. `existing`: an older job is returned unchanged. `replaced`: that job was changed. */
export const enqueueOutcomes = ["created", "existing", "replaced"] as const;
export type EnqueueOutcome = (typeof enqueueOutcomes)[number];

/** The changes that can be made to many jobs at once. */
export const bulkChanges = ["cancel", "reschedule", "purge"] as const;
export type BulkChange = (typeof bulkChanges)[number];

/** What a gate pauses. */
export const gateScopes = ["all", "type", "tenant"] as const;
export type GateScopeName = (typeof gateScopes)[number];

/** What a limit counts. */
export const limitScopes = ["type", "tenant", "type_tenant", "key"] as const;
export type LimitScopeName = (typeof limitScopes)[number];

/** What an entry of the audit log is about. */
export const auditEntityTypes = [
  "job",
  "jobs",
  "schedule",
  "type",
  "gate",
  "limit",
  "role",
  "token",
  "connector",
  "webhook_endpoint",
  "egress_policy",
  "tenant",
] as const;
export type AuditEntityType = (typeof auditEntityTypes)[number];

/** How the body of a webhook is written. */
export const webhookFormats = ["standard", "cloudevents", "legacy", "raw"] as const;
export type WebhookFormat = (typeof webhookFormats)[number];

/** How a webhook is signed. */
export const webhookSignatures = ["standard", "both", "ed25519"] as const;
export type WebhookSignature = (typeof webhookSignatures)[number];

/** What events of jobs can contain in addition. */
export const webhookParts = ["payload", "result"] as const;
export type WebhookPart = (typeof webhookParts)[number];

/** Whether deliveries to an endpoint start, or wait. */
export const webhookStates = ["enabled", "disabled"] as const;
export type WebhookState = (typeof webhookStates)[number];

/** The ends of a job that `notify` can name. */
export const notifyStatuses = ["succeeded", "failed", "dead", "canceled"] as const;
export type NotifyStatus = (typeof notifyStatuses)[number];

/** The roles of callers. */
export const clientRoles = [
  "jobforge_tenant",
  "jobforge_app",
  "jobforge_worker",
  "jobforge_operator",
  "jobforge_reader",
] as const;
export type ClientRole = (typeof clientRoles)[number];

/** The roles of a server's keys. jobforge_tenant is for logins that are bound to a tenant, and a key is not a login. */
export const tokenRoles = [
  "jobforge_app",
  "jobforge_worker",
  "jobforge_operator",
  "jobforge_reader",
] as const;
export type TokenRole = (typeof tokenRoles)[number];

/** Whether a worker still sends heartbeats. */
export const workerStatuses = ["alive", "stopped", "gone"] as const;
export type WorkerStatus = (typeof workerStatuses)[number];

/** The three kinds of schedules. */
export const scheduleKinds = ["cron", "every", "dynamic"] as const;
export type ScheduleKind = (typeof scheduleKinds)[number];

/** What a schedule does at a due time while one of its runs is queued or running. */
export const overlapModes = ["skip", "queue", "allow"] as const;
export type OverlapMode = (typeof overlapModes)[number];

/** What a schedule does with due times that passed while no worker was there. */
export const missedModes = ["skip", "once", "all"] as const;
export type MissedMode = (typeof missedModes)[number];

/** What `schedules.ensure` did. */
export const scheduleOutcomes = ["created", "existing", "updated"] as const;
export type ScheduleOutcome = (typeof scheduleOutcomes)[number];

/** The orders of a list of schedules. */
export const scheduleOrders = ["name", "next_run_at"] as const;
export type ScheduleOrder = (typeof scheduleOrders)[number];

/** How long the period of one row of a usage report is; `total` is the whole report. */
export const usagePeriods = ["hour", "day", "week", "month", "total"] as const;
export type UsagePeriod = (typeof usagePeriods)[number];

/** What rows of usage reports and live counts can be split by. */
export const dimensions = ["tenant", "type"] as const;
export type Dimension = (typeof dimensions)[number];

/** What a bad end of a needed step means for the step that needs it. */
export const needPolicies = ["cancel", "run", "wait", "compensate"] as const;
export type NeedPolicy = (typeof needPolicies)[number];

/** The states of a workflow. The last three are final. */
export const workflowStatuses = ["running", "succeeded", "failed", "canceled"] as const;
export type WorkflowStatus = (typeof workflowStatuses)[number];

/** The states of a step of a workflow. */
export const stepStatuses = [
  "blocked",
  "queued",
  "running",
  "waiting",
  "open",
  "succeeded",
  "failed",
  "dead",
  "canceled",
  "skipped",
] as const;
export type StepStatus = (typeof stepStatuses)[number];

/** What a step is: the workflow itself, a job, one job for each item, a sub-workflow, or a wait for a signal. */
export const stepKinds = ["root", "job", "map", "group", "signal"] as const;
export type StepKind = (typeof stepKinds)[number];

/** What a workflow does with its other steps when a step has failed. */
export const failureActions = ["finish", "cancel"] as const;
export type FailureAction = (typeof failureActions)[number];

/** What a signal step does when no signal has arrived in time. */
export const timeoutActions = ["fail", "continue"] as const;
export type TimeoutAction = (typeof timeoutActions)[number];

/** How `resolve` ends a step. */
export const resolutions = ["succeeded", "skipped"] as const;
export type Resolution = (typeof resolutions)[number];

/** What `start` and `signal` did. */
export const startOutcomes = ["created", "existing"] as const;
export type StartOutcome = (typeof startOutcomes)[number];

/** The least and the greatest accepted value, and the default where there is one. */
export interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly default?: number;
}

/** The bounds of numbers and sizes, as the kernel has them. */
export const bounds = {
  /** Items of a page of a list. */
  pageSize: { min: 1, max: 1000, default: 100 },
  /** Attempts of a job that one call returns. */
  attempts: { min: 1, max: 200 },
  /** Logs of a job that one call returns. */
  logs: { min: 1, max: 20 },
  /** Lines of a log that are kept. */
  logLines: { min: 0, max: 200 },
  /** Bytes of a log that are kept. */
  logBytes: { min: 0, max: 65_536 },
  /** Jobs that one call of a bulk change can match. */
  bulkLimit: { min: 1, max: 10_000, default: 1000 },
  /** Ids that a filter can name. */
  bulkIds: { min: 1, max: 1000, default: 1 },
  /** Groups that `jobs.deadGroups` returns. */
  deadGroups: { min: 1, max: 1000, default: 50 },
  /** Jobs that one call can claim. */
  claimLimit: { min: 1, max: 1000, default: 1 },
  /** Schedules that one call can delete. */
  scheduleBulkLimit: { min: 1, max: 1000, default: 1000 },
  /** Live jobs that `usage.live` counts before it estimates. */
  liveCap: { min: 0, max: 100_000, default: 10_000 },
  /** The size of the slice that `installation.maintain` does. */
  maintainLimit: { min: 1, max: 100_000, default: 1000 },
  /** How far back `types.list` counts finished jobs. */
  typeSpanMs: { min: 1, max: 7 * 86_400_000, default: 3_600_000 },
  /** Jobs of one call of a batch handler. */
  batchSize: { min: 1, max: 1000 },
  priority: { min: -1_000_000, max: 1_000_000, default: 0 },
  maxAttempts: { min: 1, max: 100_000 },
  /** How long an enqueue can put its job off: ten years. */
  delayMs: { min: 0, max: 315_360_000_000 },
  /** Waits between retries. */
  retryMs: { min: 0, max: 31_536_000_000 },
  retryFactor: { min: 1, max: 100 },
  retryJitter: { min: 0, max: 1 },
  timeoutMs: { min: 1, max: 31_536_000_000 },
  leaseMs: { min: 1000, max: 31_536_000_000 },
  retentionDays: { min: 1, max: 3650 },
  /** Missed runs that `missed: "all"` makes up for. */
  missedLimit: { min: 1, max: 100, default: 100 },
  maxRunning: { min: 0, max: 2_147_483_647 },
  /** The rate and the burst of a limit. */
  rate: { min: 1, max: 1_000_000 },
  maxPending: { min: 0, max: 1_000_000_000 },
  maxTypes: { min: 1, max: 1_000_000, default: 1000 },
  maxSchedules: { min: 0, max: 1_000_000, default: 10_000 },
  weight: { min: 1, max: 100 },
  /** Characters of a job's type. */
  typeLength: { min: 1, max: 200 },
  /** Bytes of a key, and of a subject. */
  keyBytes: { min: 1, max: 1024 },
  /** Tags of a job. */
  tags: { min: 0, max: 50 },
  /** Bytes of all tags of a job together. */
  tagBytes: { min: 1, max: 4000 },
  auditActionBytes: { min: 1, max: 200 },
  /** Bytes of the name of a workflow. */
  workflowNameBytes: { min: 1, max: 190 },
  /** Bytes of the name of a step. */
  stepNameBytes: { min: 1, max: 200 },
  /** Bytes of the path of a step. */
  stepPathBytes: { min: 1, max: 2000 },
  /** Workflows that one call can start. */
  startMany: { min: 1, max: 1000 },
  /** Bytes of the reason of a pause. */
  reasonBytes: { min: 1, max: 10_000 },
  /** Bytes of the name of a connector. */
  connectorBytes: { min: 1, max: 800 },
  /** Bytes of the name and of the version of an application that declares definitions. */
  appBytes: { min: 1, max: 200 },
} as const satisfies Readonly<Record<string, Bounds>>;

/** How long a call may take unless the client or the call says otherwise. */
export const defaultTimeoutMs = 30_000;

/** What the name of a step looks like. Dots, slashes and brackets separate the parts of references and paths. */
export const stepNamePattern: RegExp = /^[A-Za-z0-9_][A-Za-z0-9_:@-]*$/;

/** What the type of a job looks like. Such a name needs no quotes in a shell and no escapes in an address. */
export const typePattern: RegExp = /^[A-Za-z0-9_][A-Za-z0-9_.:/@-]*$/;
