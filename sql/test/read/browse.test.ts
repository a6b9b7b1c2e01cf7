/** jobforge_browse_jobs: pages of summaries, with filters that people search by, in five orders. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load } from "../support/cost.ts";
import {
  cancel,
  claim,
  codeOf,
  complete,
  enqueueAll,
  enqueueMany,
  expectError,
  fail,
  type NewJob,
  type Sql,
  T,
  U,
} from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

interface Summary {
  readonly id: string;
  readonly status: string;
  readonly [column: string]: unknown;
}

interface Page {
  readonly items: readonly Summary[];
  readonly cursor: string | null;
  readonly searched_after: string | null;
}

async function browse(db: Sql, filters: object = {}, tenant: string | null = T): Promise<Page> {
  return await db.value<Page>("select jobforge_browse_jobs($1, $2)", [tenant, JSON.stringify(filters)]);
}

async function ids(db: Sql, filters: object = {}, tenant: string | null = T): Promise<string[]> {
  return (await browse(db, filters, tenant)).items.map((item) => item.id);
}

/** Reads all pages of an order, two jobs at a time. */
async function allPages(db: Sql, filters: object, tenant: string | null = T): Promise<string[]> {
  const found: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Page = await browse(db, { ...filters, limit: 2, cursor }, tenant);
    found.push(...page.items.map((item) => item.id));
    cursor = page.cursor;
  } while (cursor !== null && found.length < 100);
  return found;
}

test("a summary has no payload, and says how long the payload is", async ({ db }) => {
  const long = { text: "x".repeat(5000) };
  const [small, large] = await enqueueAll(db, [{ payload: { n: 1 }, tags: ["red"] }, { payload: long }]);
  const { items } = await browse(db);
  expect(items.map((item) => [item.id, item["payload_bytes"]])).toEqual([
    [large, JSON.stringify(long).length + 1],
    [small, JSON.stringify({ n: 1 }).length + 1],
  ]);
  for (const item of items) expect(Object.keys(item)).not.toContain("payload");
  expect(items[1]).toMatchObject({ type: "a", status: "queued", phase: "due", tags: ["red"], attempts: 0 });
});

test("filters select by phase, keys, worker, reason, attempts, tags and payload", async ({ db }) => {
  const [due, scheduled, retrying, dead, running] = await enqueueAll(db, [
    { payload: { to: "ada", deep: { n: 1 } }, tags: ["red"], concurrency_key: "c1", idempotency_key: "i1" },
    { payload: { to: "bob" }, tags: ["blue"], priority: 7, in: "1 hour" },
    { payload: ["x"], tags: ["green"], type: "b" },
    { payload: {}, type: "c", max_attempts: 1 },
    { payload: {}, type: "d" },
  ]);
  await claim(db, "w1", { types: ["b", "c"] });
  await fail(db, retrying, { error: { message: "again" } });
  await fail(db, dead, { error: { message: "never" } });
  await claim(db, "w2", { types: ["d"] });
  const cases: [object, (string | undefined)[]][] = [
    [{ phase: "due" }, [due]],
    [{ phase: "scheduled" }, [scheduled]],
    [{ phase: "retrying" }, [retrying]],
    [{ worker: "w2" }, [running]],
    [{ worker: "w1" }, [dead]],
    [{ concurrency_key: "c1" }, [due]],
    [{ idempotency_key: "i1" }, [due]],
    [{ reason: "exhausted" }, [dead]],
    [{ reason: ["exhausted", "crashed"] }, [dead]],
    [{ priority: 7 }, [scheduled]],
    [{ attempts_min: 1 }, [running, dead, retrying]],
    [{ tags_any: ["red", "blue"] }, [scheduled, due]],
    [{ payload: { deep: { n: 1 } } }, [due]],
    [{ payload: ["x"] }, [retrying]],
    [{ payload: { to: "eve" } }, []],
    [{ ids: [due, dead] }, [dead, due]],
    [{ id_prefix: due.slice(0, 36) }, [due]],
    [{ after: retrying }, [running, dead]],
  ];
  for (const [filters, expected] of cases) {
    expect([filters, await ids(db, filters)]).toEqual([filters, expected]);
    // Operators see the same jobs of all tenants.
    expect([filters, await ids(db, filters, null)]).toEqual([filters, expected]);
    expect([filters, await ids(db, filters, U)]).toEqual([filters, []]);
  }
  const traced = (await browse(db, { ids: [dead] })).items[0]?.["trace_id"];
  expect(await ids(db, { trace_id: traced })).toEqual([dead]);
});

