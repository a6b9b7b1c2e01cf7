/** A worker process, as an application would write it, that keeps a journal of what it executes and of what it is told. */
import "./shifted-clock.ts";
import "./tether.ts";
import { JobForge } from "@jobforge/sdk-ts";
import { createWorker } from "@jobforge/worker-ts";
import { HEARTBEAT_MS } from "../jobs.ts";
import { handlersOf } from "./handlers.ts";
import { openJournal } from "./journal.ts";

const { DATABASE_URL, JOURNAL = ".", NAME = "worker", WORKER_ID = NAME, CONCURRENCY = "8" } = process.env;
const note = openJournal(JOURNAL, WORKER_ID);

const worker = createWorker(new JobForge({ database: DATABASE_URL }), {
  id: WORKER_ID,
  concurrency: Number(CONCURRENCY),
  heartbeatMs: HEARTBEAT_MS,
  graceMs: 3_000,
  abortGraceMs: 1_000,
  handlers: handlersOf(NAME),
  middleware: [
    async ({ job: { id: job, attempt } }, next) => {
      note({ event: "start", job, attempt });
      let what = "threw";
      try {
        const result = await next();
        what = "returned";
        return result;
      } finally {
        note({ event: "end", job, attempt, what });
      }
    },
  ],
  hooks: {
    onSuccess: ({ id: job, attempt, status }) => note({ event: "kept", job, attempt, what: status }),
    onFailure: ({ id: job, attempt, status }) => note({ event: "kept", job, attempt, what: status }),
    onStale: ({ id: job, attempt }) => note({ event: "stale", job, attempt }),
  },
});
await worker.run();
