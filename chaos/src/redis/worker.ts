/** A worker process on Redis: `worker.ts REDIS JOURNAL`. It writes starts and confirmed successes to the journal. */
import { appendFileSync } from "node:fs";
import { BullForge, createBullWorker } from "@jobforge/bullmq";
import { handledJob } from "./jobs.ts";

const [, , redis = "", journal = ""] = process.argv;
const note = (what: string, id: string, attempt: number): void =>
  appendFileSync(journal, `${JSON.stringify({ what, id, attempt })}\n`);

await using forge = new BullForge({ redis, leaseMs: 2000 });
const worker = createBullWorker(forge, {
  concurrency: 5,
  pollMs: 200,
  handlers: [
    handledJob.handle(async ({ workMs, fails }, { id, attempt }) => {
      note("started", id, attempt);
      await new Promise((resolve) => setTimeout(resolve, workMs));
      if (fails >= attempt) throw new Error(`Failure ${attempt} of ${fails}`);
      return attempt;
    }),
  ],
  hooks: { onSuccess: ({ id, attempt }) => note("succeeded", id, attempt) },
});
await worker.run();
