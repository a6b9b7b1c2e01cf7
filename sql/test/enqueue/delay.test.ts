/** A delay counts on the database's clock, for one job, for many, and for the children of a run. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, codeOf, T } from "../support/kernel.ts";

const one = "select jobforge_enqueue_job($1, 'a', p_delay_ms => $2, p_run_at => $3)";
const many = "select jobforge_enqueue_jobs($1, $2)";
/** How far ahead of the database's clock each job is due, in seconds. */
const ahead = `
  select type, round(extract(epoch from run_at - created_at))::int as seconds
  from jobforge_jobs where type <> 'parent' order by type`;

test("a job is due after its delay, on the database's clock", async ({ db }) => {
  await db.travel("3 days");
  await db.query(one, [T, 90_000, null]);
  await db.query(many, [
    T,
    JSON.stringify([
      { type: "b", delay_ms: 60_000 },
      { type: "c", delay_ms: null },
      { type: "d", delay_ms: 0 },
    ]),
  ]);
  expect(await db.query(ahead)).toEqual([
    { type: "a", seconds: 90 },
    { type: "b", seconds: 60 },
    { type: "c", seconds: 0 },
    { type: "d", seconds: 0 },
  ]);
  await db.travel("3 days 61 seconds");
  expect((await claim(db)).map((job) => job.type).sort()).toEqual(["b", "c", "d"]);
});

test("the delay of a child counts from the end of its parent's run", async ({ db }) => {
  await db.query("select jobforge_enqueue_job($1, 'parent')", [T]);
  const [parent] = await claim(db);
  await db.travel("5 seconds");
  const end = {
    id: parent?.id,
    attempt: 1,
    status: "succeeded",
    children: [{ type: "child", delay_ms: 30_000 }],
  };
  await db.query("select jobforge_settle_jobs('w1', $1)", [JSON.stringify([end])]);
  expect(await db.query(ahead)).toEqual([{ type: "child", seconds: 30 }]);
});

test("a delay that is not valid, or comes with a time, is refused", async ({ db }) => {
  for (const delay of [-1, 315_360_000_001, "9223372036854775807"])
    expect(await codeOf(db.query(one, [T, delay, null]))).toBe("JF002");
  expect(await codeOf(db.query(one, [T, 5, "2030-01-01"]))).toBe("JF002");
  for (const delay_ms of [-1, 1.5, "5", true, [], 1e300])
    await expect(
      db.query(many, [T, JSON.stringify([{ type: "a" }, { type: "a", delay_ms }])]),
    ).rejects.toMatchObject({ code: "JF002", detail: expect.stringContaining("jobs[1].delay_ms") });
  const both = [{ type: "a", delay_ms: 5, run_at: "2030-01-01T00:00:00Z" }];
  expect(await codeOf(db.query(many, [T, JSON.stringify(both)]))).toBe("JF002");
});

test("a dedupe mode other than skip needs a key", async ({ db }) => {
  const call = (mode: string, key: string | null) =>
    db.query("select jobforge_enqueue_job($1, 'a', p_dedupe_mode => $2, p_dedupe_key => $3)", [T, mode, key]);
  for (const mode of ["replace", "debounce"]) {
    await expect(call(mode, null)).rejects.toMatchObject({
      code: "JF002",
      detail: expect.stringContaining("dedupe_mode"),
    });
    await call(mode, "k");
  }
  await call("skip", null);
});
