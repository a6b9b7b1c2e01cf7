/** A client and workers on Redis, with the calls that the adapter makes of those on Postgres. */
import { BullForge, createBullWorker, type RedisTarget } from "@jobforge/bullmq";
import { defineJob, type EnqueueOptions, type Job, type JobDefinition, type NewJob } from "@jobforge/sdk-ts";
import type { Worker, WorkerOptions } from "@jobforge/worker-ts";
import { moveClock } from "./clock.ts";
import type { Fields } from "./names.ts";

interface Enqueued {
  readonly id: string;
  readonly outcome: string;
  readonly job: Job | undefined;
}

interface Reference {
  readonly tenantId: string;
}

/** By the id of a job. Redis finds a job by its type, and scenarios name jobs by their ids only. */
const definitions = new Map<string, JobDefinition>();

export class RedisForge {
  readonly #forge: BullForge;

  constructor({ redis, prefix, groups, clock_offset }: Fields) {
    moveClock(Number(clock_offset));
    this.#forge = new BullForge({
      redis: redis as RedisTarget,
      prefix: String(prefix),
      groups: groups as number | undefined,
      // Scenarios have heartbeats of up to 30 seconds.
      leaseMs: 60_000,
    });
  }

  async enqueue(job: JobDefinition, input: unknown, options: EnqueueOptions): Promise<Enqueued> {
    const handle = await this.#forge.enqueue(job, input as never, options);
    definitions.set(handle.id, job);
    return { id: handle.id, outcome: handle.outcome, job: await handle.get() };
  }

  async enqueueMany(jobs: readonly NewJob[], shared: Partial<EnqueueOptions>): Promise<readonly object[]> {
    const handles = await this.#forge.enqueueMany(jobs as never, shared);
    return (handles as readonly Omit<Enqueued, "job">[]).map(({ id, outcome }, place) => {
      const job = jobs[place]?.job;
      if (job !== undefined) definitions.set(id, job);
      return { id, outcome };
    });
  }

  get(id: string, options: Reference): Promise<Job | undefined> {
    return this.#forge.get(id, this.#reference(id, options));
  }

  result(id: string, options: Reference): Promise<unknown> {
    return this.#forge.result(id, { ...options, ...this.#reference(id, options) });
  }

  cancel(id: string, options: Reference): Promise<object> {
    return this.#forge.cancel(id, this.#reference(id, options));
  }

  worker(options: WorkerOptions): Worker {
    return createBullWorker(this.#forge, options);
  }

  close(): Promise<void> {
    return this.#forge.close();
  }

  #reference(id: string, { tenantId }: Reference): { job: JobDefinition; tenantId: string } {
    return { job: definitions.get(id) ?? defineJob({ type: "unknown" }), tenantId };
  }
}
