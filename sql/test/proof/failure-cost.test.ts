/** What a failed run costs, next to one that succeeded. In buffers, because time measures the machine. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { costAndResult } from "../support/cost.ts";
import { enqueueMany, type Sql, setPolicy } from "../support/kernel.ts";

interface Reply {
  readonly jobs: readonly { readonly id: string; readonly attempts: number }[];
  readonly settled: readonly { readonly outcome: string; readonly status: string }[];
}

const rounds = 6;

/** Claims and ends jobs of a type. Returns the buffers of a claim and of the settle of its runs, for each run. */
async function costOfRuns(db: Sql, type: string, size: number, end: object, status: string): Promise<number> {
  const settle = (ends: readonly object[], limit: number): Promise<{ buffers: number; result: Reply }> =>
    costAndResult<Reply>(db, "jobforge_settle_jobs('w', $1, $2, array[$3])", [
      JSON.stringify(ends),
      limit,
      type,
    ]);
  const costs: number[] = [];
  for (let n = 0; n < rounds; n += 1) {
    const claimed = await settle([], size);
    expect(claimed.result.jobs).toHaveLength(size);
    const ended = await settle(
      claimed.result.jobs.map(({ id, attempts }) => ({ id, attempt: attempts, ...end })),
      0,
    );
    expect(ended.result.settled.map((each) => each.status)).toEqual(Array(size).fill(status));
    costs.push((claimed.buffers + ended.buffers) / size);
  }
  return Math.min(...costs);
}

const failure = {
  status: "failed",
  error: { name: "Error", message: "no", stack: "Error: no\n    at f (a.js:1)" },
};

test.for([100, 10])(
  "of %i runs in a call, a failed one costs at most 1.5 times as much as one that succeeded",
  async (size, { db }) => {
    // Retries come too late for the next claim.
    await setPolicy(db, "failing", { base_ms: 3_600_000 });
    for (const type of ["failing", "fine"]) await enqueueMany(db, size * rounds, { type });
    await db.query("vacuum (analyze) jobforge.queue, jobforge.runs");
    const success = await costOfRuns(await db.connect(), "fine", size, { status: "succeeded" }, "succeeded");
    const failed = await costOfRuns(await db.connect(), "failing", size, failure, "queued");
    expect(failed).toBeLessThan(1.5 * success);
  },
);
