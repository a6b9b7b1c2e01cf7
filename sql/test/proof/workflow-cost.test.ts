/** The cost of workflows, mostly in buffers: it must not grow with steps that a call does not concern. */
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { cost, costAndResult, load } from "../support/cost.ts";
import { type Sql, T } from "../support/kernel.ts";
import { start, step } from "../support/workflows.ts";

/**
 * What indexes with one more level and pages that fill while others work cost a call. To read all steps or needs of the
 * workflows below would cost more than 80 buffers.
 */
const levels = 40;

type Held = { id: string; attempts: number }[];

/** Returns the least cost of several calls that end ten runs of a type and claim the next ten. */
async function costOfSettle(db: Sql, type: string): Promise<number> {
  let held: Held = [];
  const costs: number[] = [];
  for (let n = 0; n < 14; n += 1) {
    const results = held.map(({ id, attempts }) => ({ id, attempt: attempts, status: "succeeded" }));
    const { buffers, result } = await costAndResult<{ jobs: Held }>(
      db,
      "jobforge_settle_jobs('w', $1, 10, array[$2])",
      [JSON.stringify(results), type],
    );
    expect(result.jobs).toHaveLength(10);
    held = result.jobs;
    costs.push(buffers);
  }
  return Math.min(...costs.slice(6));
}

/** Starts a workflow in which `width` steps of a type are needed by one step. */
async function startJoin(db: Sql, width: number, type = "need"): Promise<void> {
  const needs = Array.from({ length: width }, (_, n) => `n${n}`);
  await start(db, [...needs.map((name) => step(name, [], { type })), step("join", needs, { type: "join" })]);
}

async function prepare(db: TestDatabase): Promise<void> {
  await load(db, { count: 300, tenants: 1 });
  await db.query("vacuum (analyze) jobforge.queue, jobforge.runs, jobforge.steps, jobforge.edges");
}

test("jobs in no workflow cost the same, however many steps are blocked and run", async ({ db }) => {
  const other = await db.connect();
  await prepare(db);
  const alone = await costOfSettle(db, "a");
  const chain = Array.from({ length: 5000 }, (_, n) =>
    step(`s${n}`, n === 0 ? [] : [`s${n - 1}`], { type: "other" }),
  );
  await start(db, chain);
  await startJoin(db, 1000, "other");
  await prepare(db);
  expect((await costOfSettle(other, "a")) - alone).toBeLessThan(levels);
});

test("the end of a need costs the same in a narrow and in a wide join", async ({ db }) => {
  const other = await db.connect();
  await startJoin(db, 200, "narrow");
  await startJoin(db, 10_000, "wide");
  await db.query("vacuum (analyze) jobforge.queue, jobforge.steps, jobforge.edges");
  const narrow = await costOfSettle(db, "narrow");
  expect((await costOfSettle(other, "wide")) - narrow).toBeLessThan(levels);
});

test("a start costs the same in a session whose plans were made while the tables were small", async ({
  db,
}) => {
  const call = "select jobforge_start_workflow($1, 'flow', $2)";
  const stepsOf = (count: number): string =>
    JSON.stringify(Array.from({ length: count }, (_, n) => step(`s${n}`)));
  const other = await db.connect();
  const fresh = (await cost(other, call, [T, stepsOf(2000)])).buffers;
  await db.query("delete from jobforge.steps");
  await db.query("vacuum (analyze) jobforge.steps");
  for (let n = 0; n < 12; n += 1) await db.query(call, [T, stepsOf(1)]);
  expect((await cost(db, call, [T, stepsOf(2000)])).buffers).toBeLessThan(fresh * 1.3);
});

test("the cost of a start grows with its steps, and no faster", async ({ db }) => {
  const call = "select jobforge_start_workflow($1, 'flow', $2)";
  const stepsOf = (count: number): string =>
    JSON.stringify(
      Array.from({ length: count }, (_, n) =>
        step(`s${n}`, n === 0 ? [] : [`s${n - 1}`, `s${n >> 1}`].slice(0, 1 + (n & 1))),
      ),
    );
  await cost(db, call, [T, stepsOf(500)]);
  const few = (await cost(db, call, [T, stepsOf(500)])).buffers / 500;
  const many = (await cost(db, call, [T, stepsOf(5000)])).buffers / 5000;
  expect(many).toBeLessThan(few * 1.3);
});

/** Where Linux says how long a process has run on a CPU. Time by the clock would measure other programs, too. */
const cpuFileOf = (pid: number | "self"): string => `/proc/${pid}/schedstat`;

/** Returns the least CPU time of the server in several calls, in milliseconds, after one that does not count. */
async function cpuOf(db: Sql, work: () => Promise<unknown>): Promise<number> {
  const file = cpuFileOf(await db.value<number>("select pg_backend_pid()"));
  const spent = async (): Promise<number> => Number((await readFile(file, "utf8")).split(" ")[0]) / 1e6;
  const times: number[] = [];
  for (let n = 0; n < 4; n += 1) {
    const before = await spent();
    await work();
    times.push((await spent()) - before);
    for (const table of ["queue", "runs", "steps", "edges", "workflows", "wakeups"])
      await db.query(`delete from jobforge.${table}`);
  }
  return Math.min(...times.slice(1));
}

const onLinux = test.skipIf(!existsSync(cpuFileOf("self")));

onLinux("an item of a map does not read the whole list again", async ({ db }) => {
  const payload = { name: { $item: "name" }, n: { $index: true } };
  const filesOf = (length: number) => Array.from({ length }, (_, n) => ({ name: `file-${n}` }));
  const ofInput = step("each", [], { map: { over: { $input: "list" } }, payload });
  // A call makes the first 1,000 items, and reads the list once: that is 2 and 7 times as much here. It was twenty
  // times as much when each item read the list again.
  const lists: ((length: number) => Promise<unknown>)[] = [
    (length) => start(db, [ofInput], { input: { list: filesOf(length) } }),
    (length) => start(db, [step("each", [], { map: { over: filesOf(length) }, payload })]),
  ];
  for (const list of lists) {
    const few = await cpuOf(db, () => list(1000));
    expect(await cpuOf(db, () => list(30_000))).toBeLessThan(few * 12);
  }
});

onLinux("steps that refer to one large result read it once", async ({ db }) => {
  const steps = Array.from({ length: 200 }, (_, n) =>
    step(`s${n}`, [], { payload: { x: { $result: ["list", String(n)] } } }),
  );
  const run = async (length: number): Promise<void> => {
    await start(db, [step("list", [], { type: "list" }), ...steps]);
    const [list] = await db.query<Held[number]>("select id, attempts from jobforge_claim_jobs('w', 1)");
    const result = Array.from({ length }, (_, n) => n);
    const ends = [{ id: list?.id, attempt: 1, status: "succeeded", result }];
    await db.query("select jobforge_settle_jobs('w', $1)", [JSON.stringify(ends)]);
    expect(await db.value("select count(*)::int from jobforge.queue")).toBe(200);
  };
  const few = await cpuOf(db, () => run(200));
  // To store the result takes 4 times as long. It was 50 when each step read the result for itself.
  expect(await cpuOf(db, () => run(100_000))).toBeLessThan(few * 12);
});