test("each order has a cursor that neither skips nor repeats a job", async ({ db }) => {
  const made = await enqueueAll(
    db,
    Array.from({ length: 7 }, (_, n): NewJob => ({ type: `t${n % 3}`, priority: n })),
  );
  const later = await enqueueAll(db, [{ in: "3 hours" }, { in: "1 hour", type: "b" }, { in: "2 hours" }]);
  expect(await allPages(db, {})).toEqual([...made, ...later].reverse());
  expect(await allPages(db, { order: "oldest" })).toEqual([...made, ...later]);
  expect(await allPages(db, { order: "run_at" })).toEqual([later[1], later[2], later[0]]);
  expect(await allPages(db, { order: "run_at" }, null)).toEqual([later[1], later[2], later[0]]);
  const started: string[] = [];
  for (const _ of made) started.push((await claim(db, "w1", { limit: 1 }))[0]?.id ?? "");
  expect(started).toEqual([...made].reverse());
  expect(await allPages(db, { order: "started_at" })).toEqual(started);
  const ended = [made[3], made[0], made[6], made[1], made[5]] as string[];
  for (const id of ended) await complete(db, id);
  expect(await allPages(db, { order: "finished_at" })).toEqual([...ended].reverse());
  expect(await allPages(db, { order: "finished_at" }, null)).toEqual([...ended].reverse());
  expect(await allPages(db, { order: "finished_at" }, U)).toEqual([]);
});

test("after finds what has finished since a place in the order of ends", async ({ db }) => {
  const made = await enqueueAll(db, [{}, {}, {}]);
  await claim(db);
  const [first, second, third] = made;
  await complete(db, second);
  const { items } = await browse(db, { order: "finished_at" });
  const after = `${String(items[0]?.["finished_at"])}~${second}`;
  expect(await ids(db, { order: "finished_at", after })).toEqual([]);
  await complete(db, third);
  await complete(db, first);
  expect(await ids(db, { order: "finished_at", after })).toEqual([first, third]);
});

test("a search without an index looks at a bounded number of jobs, says how far, and goes on", async ({
  db,
}) => {
  const [wanted] = await enqueueAll(db, [{ tenant_id: "00000000-0000-4000-8000-000000000001", priority: 9 }]);
  await load(db, { count: 12_000 });
  const first = await browse(db, { priority: 9 }, null);
  expect(first.items).toEqual([]);
  expect(first.searched_after).not.toBeNull();
  const second = await browse(db, { priority: 9, cursor: first.cursor }, null);
  expect(second.items.map((item) => item.id)).toEqual([wanted]);
  expect(second.cursor).toBeNull();
});

test("malformed filters, and orders of another status, are refused", async ({ db }) => {
  await enqueueMany(db, 1);
  const refused: [object, string][] = [
    [{ order: "random" }, "order"],
    [{ order: "started_at", status: "queued" }, "order"],
    [{ order: "run_at", cursor: "x" }, "cursor"],
    [{ order: "oldest", after: T }, "after"],
    [{ phase: "sleeping" }, "phase"],
    [{ ids: ["x"] }, "ids"],
    [{ ids: Array.from({ length: 1001 }, () => T) }, "ids"],
    [{ id_prefix: "zz" }, "id_prefix"],
    [{ payload: "x" }, "payload"],
    [{ offset: 1 }, "offset"],
    [{ color: "red" }, "color"],
  ];
  for (const [filters, field] of refused) await expectError(browse(db, filters), "JF002", field);
  const list = db.query("select jobforge_list_jobs($1, $2)", [T, JSON.stringify({ payload: {} })]);
  await expectError(list, "JF002", "payload");
});

test("tenants browse their own jobs; workers and readers browse none", async ({ db }) => {
  const [own] = await enqueueAll(db, [{ payload: { mine: true } }, { tenant_id: U }]);
  await cancel(db, own);
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  expect(await ids(tenant)).toEqual([own]);
  expect(await codeOf(browse(tenant, {}, U))).toBe("42501");
  expect(await codeOf(browse(tenant, {}, null))).not.toBe("");
  for (const role of ["jobforge_worker", "jobforge_reader"])
    expect(await codeOf(browse(await login(db, role)))).toBe("42501");
});
