/** Runs connector jobs through the kernel: enqueued, claimed by a worker, settled. */
import type { EnqueueOptions, Job, JobDefinition, JobForge, JobInput } from "@jobforge/sdk-ts";
import { test as base, makeWorker, T } from "../../../worker-ts/test/support/work.ts";
import { type ConnectorOptions, connectors, type EgressDocument, loopbackEgress } from "../../src/index.ts";

export { T } from "../../../worker-ts/test/support/work.ts";
export const otherTenant = "22222222-2222-4222-8222-222222222222";

export interface Ran {
  readonly job: Job;
  /** The result of a job that succeeded. */
  readonly result: Record<string, unknown>;
  /** The error of its last run. */
  readonly error: {
    readonly message: string;
    readonly name: string;
    readonly details?: Record<string, unknown>;
  };
}

export interface Runner {
  readonly forge: JobForge;
  /** Enqueues a job and runs it once. */
  run<D extends JobDefinition>(job: D, input: JobInput<D>, options?: Partial<EnqueueOptions>): Promise<Ran>;
}

let runs = 0;

/** A worker with all connectors, whose policy allows loopback unless `options` has another. */
export function runner(forge: JobForge, options: Partial<ConnectorOptions> = {}): Runner {
  const worker = makeWorker(forge, {
    handlers: connectors({ forge, egress: loopbackEgress, ...options }),
    sync: false,
  });
  return {
    forge,
    run: async (definition, input, more = {}) => {
      const tenantId = more.tenantId ?? T;
      // The newest job is the first: an earlier one may be due for a retry.
      runs += 1;
      const { id } = await forge.enqueue(definition, input, { priority: runs, ...more, tenantId });
      await worker.tick({ limit: 1 });
      const job = await forge.get(id, { tenantId });
      if (job === undefined) throw new Error(`Job ${id} is missing`);
      const result: unknown = job.status === "succeeded" ? await forge.result(id, { tenantId }) : {};
      return { job, result: result as Ran["result"], error: job.error as unknown as Ran["error"] };
    },
  };
}

/** The policy of the tests with more in it. */
export function loopbackAnd(more: EgressDocument): EgressDocument {
  return { ...loopbackEgress, ...more };
}

export const test = base;
