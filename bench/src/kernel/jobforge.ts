/** JobForge as the worker runtime calls it: one call settles the last batch and claims the next one. */
import type { Contender } from "./contender.ts";
import { inBatches } from "./contender.ts";

interface Reply {
  readonly settled: readonly unknown[];
  readonly jobs: readonly { readonly id: string; readonly attempts: number }[];
  readonly hint: unknown;
}

export const jobforge: Contender = {
  name: "jobforge",
  schema: "jobforge",
  setUp: async (admin) => {
    await admin.query(`select jobforge_set_policy('unkept', '{"keep_history": false}')`);
  },
  enqueueOne: async (client, tenant) => {
    await client.query("select jobforge_enqueue_job($1, 'kept', '{\"n\": 1}')", [tenant]);
  },
  enqueueBulk: async (client, count, work) => {
    const type = typeOf(work.history);
    await inBatches(count, work, async (tenant, size) => {
      const jobs = Array.from({ length: size }, (_, n) => ({ type, payload: { n } }));
      await client.query("select jobforge_enqueue_jobs($1, $2)", [tenant, JSON.stringify(jobs)]);
    });
  },
  drain: async (client, { batch, history }) => {
    const worker = `bench-${Math.random().toString(36).slice(2)}`;
    let results = "[]";
    let hint: string | null = null;
    let done = 0;
    for (;;) {
      const { rows } = await client.query<{ reply: string }>(
        "select jobforge_settle_jobs_text($1, $2, $3, array[$4::text], null, $5) as reply",
        [worker, results, batch, typeOf(history), hint],
      );
      const reply = JSON.parse(rows[0]?.reply ?? "{}") as Reply;
      done += reply.settled.length;
      if (reply.jobs.length === 0) return done;
      hint = JSON.stringify(reply.hint);
      results = JSON.stringify(
        reply.jobs.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" })),
      );
    }
  },
};

function typeOf(history: boolean): string {
  return history ? "kept" : "unkept";
}
