/** JobForge with its default settings: ten tenants, history kept, one process. */

import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker } from "@jobforge/worker-ts";
import type { QueueContender } from "./contender.ts";

const database = process.env["DATABASE_URL"] ?? "";
const noop = defineJob({ type: "noop" });
const tenants = Array.from(
  { length: 10 },
  (_, n) => `00000000-0000-4000-8000-${String(n + 1).padStart(12, "0")}`,
);

export const contender: QueueContender = {
  prepare: async () => {
    await migrate({ database });
  },
  enqueue: async (count) => {
    await using forge = new JobForge({ database });
    for (let from = 0; from < count; from += 10_000) {
      await forge.enqueueMany(
        Array.from({ length: Math.min(10_000, count - from) }, (_, n) => ({
          job: noop,
          input: { n },
          tenantId: tenants[n % tenants.length] ?? "",
        })),
      );
    }
  },
  start: async (onJob) => {
    const forge = new JobForge({ database });
    const worker = createWorker(forge, { handlers: [noop.handle(() => onJob())] });
    await worker.start();
    return async () => {
      await worker.stop();
      await forge.close();
    };
  },
  sender: async () => {
    const forge = new JobForge({ database });
    return {
      send: async () => void (await forge.enqueue(noop, {}, { tenantId: tenants[0] ?? "" })),
      close: () => forge.close(),
    };
  },
};
