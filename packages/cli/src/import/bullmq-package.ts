/**
 * Loads BullMQ and ioredis. An application that comes from BullMQ has both, so they are optional peer dependencies.
 * Only an import from BullMQ needs them.
 */
import { CommandError } from "../failures.ts";

export interface Bullmq {
  readonly Queue: typeof import("bullmq").Queue;
  readonly Redis: typeof import("ioredis").Redis;
}

export async function loadBullmq(): Promise<Bullmq> {
  try {
    const [{ Queue }, { Redis }] = await Promise.all([import("bullmq"), import("ioredis")]);
    return { Queue, Redis };
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ERR_MODULE_NOT_FOUND")) throw error;
    throw new CommandError(
      "bullmq_missing",
      "An import from BullMQ needs the packages bullmq and ioredis.",
      "Run the command in the project that uses BullMQ, or install them: npm install bullmq ioredis",
    );
  }
}
