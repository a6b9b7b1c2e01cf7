export { configureJobsTickDev, type JobsTickOptions, runJobsTickDev } from "./adapters/harmonyk.ts";
export { type WorkerLoopOptions, workerLoop } from "./adapters/processing.ts";
export { JobAbortedError } from "./errors.ts";
export type { WorkerOptions } from "./options.ts";
export type { Middleware, RunEnded, RunFailed, RunInfo, WorkerHooks } from "./reporting/hooks.ts";
export type { Logger } from "./reporting/log.ts";
export { type LatencyBucket, latencyBuckets, type WorkerMetrics } from "./reporting/meter.ts";
export { createTickHandler, type TickHandler, type TickHandlerOptions } from "./tick-handler.ts";
export { createWorker, type StopOptions, type TickSummary, type Worker } from "./worker.ts";
