/**
 * How late a schedule fires on an idle system: `firing.ts COUNT`, on the database of DATABASE_URL, in a process of its own. The handler of a
 * dynamic schedule names its next run and compares the due time with the time it was called. Prints one line of JSON.
 */
import { defineJob, globalTenant, JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker } from "@jobforge/worker-ts";

const database = process.env["DATABASE_URL"] ?? "";
const runs = Number(process.argv[2]);
/** Runs that are not counted: until then connections are opened and plans are made. */
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
  // Long enough for the worker to fall asleep again, and never the same.
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
