/** jobforge_settle_jobs_text: the document of jobforge_settle_jobs as text. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueue } from "../support/kernel.ts";
import { settle } from "../support/settle.ts";

test("jobforge_settle_jobs_text returns the document of jobforge_settle_jobs as text", async ({ db }) => {
  await enqueue(db, { payload: { quote: '"', unicode: "ü\n" }, subject: "s", tags: ["t"] });
  const answer = JSON.parse(await db.value<string>("select jobforge_settle_jobs_text('w1', '[]', 5)"));
  expect(answer.jobs).toMatchObject([
    { payload: { quote: '"', unicode: "ü\n" }, subject: "s", tags: ["t"], progress: null },
  ]);
  const [{ id }] = answer.jobs;
  const ended = JSON.parse(
    await db.value<string>("select jobforge_settle_jobs_text('w1', $1)", [
      JSON.stringify([{ id, attempt: 1, status: "succeeded" }, { id: "nobody" }, 7]),
    ]),
  );
  expect(ended.settled).toEqual([
    { id, attempt: 1, outcome: "ok", status: "succeeded" },
    { id: "nobody", attempt: null, outcome: "stale", status: null },
    { id: null, attempt: null, outcome: "stale", status: null },
  ]);
});

/** The character that marks the place of a large payload inside of the kernel. JSON has it only as an escape. */
const mark = "\u0001";

test("large payloads are parts of their own, between parts with everything else", async ({ db }) => {
  const large = (n: number): object => ({ n, text: `${mark}"ü${"x".repeat(20_000)}` });
  const payloads = [large(1), large(2), { small: mark }, large(3), null, large(4)];
  for (const [n, payload] of payloads.entries()) {
    await enqueue(db, { payload, priority: -n, subject: mark, tags: [mark] });
  }
  const rows = await db.query<{ part: string }>("select jobforge_settle_jobs_text('w1', '[]', 10) as part");
  const parts = rows.map(({ part }) => part);
  const { jobs } = JSON.parse(parts.join("")) as {
    jobs: { payload: unknown; subject: string; tags: string[] }[];
  };
  expect(jobs.map(({ payload }) => payload)).toEqual(payloads);
  expect(jobs.every(({ subject, tags: [tag] }) => subject === mark && tag === mark)).toBe(true);
  const own = [1, 3, 5, 7].map((place) => JSON.parse(parts[place] ?? "") as unknown);
  expect(own).toEqual([large(1), large(2), large(3), large(4)]);
  expect(parts).toHaveLength(9);
});

test("a response without large payloads is one part", async ({ db }) => {
  for (let n = 0; n < 20; n += 1) await enqueue(db, { payload: { text: "x".repeat(1000) } });
  expect(await db.query("select jobforge_settle_jobs_text('w1', '[]', 20)")).toHaveLength(1);
});

test("jobforge_settle_jobs returns the same jobs with their large payloads", async ({ db }) => {
  const payloads = [{ text: "x".repeat(20_000) }, { small: true }, { text: "y".repeat(20_000) }];
  for (const [n, payload] of payloads.entries()) await enqueue(db, { payload, priority: -n });
  const { jobs } = await settle(db, [], { claim: 10 });
  expect(jobs.map(({ payload }) => payload)).toEqual(payloads);
});
