/**
 * The pages of a dashboard cost a bounded amount, however many jobs there are. JOBFORGE_TEST_PAGE_JOBS sets how many
 * "many" are: 1000000 for the real thing. Cost is counted in buffers.
 */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import { expect, inject, test } from "vitest";
import { load, tenant, warmCost } from "../support/cost.ts";
import { tenantSql, writeHistory } from "../support/history.ts";

const few = 10_000;
const many = Number(process.env["JOBFORGE_TEST_PAGE_JOBS"] ?? 60_000);

type Statements = Readonly<Record<string, string>>;

const browse = (filters: object, owner = "null"): string =>
  `select jobforge_browse_jobs(${owner}, '${JSON.stringify(filters)}')`;
const tabs = "select jobforge_count_live(null, '{type}')";
const ofTenant = `'${tenant(3)}'`;

/** What each page of the dashboard asks the database, for an operator. `JOB` and `DEAD` are ids of jobs of a tenant. */
const pages: Readonly<Record<string, Statements>> = {
  "/": {
    attention: "select jobforge_list_attention()",
    live: tabs,
    series: "select jobforge_series()",
  },
  "/ of a tenant": {
    attention: `select jobforge_list_attention(${ofTenant})`,
    live: `select jobforge_count_live(${ofTenant}, '{type}')`,
  },
  "/jobs": { list: browse({}), tabs, types: "select jobforge_list_types()" },
  "/jobs?status=queued": { list: browse({ order: "oldest" }), tabs },
  "/jobs?status=scheduled": { list: browse({ order: "run_at" }), tabs },
  "/jobs?status=succeeded": { list: browse({ order: "finished_at", status: "succeeded" }), tabs },
  "/jobs?status=dead": { list: browse({ order: "finished_at", status: ["failed", "dead"] }), tabs },
  "/jobs of a tenant": {
    list: browse({}, ofTenant),
    tabs: `select jobforge_count_live(${ofTenant}, '{type}')`,
    types: `select jobforge_list_types(p_tenant_id => ${ofTenant})`,
  },
  "/jobs?type=type1": { list: browse({ type: "type1" }), tabs },
  "/jobs?priority=77": { list: browse({ priority: 77 }), tabs },
  "/jobs/:id, queued": {
    job: "select jobforge_get_job('JOB', 'TENANT')",
    attempts: "select jobforge_list_attempts('JOB', 'TENANT')",
    why: "select jobforge_explain_job('JOB', 'TENANT')",
  },
  "/jobs/:id, dead": {
    job: "select jobforge_get_job('DEAD', 'TENANT')",
    attempts: "select jobforge_list_attempts('DEAD', 'TENANT')",
    why: "select jobforge_explain_job('DEAD', 'TENANT')",
    result: "select jobforge_get_result('DEAD', 'TENANT')",
  },
  "/types": { types: "select jobforge_list_types()" },
  "/dead": { groups: "select jobforge_list_dead_groups()" },
  "/schedules": { list: "select jobforge_list_schedules(null)" },
  "/tenants": {
    tenants: "select jobforge_list_tenants(p_limit => 50, p_figures => true)",
    live: "select jobforge_count_live(null, '{tenant}')",
  },
  "/controls": {
    gates: "select jobforge_list_gates()",
    limits: "select jobforge_list_limits()",
    waiting: "select jobforge_list_waiting()",
  },
  "/usage": { usage: "select jobforge_report_usage()" },
  "/workers": { workers: "select jobforge_list_workers()", worker: "select jobforge_get_worker('w')" },
  "/audit": { audit: "select jobforge_list_audit()" },
  // What maintenance does for the charts, once a minute.
  maintenance: { sampling: "select jobforge.sample_depth(jobforge.now())" },
  "the stream": { counts: tabs, changes: "select jobforge_list_changes(null, clock_timestamp())" },
};

/** Statements that count. Up to a cap they count every job, and beyond it they estimate: they have a fixed budget. */
const figures = [
  "attention",
  "live",
  "tabs",
  "counts",
  "types",
  "groups",
  "gates",
  "waiting",
  "tenants",
  "sampling",
];
const budget = 20_000;

async function populate(jobs: number): Promise<TestDatabase> {
  const db = await cloneDatabase(inject("server"));
  const shape = { tenants: 50, types: 4, type: "type" };
  await writeHistory(db, {
    rows: jobs / 2,
    span: "10 days",
    tenant: tenantSql("1 + n % 50"),
    type: "'type' || n / 50 % 4",
    status: "case when n % 100 = 7 then 'dead' else 'succeeded' end",
  });
  await load(db, { ...shape, count: jobs / 4 });
  await load(db, { ...shape, count: jobs / 4, due: "1 day" });
  await db.query("select jobforge_set_gate('type', 'type2', true)");
  await db.query("select jobforge_set_limit('type', 'type1', 5), jobforge_set_limit('tenant', $1, 5)", [
    tenant(3),
  ]);
  await db.query("select jobforge_heartbeat_worker('w', '{\"types\": [\"type1\"]}')");
  await db.query("vacuum (analyze) jobforge.queue");
  await db.query("select jobforge_maintain()");
  return db;
}

/** The buffers of each statement, by page and name. */
async function costs(jobs: number): Promise<Map<string, number>> {
  await using db = await populate(jobs);
  const idOf = (where: string): Promise<string> =>
    db.value<string>(`select id from ${where} and tenant_id = $1 order by id desc limit 1`, [tenant(8)]);
  const ids = {
    JOB: await idOf("jobforge.queue where state = 'ready'"),
    DEAD: await idOf("jobforge.archive where status = 'dead'"),
    TENANT: tenant(8),
  };
  await using session: TestConnection = await db.connect();
  const found = new Map<string, number>();
  for (const [page, statements] of Object.entries(pages))
    for (const [name, statement] of Object.entries(statements)) {
      const named = Object.entries(ids).reduce(
        (text, [word, id]) => text.replaceAll(`'${word}'`, `'${id}'`),
        statement,
      );
      found.set(`${page} ${name}`, (await warmCost(session, named)).buffers);
    }
  return found;
}

test("each page of a dashboard reads a bounded part of many jobs", { timeout: 900_000 }, async () => {
  const small = await costs(few);
  const large = await costs(many);
  const report = [...small].map(([name, buffers]) => `${name}: ${buffers} → ${large.get(name)}`).join("\n");
  if (process.env["JOBFORGE_PROOF_REPORT"] !== undefined) process.stderr.write(`${report}\n`);
  // A few more levels of indexes do not count as growth.
  const slack = 100;
  const mostOf = (name: string, before: number): number =>
    figures.includes(name.split(" ").at(-1) ?? "") ? budget : 2 * before + slack;
  const over = [...small].filter(([name, before]) => (large.get(name) ?? 0) > mostOf(name, before));
  expect(over, report).toEqual([]);
});
