/**
 * A process that claims a stage, enqueues the next one, says so, and never completes. The test kills it:
 * `stage-process.ts NAMED postgres URL`, or `stage-process.ts NAMED redis URL PREFIX`. NAMED: whether the next stage
 * names its parent.
 */
import { BullForge, BullJobQueue } from "@jobforge/bullmq";
import { JobForge, JobForgeJobQueue, type StageQueue } from "../../src/index.ts";

const [, , named, store, url = "", prefix = ""] = process.argv;
const queue: StageQueue =
  store === "redis"
    ? new BullJobQueue(new BullForge({ redis: url, prefix }))
    : new JobForgeJobQueue(new JobForge({ database: url }));
const running = await queue.claim("w-killed");
if (running === null) throw new Error("nothing to claim");
const { org_id, call_id, payload, max_attempts } = running;
const next = { org_id, call_id, stage: "analyze", payload, max_attempts } as const;
await queue.enqueue(next, { delaySeconds: 9000, ...(named === "true" ? { parent: running } : {}) });
process.stdout.write("enqueued\n");
setInterval(() => undefined, 60_000);
