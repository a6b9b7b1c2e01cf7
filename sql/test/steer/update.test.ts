/** Changes of one job: defer, progress, update, get; and the search over all tenants. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  attemptsOf,
  auditOf,
  cancel,
  claim,
  claimIds,
  codeOf,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  fail,
  find,
  impatient,
  type Job,
  type Sql,
  setPolicy,
  T,
  travelToRun,
  U,
  UNKNOWN,
} from "../support/kernel.ts";
import { claimAll } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";

interface Deferral {
  worker?: string;
  run_at?: string | Date | null;
  attempt?: number | null;
  counts?: boolean;
}

async function defer(db: Sql, id: string, how: Deferral = {}): Promise<unknown> {
  const { worker = "w1", run_at = "2999-01-01T00:00:00Z", attempt = null, counts = true } = how;
  return await db.value("select jobforge_defer_job($1, $2, $3, $4, $5)", [
    id,
    worker,
    run_at,
    attempt,
    counts,
  ]);
}

async function progress(db: Sql, id: string, value: unknown, worker = "w1", attempt: number | null = null) {
  return await db.value("select jobforge_progress_job($1, $2, $3, $4)", [
    id,
    worker,
    JSON.stringify(value),
    attempt,
  ]);
}

async function update(db: Sql, id: string, changes: unknown, tenant: string | null = T): Promise<Job> {
  return await db.value<Job>("select jobforge_update_job($1, $2, $3)", [
    id,
    tenant,
    changes === null ? null : JSON.stringify(changes),
  ]);
}

test("a deferred run frees its worker until the time it asked for, and costs an execution", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 2 });
  await claim(db);
  const run_at = new Date(Date.now() + 3_600_000);
  expect(await defer(db, id, { run_at })).toMatchObject({ id, status: "queued" });
  expect(await find(db, id)).toMatchObject({ status: "queued", locked_by: null, run_at, last_error: null });
  await db.travel("59 minutes");
  expect(await claim(db)).toEqual([]);
  await travelToRun(db, id);
  expect(await claim(db)).toMatchObject([{ id, attempts: 2 }]);
  expect(await defer(db, id)).toMatchObject({ status: "dead" });
  expect((await attemptsOf(db, id)).map((run) => run.status)).toEqual(["deferred", "deferred"]);
});

test("a deferral for free may be repeated without end", async ({ db }) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  for (let attempt = 1; attempt <= 5; attempt += 1) {
    expect(await claim(db)).toMatchObject([{ id, attempts: attempt }]);
    expect(await defer(db, id, { run_at: new Date(), counts: false })).toMatchObject({ status: "queued" });
  }
  await claim(db);
  expect(await fail(db, id)).toMatchObject({ status: "dead" });
});

test("a run that was to be canceled is canceled when it defers", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await cancel(db, id);
  expect(await defer(db, id, { counts: false })).toMatchObject({ status: "canceled" });
});

test("progress is shown while the job runs and afterwards, and counts as a heartbeat", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await db.travel("4 minutes");
  for (const value of [{ done: 1, of: 3 }, "half", 0.5, [1]]) {
    expect(await progress(db, id, value)).toEqual({ cancel_requested: false });
    expect(await db.value("select progress from jobforge_jobs where id = $1", [id])).toEqual(value);
  }
  await db.travel("8 minutes");
  expect(await claim(db, "w2")).toEqual([]);
  await cancel(db, id);
  expect(await progress(db, id, "end", "w1", 1)).toEqual({ cancel_requested: true });
  await complete(db, id);
  expect(await db.value("select progress from jobforge_jobs where id = $1", [id])).toBe("end");
});

test("defer and progress are refused to all but the worker that holds the job, in its attempt", async ({
  db,
}) => {
  const [held, queued, ended] = await enqueueAll(db, [{ priority: 1 }, {}, { priority: 1 }]);
  await claim(db, "w1", { limit: 2 });
  await complete(db, ended);
  const before = await find(db, held);
  for (const [id, worker, attempt] of [
    [held, "w2", null],
    [held, "w1", 2],
    [queued, "w1", null],
    [ended, "w1", null],
    [UNKNOWN, "w1", null],
  ] as const) {
    await expectError(defer(db, id, { worker, attempt }), "JF003");
    await expectError(progress(db, id, {}, worker, attempt), "JF003");
  }
  const bound = await boundLogin(db, U, "jobforge_worker");
  await expectError(defer(bound, held), "JF003");
  await expectError(progress(bound, held, {}), "JF003");
  for (const run_at of [null, "infinity", "20000-01-01 UTC"])
    await expectError(defer(db, held, { run_at }), "JF002", "run_at");
  await expectError(progress(db, held, "x".repeat(70_000)), "JF008", "progress");
  expect(await find(db, held)).toEqual(before);
});

test("an update changes what it names and nothing else", async ({ db }) => {
  const { id } = await enqueue(db, {
    payload: { n: 1 },
    priority: 1,
    tags: ["a"],
    subject: "s",
    in: "1 hour",
  });
  let expected = await find(db, id);
  for (const [changes, seen] of [
    [{ payload: { n: 2 } }, { payload: { n: 2 } }],
    [{ priority: 7 }, { priority: 7 }],
    [{ tags: ["b", "c"] }, { tags: ["b", "c"] }],
    [{ run_at: "2999-01-01T00:00:00Z" }, { run_at: new Date("2999-01-01T00:00:00Z") }],
    [
      { payload: [1], tags: [], priority: 0 },
      { payload: [1], tags: [], priority: 0 },
    ],
    [
      { payload: null, tags: null, priority: null },
      { payload: null, tags: [], priority: 0 },
    ],
    [{}, {}],
  ] as const) {
    const answer = await update(db, id, changes);
    expect(answer).toMatchObject({ id, status: "queued" });
    const { updated_at, ...found } = await find(db, id);
    const { updated_at: _before, ...before } = expected;
    expect(found).toEqual({ ...before, ...seen });
    expected = { ...found, updated_at };
  }
  expect(new Set(await auditOf(db, id))).toEqual(new Set(["JOB_UPDATED"]));
});

test("an updated time counts: later is not claimed, now and the past are", async ({ db }) => {
  const [late, soon, past] = await enqueueAll(db, [{}, { in: "1 hour" }, { in: "1 hour" }]);
  await update(db, late, { run_at: "2999-01-01T00:00:00Z" });
  await update(db, soon, { run_at: null });
  await update(db, past, { run_at: "2020-01-01T00:00:00Z" });
  expect(await claimIds(db)).toEqual([past, soon]);
});

test("an updated priority counts in the next claim, and the type's cap holds", async ({ db }) => {
  await setPolicy(db, "a", { max_priority: 5 });
  const [first, second] = await enqueueAll(db, [{ priority: 3 }, {}]);
  expect(await update(db, second, { priority: 100 })).toMatchObject({ priority: 5 });
  expect(await claimIds(db)).toEqual([second, first]);
});

test("an updated payload may grow over the size that is stored apart, shrink again, and reaches the handler", async ({
  db,
}) => {
  const { id } = await enqueue(db, { payload: 0 });
  const large = { text: Array.from({ length: 20_000 }, (_, n) => n).join(" ") };
  for (const payload of [large, { small: 1 }, large]) {
    await update(db, id, { payload });
    expect((await find(db, id)).payload).toEqual(payload);
  }
  expect((await claim(db))[0]?.payload).toEqual(large);
  expect(await db.value("select count(*)::int from jobforge.payloads")).toBe(1);
});

test("only queued jobs of the tenant can be updated", async ({ db }) => {
  const [running, queued, ended] = await enqueueAll(db, [{ priority: 1 }, {}, { priority: 1 }]);
  await claim(db, "w1", { limit: 2 });
  await complete(db, ended);
  for (const [id, tenant] of [
    [running, T],
    [ended, T],
    [queued, U],
    [UNKNOWN, T],
  ] as const)
    await expectError(update(db, id, { priority: 5 }, tenant), "JF006", "job_id");
  await expectError(update(db, queued, { priority: 5 }, null), "JF001");
  expect(await codeOf(update(await boundLogin(db, U, "jobforge_tenant"), queued, { priority: 5 }))).toBe(
    "42501",
  );
  expect(await update(await boundLogin(db, T, "jobforge_tenant"), queued, { priority: 5 })).toMatchObject({
    priority: 5,
  });
});

test("a wrong change is refused, named in words of the caller, and changes nothing", async ({ db }) => {
  const { id } = await enqueue(db, { expires_in: "1 day" });
  const before = await find(db, id);
  const wrong: [unknown, string, RegExp][] = [
    [null, "JF002", /^changes$/],
    [[], "JF002", /^changes$/],
    ["x", "JF002", /^changes$/],
    [{ type: "b" }, "JF002", /^(changes|type)$/],
    [{ status: "dead" }, "JF002", /^(changes|status)$/],
    [{ priority: 1, max_attempts: 5 }, "JF002", /^(changes|max_attempts)$/],
    [{ priority: "high" }, "JF002", /^(changes|priority)$/],
    [{ priority: 1_000_001 }, "JF002", /^priority$/],
    [{ tags: "x" }, "JF002", /^(changes|tags)$/],
    [{ tags: [""] }, "JF002", /^tags$/],
    [{ run_at: "soon" }, "JF002", /^(changes|run_at)$/],
    [{ run_at: "infinity" }, "JF002", /^run_at$/],
    [{ run_at: "0001-01-01 BC" }, "JF002", /^run_at$/],
    // As for an enqueue: it would never start.
    [{ run_at: "2999-01-01T00:00:00Z" }, "JF002", /^(run_at|expires_at)$/],
    [{ payload: "x".repeat(1_048_576) }, "JF008", /^payload$/],
  ];
  for (const [changes, code, field] of wrong) {
    const error = await expectError(update(db, id, changes), code);
    expect.soft(error.field, JSON.stringify(changes).slice(0, 60)).toMatch(field);
  }
  expect(await find(db, id)).toEqual(before);
});

test("a transaction left open after an update delays no claim and no settle", async ({ db }) => {
  const [held, free] = await enqueueAll(db, [{}, {}]);
  const [app, worker] = [await db.connect(), await impatient(db)];
  await app.query("begin");
  await update(app, held, { priority: 9 });
  expect(await claimIds(worker)).toEqual([free]);
  expect(await complete(worker, free)).toMatchObject({ status: "succeeded" });
  await app.query("rollback");
  expect(await claim(db)).toMatchObject([{ id: held, priority: 0 }]);
});

test("a job is got by its tenant, live or ended, as the view shows it; nobody else's is", async ({ db }) => {
  const [live, ended] = await enqueueAll(db, [{}, { priority: 1, payload: { large: "x".repeat(5000) } }]);
  await claim(db, "w1", { limit: 1 });
  await complete(db, ended);
  const get = async (caller: Sql, id: string | null, tenant: string | null = T): Promise<Job[]> =>
    await caller.query<Job>("select * from jobforge_get_job($1, $2)", [id, tenant]);
  for (const id of [live, ended]) {
    expect(await get(db, id)).toEqual([await find(db, id)]);
    expect(await get(db, id, U)).toEqual([]);
    expect(await get(await boundLogin(db, T, "jobforge_tenant"), id)).toHaveLength(1);
    expect(await codeOf(get(await boundLogin(db, U, "jobforge_tenant"), id))).toBe("42501");
  }
  expect(await get(db, UNKNOWN)).toEqual([]);
  expect(await get(db, null)).toEqual([]);
  await expectError(get(db, live, null), "JF001");
});

test("operators search the jobs of all tenants, or of one", async ({ db }) => {
  const [t1, u1, t2, u2] = await enqueueAll(db, [
    {},
    { tenant_id: U },
    { type: "b" },
    { tenant_id: U, type: "b" },
  ]);
  await claimAll(db);
  for (const id of [t1, u1]) await complete(db, id);
  const operator = await login(db, "jobforge_operator");
  const search = async (caller: Sql, filters: unknown): Promise<string[]> =>
    (await caller.query<Job>("select * from jobforge_search_jobs($1)", [JSON.stringify(filters)])).map(
      (job) => job.id,
    );
  expect(await search(operator, {})).toEqual([u2, t2, u1, t1]);
  expect(await search(operator, { tenant_id: U })).toEqual([u2, u1]);
  expect(await search(operator, { type: "b" })).toEqual([u2, t2]);
  expect(await search(operator, { tenant_id: T, status: "succeeded" })).toEqual([t1]);
  expect(await search(operator, { limit: 2, cursor: u2 })).toEqual([t2, u1]);
  expect(await search(operator, { tenant_id: UNKNOWN })).toEqual([]);
  await expectError(search(operator, { tenant_id: "x" }), "JF002", "tenant_id");
  await expectError(search(operator, { tenant: U }), "JF002", "tenant");
  for (const role of ["jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_reader"]) {
    expect(await codeOf(search(await login(db, role), {}))).toBe("42501");
  }
  expect(await codeOf(search(await boundLogin(db, T, "jobforge_operator"), {}))).toBe("42501");
});
