/**
 * The entry `@jobforge/sdk-ts/adapters`: the interfaces of two older designs, implemented on JobForge, so that programs
 * written for them run unchanged.
 */
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
export { HeldJobs, type Hold } from "./adapters/held.ts";
export { MemoryJobQueue, type MemoryJobQueueOptions, type MemoryQueueJob } from "./adapters/memory-queue.ts";
export {
  JobForgeJobQueue,
  type JobQueue,
  type NewQueueJob,
  type QueueJob,
  type StageOptions,
  type StageQueue,
  stages,
} from "./adapters/processing.ts";
export { type ChildKey, childKey, type Parent, parentOf, type StageHold } from "./adapters/stage-run.ts";
