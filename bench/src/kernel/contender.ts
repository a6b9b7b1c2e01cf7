/** The contenders of the kernel's benchmark: JobForge's SQL functions, and a plain pair of tables. */
import type pg from "pg";

export interface Work {
  readonly tenants: readonly string[];
  /** Jobs per call. */
  readonly batch: number;
  readonly history: boolean;
}

export interface Contender {
  readonly name: string;
  /** The schema of its tables, in which dead rows are counted. */
  readonly schema: string;
  setUp(admin: pg.Client): Promise<void>;
  enqueueOne(client: pg.Client, tenant: string): Promise<void>;
  /** Enqueues `count` jobs, each call for one tenant. */
  enqueueBulk(client: pg.Client, count: number, work: Work): Promise<void>;
  /** Claims and finishes jobs until no jobs are left. Returns their number. */
  drain(client: pg.Client, work: Work): Promise<number>;
}

/** Splits `count` jobs into batches and calls once for each, with the tenants in turn. */
export async function inBatches(
  count: number,
  { tenants, batch }: Pick<Work, "tenants" | "batch">,
  call: (tenant: string, size: number) => Promise<void>,
): Promise<void> {
  for (let from = 0, turn = 0; from < count; from += batch, turn += 1) {
    await call(tenants[turn % tenants.length] ?? "", Math.min(batch, count - from));
  }
}
