/**
 * Measures how late a schedule fires on an idle system. Run as a separate process: `firing.ts COUNT`, with the database
 * in DATABASE_URL. The handler of a dynamic schedule sets its next run, and compares the due time with the time it was
 * called. Prints one line of JSON.
 */
import { defineJob, globalTenant, JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker } from "@jobforge/worker-ts";

const database = process.env["DATABASE_URL"] ?? "";
const runs = Number(process.argv[2]);
/** The first runs are not counted, because they open connections and plan statements. */
const warmUp = 10;

await migrate({ database });
await using forge = new JobForge({ database });
const tick = defineJob({ type: "tick" });
const delays: number[] = [];
let finish: () => void = () => undefined;
const finished = new Promise<void>((resolve) => {
  finish = resolve;
});
const handler = tick.handle((_, job) => {
  delays.push(Date.now() - (job.scheduledFor?.getTime() ?? Number.NaN));
  // Long enough for the worker to become idle again, and random so that it does not align with the worker's timers.
  if (delays.length < runs + warmUp) job.nextRun(100 + Math.random() * 100);
  else finish();
});
const worker = createWorker(forge, { handlers: [handler] });
await worker.start();
await forge.schedules.ensure(tick, "bench", { tenantId: globalTenant, dynamic: true });
await finished;
await worker.stop();

const sorted = delays.slice(warmUp).sort((a, b) => a - b);
const at = (share: number): number => sorted[Math.floor(sorted.length * share)] ?? Number.NaN;
console.log(JSON.stringify({ median: at(0.5), p95: at(0.95) }));
