/** Children: jobs that a run requests and that exist if, and only if, the run succeeds. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  countJobs,
  enqueue,
  enqueueAll,
  find,
  impatient,
  type Job,
  type NewJob,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { claimAll, outcomes, type Report, settle, success } from "../support/settle.ts";
import { boundLogin, claimedByBound } from "../support/tenants.ts";

/** Returns the jobs of a type, in the order they were enqueued. */
async function jobsOf(db: Sql, type = "child"): Promise<Job[]> {
  return await db.query<Job>("select * from jobforge_jobs where type = $1 order by created_at, id", [type]);
}

async function maintain(db: Sql): Promise<void> {
  await db.query("select jobforge_maintain()");
}

test("scenario 58: the end of a stage and the enqueue of the next are one commit, whatever is repeated", async ({
  db,
}) => {
  const { id } = await enqueue(db, { type: "stage1" });
  await claim(db);
  const call = [success(id, { children: [{ type: "stage2", payload: { from: id } }] })];
  // The worker crashes before its transaction commits, so neither happens.
  const crashing = await db.connect();
  await crashing.query("begin");
  await settle(crashing, call);
  await crashing.query("rollback");
  expect(await find(db, id)).toMatchObject({ status: "running" });
  expect(await jobsOf(db, "stage2")).toEqual([]);
  // Then the response is lost, and the worker repeats the call.
  expect(outcomes(await settle(db, call))).toEqual(["ok"]);
  expect(outcomes(await settle(db, call))).toEqual(["already"]);
  expect(outcomes(await settle(db, [...call, ...call]))).toEqual(["already", "already"]);
  expect(await jobsOf(db, "stage2")).toMatchObject([
    { status: "queued", payload: { from: id }, attempts: 0 },
  ]);
});

test("children belong to their parent's tenant and keep every option and their order", async ({ db }) => {
  const parents = await enqueueAll(db, [{ type: "p" }, { type: "p", tenant_id: U }]);
  await claimAll(db);
  const children = [
    { type: "child", payload: { n: 0 }, priority: 3, tags: ["x"], subject: "s", max_attempts: 2 },
    { type: "child", payload: { n: 1 } },
    { type: "child", payload: { n: 2, large: "x".repeat(5000) }, run_at: "2999-01-01T00:00:00Z" },
  ];
  await settle(
    db,
    parents.map((id) => success(id, { children })),
  );
  for (const tenant_id of [T, U]) {
    const own = (await jobsOf(db)).filter((job) => job.tenant_id === tenant_id);
    expect(own).toMatchObject(children.map((child) => ({ payload: child.payload, status: "queued" })));
    expect(own[0]).toMatchObject({ priority: 3, tags: ["x"], subject: "s", max_attempts: 2 });
    expect(own[2]?.run_at).toEqual(new Date("2999-01-01T00:00:00Z"));
  }
});

test("a child may be claimed by the same call that enqueues it", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const answer = await settle(db, [success(id, { children: [{ type: "child" }] })], { claim: 5 });
  expect(answer.jobs).toMatchObject([{ type: "child", attempts: 1 }]);
});

test("children of a worker bound to a tenant belong to that tenant", async ({ db }) => {
  const { id } = await enqueue(db, { tenant_id: U });
  const worker = await boundLogin(db, U, "jobforge_worker");
  await claim(db);
  await claimedByBound(db, U);
  expect(outcomes(await settle(worker, [success(id, { children: [{ type: "child" }] })]))).toEqual(["ok"]);
  expect(await jobsOf(db)).toMatchObject([{ tenant_id: U }]);
});

