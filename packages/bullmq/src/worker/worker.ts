/** Workers on Redis. They take the handlers of `createWorker` and run them with the same runtime. */
import { InvalidArgumentError, type JobHandler, NotSupportedError } from "@jobforge/sdk-ts";
import type { Worker, WorkerOptions } from "@jobforge/worker-ts";
import { createWorkerOn } from "@jobforge/worker-ts/runtime";
import type { BullForge } from "../bull-forge.ts";
import { requireSupported } from "../support.ts";
import { BullBackend } from "./backend.ts";

/** The options of `createWorker`, without those that only Postgres has. */
export type BullWorkerOptions = Omit<WorkerOptions, "tenantId" | "sync" | "appVersion" | "offload">;

const unsupported = {
  tenantId: "a worker on Redis takes the jobs of all tenants",
  sync: "Redis has no policies, and the definitions of the worker decide",
  appVersion: "Redis has no policies, and the definitions of the worker decide",
  offload: "Redis takes large results, and does not know when an artifact can be deleted",
} as const;

/** Creates a worker on Redis. It does nothing until it is started. */
export function createBullWorker(forge: BullForge, options: BullWorkerOptions): Worker {
  for (const [name, reason] of Object.entries(unsupported))
    if ((options as Readonly<Record<string, unknown>> | undefined)?.[name] !== undefined)
      throw new NotSupportedError(`${name} is not supported on Redis: ${reason}`, { field: name });
  const leaseMs = shortestLease(forge, options);
  const { heartbeatMs = Math.min(10_000, Math.max(100, Math.floor(leaseMs / 3))) } = options ?? {};
  const worker = createWorkerOn((about) => new BullBackend(forge, about), { ...options, heartbeatMs });
  // The runtime has checked the other options by now.
  if (heartbeatMs > leaseMs / 2)
    throw new InvalidArgumentError(
      `Invalid argument: heartbeatMs is ${heartbeatMs}, but a claim lasts only ${leaseMs} ms without one`,
      { field: "heartbeatMs", hint: `Pass at most ${Math.floor(leaseMs / 2)}, or a longer leaseMs.` },
    );
  for (const { definition } of options.handlers) requireSupported(definition);
  return worker;
}

/** The shortest lease of the handled types. Heartbeats must come more often. */
function shortestLease({ leaseMs }: BullForge, options: BullWorkerOptions): number {
  const handlers: unknown = options?.handlers;
  if (!Array.isArray(handlers)) return leaseMs;
  return Math.min(...handlers.map((handler: Partial<JobHandler>) => handler?.definition?.leaseMs ?? leaseMs));
}
