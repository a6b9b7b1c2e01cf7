/** A worker process, written like a real one, that keeps a journal of its executions and of the replies it gets. */
import "./shifted-clock.ts";
import "./tether.ts";
import { JobForge } from "@jobforge/sdk-ts";
import { createWorker } from "@jobforge/worker-ts";
import { heartbeatMs } from "../jobs.ts";
import { handlersOf } from "./handlers.ts";
import { openJournal } from "./journal.ts";

const { DATABASE_URL: databaseUrl, JOURNAL: journal = ".", NAME: name = "worker" } = process.env;
const workerId = process.env["WORKER_ID"] ?? name;
const note = openJournal(journal, workerId);

const worker = createWorker(new JobForge({ database: databaseUrl }), {
  id: workerId,
  concurrency: 8,
  heartbeatMs,
  graceMs: 3_000,
  abortGraceMs: 1_000,
  handlers: handlersOf(name),
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