test.for<[string, Report]>([
  ["failed and will be retried", { status: "failed" }],
  ["failed permanently", { status: "failed", retry: false }],
  ["was deferred", { status: "deferred" }],
  ["was released", { status: "released" }],
])("a run that %s creates no children", async ([, end], { db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await settle(db, [{ id, attempt: 1, ...end, children: [{ type: "child" }] }]);
  expect(await countJobs(db)).toBe(1);
});

test("a run whose job was canceled, or that the fence refuses, creates no children", async ({ db }) => {
  const [canceled, refused] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  await cancel(db, canceled);
  const children = [{ type: "child" }];
  const call = [success(canceled, { children }), { ...success(refused, { children }), attempt: 2 }];
  expect(outcomes(await settle(db, call))).toEqual(["ok", "stale"]);
  expect(await find(db, canceled)).toMatchObject({ status: "canceled" });
  expect(await countJobs(db)).toBe(2);
});

test("a child whose key is taken merges into the job that has the key", async ({ db }) => {
  const [parent] = await enqueueAll(db, [
    { type: "p", priority: 1 },
    { type: "child", idempotency_key: "once", payload: { old: 1 } },
    { type: "child", dedupe_key: "one", payload: { old: 2 } },
  ]);
  await claim(db, "w1", { limit: 1 });
  await settle(db, [
    success(parent, {
      children: [
        { type: "child", idempotency_key: "once" },
        { type: "child", dedupe_key: "one", dedupe_mode: "replace", payload: { new: 2 } },
        { type: "child", dedupe_key: "new", payload: { new: 3 } },
        { type: "child", dedupe_key: "new", payload: { new: 4 } },
      ],
    }),
  ]);
  expect((await jobsOf(db)).map((job) => job.payload)).toEqual([{ old: 1 }, { new: 2 }, { new: 3 }]);
});

const held: readonly [string, NewJob][] = [
  ["an idempotency key", { type: "child", idempotency_key: "k" }],
  ["a dedupe key", { type: "child", dedupe_key: "k" }],
];

test.for(held.flatMap(([name, key]) => [true, false].map((commit) => ({ name, key, commit }))))(
  "a child with $name that an open transaction holds delays no settle, and exists once afterwards (commit: $commit)",
  async ({ key, commit }, { db }) => {
    const { id } = await enqueue(db, { type: "p" });
    await claim(db);
    const [app, worker] = [await db.connect(), await impatient(db)];
    await app.query("begin");
    await enqueue(app, { ...key, payload: { from: "app" } });
    const call = [success(id, { children: [{ ...key, payload: { from: "parent" } }] })];
    expect(outcomes(await settle(worker, call, { claim: 5 }))).toEqual(["ok"]);
    expect(outcomes(await settle(worker, call))).toEqual(["already"]);
    expect(await find(db, id)).toMatchObject({ status: "succeeded" });
    await maintain(worker);
    expect(await jobsOf(db)).toEqual([]);
    await app.query(commit ? "commit" : "rollback");
    await maintain(db);
    await maintain(db);
    expect(await jobsOf(db)).toMatchObject([
      { status: "queued", tenant_id: T, payload: { from: commit ? "app" : "parent" } },
    ]);
  },
);

test("a child that replaces a job held by an open transaction delays no settle, and replaces the job later", async ({
  db,
}) => {
  const [parent, target] = await enqueueAll(db, [
    { type: "p", priority: 1 },
    { type: "child", dedupe_key: "k", payload: { n: 1 } },
  ]);
  await claim(db, "w1", { limit: 1 });
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await app.query("select jobforge_update_job($1, $2, $3)", [target, T, { priority: 7 }]);
  const children = [{ type: "child", dedupe_key: "k", dedupe_mode: "replace", payload: { n: 2 } }];
  expect(outcomes(await settle(worker, [success(parent, { children })]))).toEqual(["ok"]);
  await app.query("commit");
  await maintain(db);
  expect(await jobsOf(db)).toMatchObject([{ id: target, payload: { n: 2 } }]);
});

test("only the child whose key is held waits, not its siblings or the children of other runs", async ({
  db,
}) => {
  const parents = await enqueueAll(db, [{ type: "p" }, { type: "p" }, { type: "p", tenant_id: U }]);
  await claimAll(db);
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await enqueue(app, { type: "child", dedupe_key: "k" });
  const children = [
    [
      { type: "child", payload: 1 },
      { type: "child", payload: 2, dedupe_key: "k" },
    ],
    [
      { type: "child", payload: 3 },
      { type: "child", payload: 4, dedupe_key: "free" },
    ],
    [{ type: "child", payload: 5, dedupe_key: "k" }],
  ];
  await settle(
    worker,
    parents.map((id, n) => success(id, { children: children[n] })),
  );
  expect((await jobsOf(db)).map((job) => job.payload).sort()).toEqual([1, 3, 4, 5]);
  await app.query("rollback");
  await maintain(db);
  expect((await jobsOf(db)).map((job) => job.payload).sort()).toEqual([1, 2, 3, 4, 5]);
});

test("workers that run maintenance at the same time enqueue a waiting child exactly once", async ({ db }) => {
  const parents = await enqueueAll(db, Array(10).fill({ type: "p" }));
  await claimAll(db);
  const app = await db.connect();
  await app.query("begin");
  for (const n of parents.keys()) await enqueue(app, { type: "child", idempotency_key: `k${n}` });
  for (const [n, id] of parents.entries()) {
    const children = [{ type: "child", idempotency_key: `k${n}`, payload: { n } }];
    await settle(db, [success(id, { children })]);
  }
  await app.query("rollback");
  const workers = await Promise.all(Array.from({ length: 5 }, () => db.connect()));
  await Promise.all(workers.map((worker) => maintain(worker)));
  await maintain(db);
  expect((await jobsOf(db)).map((job) => job.payload).sort()).toEqual(
    [...parents.keys()].map((n) => ({ n })),
  );
});

/** Children of the types from a number to another. */
function childrenOfTypes(from: number, to: number): { type: string; idempotency_key?: string }[] {
  return Array.from({ length: to - from + 1 }, (_, n) => ({ type: `t${from + n}` }));
}

async function countTypes(db: Sql): Promise<number> {
  return await db.value<number>("select cardinality(jobforge.types_of($1, 100000))", [T]);
}

test("children count against the quota of types, and a run whose children exceed it fails", async ({
  db,
}) => {
  const parents = await enqueueAll(db, [{}, {}, {}, {}, {}]);
  const worker = await boundLogin(db, T, "jobforge_worker");
  await claim(worker, "w1", { limit: 5 });
  const families = [
    childrenOfTypes(1, 600),
    childrenOfTypes(601, 1200),
    childrenOfTypes(601, 999),
    [{ type: "t1" }, { type: "t999" }, { type: "a" }],
    [{ type: "t1000" }],
  ];
  const reports = parents.map((id, n) => success(id, { children: families[n], result: { n } }));
  // In one call and in several: the first families that fit are enqueued.
  await settle(worker, reports.slice(0, 2));
  for (const report of reports.slice(2)) await settle(worker, [report]);
  const found: Job[] = [];
  for (const id of parents) found.push(await find(db, id));
  expect(found.map(({ status }) => status)).toEqual([
    "succeeded",
    "failed",
    "succeeded",
    "succeeded",
    "failed",
  ]);
  expect(found[1]?.error).toMatchObject({ name: "InvalidResult", message: expect.stringContaining("types") });
  expect(found[1]).toMatchObject({ attempts: 1, result_id: null });
  expect(await countTypes(db)).toBe(1000);
});

test("a worker bound to no tenant is held to the tenant's own number of types, not to the default one", async ({
  db,
}) => {
  const [first, second, third] = await enqueueAll(db, [{}, {}, { tenant_id: U }]);
  await claimAll(db);
  await settle(db, [success(first, { children: childrenOfTypes(1, 1500) })]);
  expect((await find(db, first ?? "")).status).toBe("succeeded");
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_types: 1502 }]);
  const children = childrenOfTypes(1, 1502);
  await settle(db, [success(second, { children }), success(third, { children })]);
  expect((await find(db, second ?? "")).status).toBe("failed");
  expect((await find(db, third ?? "")).status).toBe("succeeded");
});

