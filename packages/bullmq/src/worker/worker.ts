/** Workers on Redis. They take the handlers of `createWorker` and run them with the same runtime. */
import { NotSupportedError } from "@jobforge/sdk-ts";
import type { Worker, WorkerOptions } from "@jobforge/worker-ts";
import { createWorkerOn } from "@jobforge/worker-ts/runtime";
import { type BullForge, requireSupported } from "../bull-forge.ts";
import { BullBackend } from "./backend.ts";

/** The options of `createWorker`, without those that only Postgres has. */
export type BullWorkerOptions = Omit<WorkerOptions, "tenantId" | "sync" | "appVersion">;

const unsupported = {
  tenantId: "a worker on Redis takes the jobs of all tenants",
  sync: "Redis has no policies, and the definitions of the worker decide",
  appVersion: "Redis has no policies, and the definitions of the worker decide",
} as const;

/** Creates a worker on Redis. It does nothing until it is started. */
export function createBullWorker(forge: BullForge, options: BullWorkerOptions): Worker {
  for (const [name, reason] of Object.entries(unsupported))
    if ((options as Readonly<Record<string, unknown>> | undefined)?.[name] !== undefined)
      throw new NotSupportedError(`${name} is not supported on Redis: ${reason}`, { field: name });
  const { leaseMs } = forge;
  const { heartbeatMs = Math.min(10_000, Math.max(100, Math.floor(leaseMs / 3))), ...others } = options;
  const worker = createWorkerOn((about) => new BullBackend(forge, leaseMs, about), {
    ...others,
    heartbeatMs,
  });
  for (const { definition } of options.handlers) requireSupported(definition);
  return worker;
}
