/**
 * A job platform for many tenants: each sees its own jobs only, because Postgres enforces it. Reports are made once per
 * tenant and month, by a built-in connector. Failed jobs become dead letters, with the history of their attempts.
 */
import { connectors, reportGenerate } from "@jobforge/connectors";
import { defineJob, JobForge, typed } from "jobforge";
import { drain } from "jobforge/testing";
import pg from "pg";

const pool = new pg.Pool({ connectionString: process.env["DATABASE_URL"] });
const forge = new JobForge({ database: pool });
const [acme, other] = ["a0000000-0000-4000-8000-000000000005", "a0000000-0000-4000-8000-000000000006"];

const processContract = defineJob({
  type: "contract.process",
  input: typed<{ contract: string }>(),
  retry: { baseMs: 1, maxAttempts: 2 },
});
const handlers = [
  processContract.handle(({ contract }) => {
    if (contract === "c-2") throw new Error("the second page is missing");
    return { contract };
  }),
  ...connectors({ forge }),
];

// A webhook of the sender may arrive twice. The second call finds the job of the first, also when that has finished.
const enqueue = (tenantId: string, contract: string) =>
  forge.enqueue(processContract, { contract }, { tenantId, idempotencyKey: `process-${contract}` });
const first = await enqueue(acme, "c-1");
console.log((await enqueue(acme, "c-1")).id === first.id, (await enqueue(other, "c-1")).id === first.id); // → true false

// A dead letter: two executions failed. An operator looks at the attempts, and gives the job a new budget.
const dead = await enqueue(acme, "c-2");
await drain(forge, handlers);
while ((await dead.get())?.status === "queued") await drain(forge, handlers);
for (const { attemptNo, status, error } of await forge.attempts(dead.id, { tenantId: acme }))
  console.log(attemptNo, status, error?.message);
// → 1 failed the second page is missing
// → 2 failed the second page is missing
console.log((await dead.get())?.status, (await dead.reschedule()).status); // → dead queued
await dead.cancel();

// A report of the month: made once, however often it is requested.
const report = await forge.enqueue(
  reportGenerate,
  { rows: [{ contract: "c-1", title: "<b>Lease</b>" }], format: ["csv", "html"] },
  { tenantId: acme, idempotencyKey: `report-${acme}-2026-01` },
);
await drain(forge, handlers);
const { report_html: html = "" } = await report.result();
console.log(html.includes("&lt;b&gt;Lease")); // → true

// What a tenant's own login sees. `jobforge_app` may name its tenant; without a name it sees nothing.
const client = await pool.connect();
await client.query("begin");
await client.query("set local role jobforge_app");
const seen = async (): Promise<number> =>
  (await client.query<{ jobs: number }>("select count(*)::int as jobs from jobforge_jobs")).rows[0]?.jobs ??
  0;
console.log(await seen()); // → 0
await client.query("select set_config('app.tenant_id', $1, true)", [other]);
console.log(await seen()); // → 1
await client
  .query("select jobforge_cancel_job($1, $2)", [dead.id, acme])
  .catch((error: Error) => console.log(error.message)); // → Permission denied for this tenant
await client.query("rollback");
client.release();

await forge.close();
await pool.end();