test("a run whose children are refused takes no room from the others of the call", async ({ db }) => {
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_types: 2 }]);
  const parents = await enqueueAll(db, [{}, {}, {}, {}]);
  await claimAll(db);
  const families = [
    childrenOfTypes(1, 50),
    [{ type: "t7" }],
    [{ type: "t8" }],
    [{ type: "t7" }, { type: "t7" }],
  ];
  await settle(
    db,
    parents.map((id, n) => success(id, { children: families[n] })),
  );
  const statuses: string[] = [];
  for (const id of parents) statuses.push((await find(db, id)).status);
  expect(statuses).toEqual(["failed", "succeeded", "failed", "succeeded"]);
  expect(await countTypes(db)).toBe(2);
});

test("the types of children that wait for a key count against the quota", async ({ db }) => {
  await db.query("select jobforge_set_tenant($1, $2)", [T, { max_types: 3 }]);
  const [first, second] = await enqueueAll(db, [{}, {}]);
  await claimAll(db);
  const application = await db.connect();
  await application.query("begin");
  await enqueue(application, { type: "b", idempotency_key: "held" });
  const waiting = { type: "c", idempotency_key: "k", dedupe_key: "d" };
  await enqueue(application, waiting);
  await settle(db, [success(first, { children: [{ type: "b", idempotency_key: "held" }, waiting] })]);
  await application.query("rollback");
  await settle(db, [success(second, { children: [{ type: "d" }] })]);
  expect((await find(db, second ?? "")).status).toBe("failed");
  await maintain(db);
  expect(await jobsOf(db, "c")).toHaveLength(1);
  expect(await countTypes(db)).toBe(3);
});

test("a thousand waiting children of one tenant do not delay the waiting child of another", async ({
  db,
}) => {
  const application = await db.connect();
  await application.query("begin");
  await application.query(
    `select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'child', 'idempotency_key', n::text))
       from generate_series(1, 1000) n))`,
    [T],
  );
  const wait =
    "insert into jobforge.outbox (tenant_id, jobs) select $1, array[jobforge.new_job(p_type => 'child'," +
    " p_id => jobforge.new_id(), p_idempotency_key => n::text)] from generate_series(1, $2::int) n";
  await db.query(wait, [T, 1000]);
  await db.query(wait, [U, 3]);
  await maintain(db);
  expect((await jobsOf(db)).map(({ tenant_id }) => tenant_id)).toEqual([U, U, U]);
  // They are enqueued as soon as the application has ended its transaction, and all of them exist once.
  await application.query("rollback");
  await maintain(db);
  expect(await countJobs(db)).toBe(1003);
  expect(await db.value("select count(*)::int from jobforge.outbox")).toBe(0);
});

test("one tenant's children that need not wait are enqueued next to those that do", async ({ db }) => {
  const application = await db.connect();
  await application.query("begin");
  await enqueue(application, { type: "child", idempotency_key: "7" });
  await db.query(
    `insert into jobforge.outbox (tenant_id, jobs) select $1, array[jobforge.new_job(p_type => 'child',
       p_id => jobforge.new_id(), p_idempotency_key => n::text)] from generate_series(1, 20) n`,
    [T],
  );
  await expect
    .poll(async () => {
      await maintain(db);
      return (await jobsOf(db)).length;
    })
    .toBe(19);
  await application.query("rollback");
});
