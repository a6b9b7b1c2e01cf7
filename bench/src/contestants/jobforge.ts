/**
 * JobForge with its default settings, which are also its best: it keeps history, and each process is one worker. With
 * the argument `without-history`, succeeded jobs are not kept.
 */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker } from "@jobforge/worker-ts";
import { jobforgeVersion, jobOptions } from "./jobforge-jobs.ts";
import { type Contestant, type Payload, serve } from "./runtime.ts";

const database = process.env["DATABASE_URL"] ?? "";
const keepHistory = process.argv[2] !== "without-history";
const noop = defineJob({ type: "noop", retry: { baseMs: 0 }, keepHistory });
const forge = new JobForge({ database });

const jobforge: Contestant = {
  manySize: 10_000,
  prepare: async () => {
    await migrate({ database });
    await forge.sync([noop]);
    return {
      version: jobforgeVersion(),
      keeps: keepHistory
        ? "every job with its payload, timings and last error, for its retention (30 days)"
        : "failed and dead jobs only",
      settings: `defaults: concurrency 10, batches of 500, up to 1,000 claimed ahead, pool of 10; bulk: a stream, two parts of 5,000 under way${keepHistory ? "" : "; keepHistory: false"}`,
    };
  },
  send: (job) => forge.enqueue(noop, job.payload, jobOptions(job)),
  sendMany: (jobs) =>
    forge.enqueueStream(jobs.map((job) => ({ job: noop, input: job.payload, ...jobOptions(job) }))),
  work: async ({ concurrency, limit, run }) => {
    const own = new JobForge({ database });
    if (limit !== null) await own.limits.set({ type: noop.type }, { maxRunning: limit });
    const handler = noop.handle((input, job) => run(input as Payload, job.attempt));
    const worker = createWorker(own, { handlers: [handler], concurrency: concurrency ?? undefined });
    await worker.start();
    return async () => {
      await worker.stop();
      await own.close();
    };
  },
  close: () => forge.close(),
};

await serve(jobforge);
