/** jobforge_series: what maintenance sampled in each minute. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { load } from "../support/cost.ts";
import { claim, codeOf, complete, enqueueAll, expectError, fail, type Sql, T } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";
import { maintain } from "../support/usage.ts";

type Step = {
  readonly type: string | null;
  readonly due: number | null;
  readonly scheduled: number | null;
  readonly running: number | null;
  readonly exact: boolean | null;
  readonly runs: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly run_p95_ms: number | null;
};

/** The steps of the last two hours in one, so that a test is not cut by the end of a minute. */
async function series(db: Sql, types: readonly string[] | null = null): Promise<Step[]> {
  return await db.query<Step>(
    `select s.type, s.due::int, s.scheduled::int, s.running::int, s.exact, s.runs::int, s.succeeded::int, s.failed::int,
       s.run_p95_ms::int
     from jobforge_series(now() - interval '2 hours', now() + interval '1 day', '1 day', $1) s
     where s.start_at > now() - interval '30 hours'`,
    [types],
  );
}

const total = (steps: readonly Step[], of: (step: Step) => number | null): number =>
  steps.reduce((sum, step) => sum + (of(step) ?? 0), 0);

test("a minute has the depth of the queue and the ends of runs, for all types and for each", async ({
  db,
}) => {
  const [good, bad] = await enqueueAll(db, [{ type: "a" }, { type: "a" }, { type: "b", in: "1 hour" }]);
  await claim(db, "w1", { types: ["a"] });
  await maintain(db);
  const [all] = await series(db);
  expect(all).toMatchObject({ type: null, due: 0, scheduled: 1, running: 2, exact: true, runs: 0 });
  await complete(db, good);
  await fail(db, bad, { retry: false });
  await maintain(db);
  const ended = await series(db);
  expect([
    total(ended, (s) => s.runs),
    total(ended, (s) => s.succeeded),
    total(ended, (s) => s.failed),
  ]).toEqual([2, 1, 1]);
  expect(ended.at(-1)?.run_p95_ms).not.toBeNull();
  const ofB = await series(db, ["b"]);
  expect(ofB.at(-1)).toMatchObject({ type: "b", scheduled: 1, running: 0, runs: 0 });
});

test("a run counts once, however often maintenance runs", async ({ db }) => {
  const [id] = await enqueueAll(db, [{}]);
  await claim(db);
  await complete(db, id);
  for (let i = 0; i < 3; i += 1) await maintain(db);
  expect(total(await series(db, ["a"]), (s) => s.runs)).toBe(1);
});

test("the types beyond the 200 busiest of a minute are one series", async ({ db }) => {
  await load(db, { count: 205, types: 205, type: "t" });
  await maintain(db);
  expect(await db.value("select count(*)::int from jobforge.samples where due > 0")).toBe(202);
  expect(total(await series(db, ["*"]), (s) => s.due)).toBe(5);
});

test("samples are deleted after seven days", async ({ db }) => {
  await maintain(db);
  const [before] = await db.query<{ minute: Date }>("select max(minute) as minute from jobforge.samples");
  await db.travel("8 days");
  await maintain(db);
  expect(
    await db.value("select count(*)::int from jobforge.samples where minute <= $1", [before?.minute]),
  ).toBe(0);
});

test("operators and readers see series; tenants, workers and wrong arguments are refused", async ({ db }) => {
  for (const role of ["jobforge_operator", "jobforge_reader"]) await series(await login(db, role));
  for (const role of ["jobforge_tenant", "jobforge_worker"])
    expect(await codeOf(series(await login(db, role)))).toBe("42501");
  expect(await codeOf(series(await boundLogin(db, T, "jobforge_reader")))).toBe("42501");
  await expectError(db.query("select jobforge_series(p_step => '1 second')"), "JF002", "step");
  await expectError(db.query("select jobforge_series(now() - interval '3 days')"), "JF002", "from");
});
