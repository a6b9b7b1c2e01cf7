/** Workflows and waits of the largest sizes that are allowed, and what is larger than one JSON document. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, enqueue, type Job, type Sql } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";
import { type Started, start, step, workflowOf } from "../support/workflows.ts";

/** The largest workflow is 50,000 steps, and the largest wait a fifth of it. */
const size = Number(process.env["JOBFORGE_PROOF_GRAPH"] ?? "5000");
const timeout = 120_000;

const chain = (length: number, chains = 1): object[] =>
  Array.from({ length: length * chains }, (_, n) => step(`s${n}`, n % length === 0 ? [] : [`s${n - 1}`]));

interface Reply {
  jobs: { id: string; attempts: number }[];
}

/** Settles what it claims until nothing is due. Returns the number of calls. */
async function run(db: Sql, types: string[], batch: number, result: unknown = null): Promise<number> {
  let ends: object[] = [];
  for (let calls = 1; ; calls += 1) {
    const reply = await db.value<Reply>("select jobforge_settle_jobs('w1', $1, $2, $3)", [
      JSON.stringify(ends),
      batch,
      types,
    ]);
    if (reply.jobs.length === 0) return calls;
    ends = reply.jobs.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded", result }));
  }
}

interface Page {
  items: { index: number; status: string; result: unknown }[];
  next: number | null;
}

const pageOf = (db: Sql, job: Job, of: string, after: number): Promise<Page> =>
  db.value<Page>("select jobforge_read_results($1, 'w1', $2, $3, $4)", [job.id, of, job.attempts, after]);

async function pagesOf(db: Sql, job: Job, of: string): Promise<Page[]> {
  const pages: Page[] = [];
  for (let after: number | null = -1; after !== null; after = pages.at(-1)?.next ?? null)
    pages.push(await pageOf(db, job, of, after));
  return pages;
}

async function next(db: Sql, type: string): Promise<Job> {
  const [job] = await claim(db, "w1", { types: [type] });
  return job ?? expect.fail(`no job of the type ${type} is due`);
}

test(`${size} steps start in one call, and more than 50,000 are refused`, { timeout }, async ({ db }) => {
  const { id }: Started = await start(db, chain(10, size / 10));
  expect(await workflowOf(db, id)).toMatchObject({ status: "running", step_count: size });
  expect(await db.value("select count(*)::int from jobforge.queue")).toBe(size / 10);
  await expect(start(db, [...chain(10, 5000), step("more")])).rejects.toMatchObject({ code: "JF014" });
});

test("a chain runs with one call for each step", { timeout }, async ({ db }) => {
  const { id } = await start(db, chain(size / 50));
  expect(await run(db, ["a"], 1)).toBe(size / 50 + 1);
  expect(await workflowOf(db, id)).toMatchObject({ status: "succeeded", counts: { succeeded: size / 50 } });
});

test("a parent waits for many children, goes on once, and reads their results in order", {
  timeout,
}, async ({ db }) => {
  const count = size / 5;
  await enqueue(db, { type: "parent" });
  const parent = await next(db, "parent");
  const children = Array.from({ length: count }, (_, n) => ({ type: "a", payload: { n } }));
  const wait = { name: "all", children };
  await settle(db, [{ id: parent.id, attempt: parent.attempts, status: "suspended", wait }]);
  expect(await db.value("select count(*)::int from jobforge.runs")).toBe(0);
  await run(db, ["a"], 1000, 7);
  const again = await next(db, "parent");
  expect(again).toMatchObject({ id: parent.id, attempts: 2, uncounted: 1 });
  const pages = await pagesOf(db, again, "all");
  expect(pages).toHaveLength(Math.floor(count / 1000) + 1);
  const items = pages.flatMap((page) => page.items);
  expect(items.map(({ index }) => index)).toEqual(Array.from({ length: count }, (_, n) => n));
  expect(new Set(items.map(({ status, result }) => `${status} ${result}`))).toEqual(new Set(["succeeded 7"]));
});

test("results and checkpoints that are too large for one document are read in pages", {
  timeout,
}, async ({ db }) => {
  const large = "x".repeat(1_000_000);
  const over = Array.from({ length: 30 }, (_, n) => n);
  await start(db, [step("each", [], { map: { over } }), step("join", ["each"], { type: "join" })]);
  await run(db, ["a"], 10, large);
  const join = await next(db, "join");
  const pages = await pagesOf(db, join, "each");
  expect(pages.map(({ items }) => items.length)).toEqual([9, 9, 9, 3]);
  expect(pages.flatMap(({ items }) => items.map(({ index }) => index))).toEqual(over);

  for (const n of over)
    await db.query("select jobforge_save_steps($1, 'w1', $2)", [
      join.id,
      JSON.stringify([{ name: `s${String(n).padStart(2, "0")}`, value: large }]),
    ]);
  const loaded: string[][] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const page: { steps: { name: string }[]; cursor: string | null } = await db.value(
      "select jobforge_load_steps($1, 'w1', null, nullif($2, ''))",
      [join.id, cursor],
    );
    loaded.push(page.steps.map(({ name }) => name));
    cursor = page.cursor;
  }
  expect(loaded.map((names) => names.length)).toEqual([9, 9, 9, 3]);
  expect(new Set(loaded.flat()).size).toBe(30);
});

test("a reference to results that no payload can hold fails its step, and no other", {
  timeout,
}, async ({ db }) => {
  const large = "x".repeat(1_000_000);
  const over = Array.from({ length: 70 }, (_, n) => n);
  const { id } = await start(db, [
    step("each", [], { map: { over } }),
    step("all", [], { payload: { all: { $result: "each" } }, type: "join" }),
    step("beside", ["each"], { type: "join" }),
  ]);
  await run(db, ["a"], 10, large);
  await run(db, ["join"], 10);
  expect(await workflowOf(db, id)).toMatchObject({
    status: "failed",
    failed: [{ step: "all", reason: "payload_too_large" }],
    counts: { succeeded: 72, failed: 1 },
  });
});
