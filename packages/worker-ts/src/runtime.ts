/**
 * The entry `@jobforge/worker-ts/runtime`: the worker on a store other than Postgres. It is for packages such as
 * `@jobforge/bullmq`, which implement `Backend`. Applications use `createWorker`.
 */
export type {
  Backend,
  BackendWorker,
  Connect,
  DatabaseParts,
  EndedRun,
  WakeEvents,
} from "./backend.ts";
export type {
  ClaimedJob,
  ClaimRequest,
  EndStatus,
  HeartbeatResponse,
  RunEnd,
  RunError,
  RunKey,
  SettledRun,
  SettleResponse,
} from "./claiming/protocol.ts";
export { DatabaseClock } from "./presence/clock.ts";
export type { WorkerLog } from "./reporting/log.ts";
export { Redactor } from "./reporting/redact.ts";
export { createWorkerOn } from "./worker.ts";
