/** What the kernel's benchmark puts side by side: JobForge's SQL functions, and a plain pair of tables. */
import type pg from "pg";

export interface Work {
  readonly tenants: readonly string[];
  /** Jobs per call. */
  readonly batch: number;
  readonly history: boolean;
}

export interface Contender {
  readonly name: string;
  /** Its tables, for counting what died in them. */
  readonly schema: string;
  setUp(admin: pg.Client): Promise<void>;
  enqueueOne(client: pg.Client, tenant: string): Promise<void>;
  /** Enqueues `count` jobs, each call for one tenant. */
  enqueueBulk(client: pg.Client, count: number, work: Work): Promise<void>;
  /** Claims and ends jobs until none is left; answers how many. */
  drain(client: pg.Client, work: Work): Promise<number>;
}

/** Calls with whole batches, tenant after tenant, until `count` jobs are through. */
export async function inBatches(
  count: number,
  { tenants, batch }: Pick<Work, "tenants" | "batch">,
  call: (tenant: string, size: number) => Promise<void>,
): Promise<void> {
  for (let from = 0, turn = 0; from < count; from += batch, turn += 1) {
    await call(tenants[turn % tenants.length] ?? "", Math.min(batch, count - from));
  }
}
