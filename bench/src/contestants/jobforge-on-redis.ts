/** JobForge's handlers on BullMQ, with the settings of plain BullMQ at its best: nothing is kept of a success. */
import { BullForge, createBullWorker } from "@jobforge/bullmq";
import { defineJob } from "@jobforge/sdk-ts";
import { jobforgeVersion, jobOptions } from "./jobforge-jobs.ts";
import { type Contestant, type Payload, serve, UnsupportedRequest } from "./runtime.ts";

const redis = process.env["REDIS_URL"] ?? "";
/** As many as plain BullMQ runs at its best. */
const usual = 100;
const noop = defineJob({ type: "noop", retry: { baseMs: 0 }, keepHistory: false });
const forge = new BullForge({ redis });

const onRedis: Contestant = {
  manySize: 1_000,
  prepare: async () => ({
    version: jobforgeVersion(),
    keeps: "nothing: the type keeps no history",
    settings: `${usual} jobs at once; bulk: 1,000 a call; Redis writes its log to disk once a second`,
  }),
  send: (job) => forge.enqueue(noop, job.payload, jobOptions(job)),
  sendMany: (jobs) =>
    forge.enqueueMany(jobs.map((job) => ({ job: noop, input: job.payload, ...jobOptions(job) }))),
  work: async ({ concurrency, limit, run }) => {
    if (limit !== null) throw new UnsupportedRequest("Redis has no limits over several workers");
    const own = new BullForge({ redis });
    const handler = noop.handle((input, job) => run(input as Payload, job.attempt));
    const worker = createBullWorker(own, { handlers: [handler], concurrency: concurrency ?? usual });
    await worker.start();
    return async () => {
      await worker.stop();
      await own.close();
    };
  },
  close: () => forge.close(),
};

await serve(onRedis);
