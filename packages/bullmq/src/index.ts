/** The entry `@jobforge/bullmq`: the handlers of JobForge on Redis, with BullMQ. */

export { BullJobQueue, type BullJobQueueOptions } from "./adapters/stage-queue.ts";
export { BullForge, type BullReference } from "./bull-forge.ts";
export { BullJobHandle, EnqueuedBullJob } from "./client/handle.ts";
export type { RedisClient, RedisTarget } from "./connection.ts";
export {
  type MoveOptions,
  type MovePlan,
  type MoveProgress,
  moveToPostgres,
  moveToRedis,
  planToPostgres,
  planToRedis,
} from "./move/move.ts";
export type { BullForgeOptions } from "./options.ts";
export { type BullWorkerOptions, createBullWorker } from "./worker/worker.ts";
