/** jobforge_settle_jobs_text: the document of jobforge_settle_jobs as text. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueue } from "../support/kernel.ts";

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
