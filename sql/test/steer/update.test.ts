/** jobforge_update_job: changes a queued job. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  auditOf,
  claim,
  claimIds,
  codeOf,
  complete,
  enqueue,
  enqueueAll,
  expectError,
  find,
  impatient,
  type Job,
  type Sql,
  setPolicy,
  T,
  U,
  unknownId,
} from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

async function update(db: Sql, id: string, changes: unknown, tenant: string | null = T): Promise<Job> {
  return await db.value<Job>("select jobforge_update_job($1, $2, $3)", [
    id,
    tenant,
    changes === null ? null : JSON.stringify(changes),
  ]);
}

test("an update changes the given fields and nothing else", async ({ db }) => {
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

test("a claim respects an updated time: it skips a later time and takes now and the past", async ({ db }) => {
  const [late, soon, past] = await enqueueAll(db, [{}, { in: "1 hour" }, { in: "1 hour" }]);
  await update(db, late, { run_at: "2999-01-01T00:00:00Z" });
  await update(db, soon, { run_at: null });
  await update(db, past, { run_at: "2020-01-01T00:00:00Z" });
  expect(await claimIds(db)).toEqual([past, soon]);
});

test("the next claim respects an updated priority, and the type's cap holds", async ({ db }) => {
  await setPolicy(db, "a", { max_priority: 5 });
  const [first, second] = await enqueueAll(db, [{ priority: 3 }, {}]);
  expect(await update(db, second, { priority: 100 })).toMatchObject({ priority: 5 });
  expect(await claimIds(db)).toEqual([second, first]);
});

test("an updated payload may grow above the size that is stored separately, shrink again, and reaches the handler", async ({
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
  const [running, queued, finished] = await enqueueAll(db, [{ priority: 1 }, {}, { priority: 1 }]);
  await claim(db, "w1", { limit: 2 });
  await complete(db, finished);
  for (const [id, tenant] of [
    [running, T],
    [finished, T],
    [queued, U],
    [unknownId, T],
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

test("an invalid change is refused, the error names the caller's field, and nothing changes", async ({
  db,
}) => {
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
    // As for an enqueue: the job would never start.
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
