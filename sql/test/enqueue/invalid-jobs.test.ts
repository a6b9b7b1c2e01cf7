/** Jobs that cannot be enqueued: the whole call is refused, and the error names the invalid job. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { enqueueJobs, outcomesOf } from "../support/bulk.ts";
import { countJobs, expectError, T, U } from "../support/kernel.ts";

/** A job with one error, and the field that the error must name when the job is the fourth of a call. */
const invalid: Record<string, [unknown, string, string?]> = {
  "no type": [{ payload: {} }, "jobs[3].type"],
  "an empty type": [{ type: " " }, "jobs[3].type"],
  "a type that is too long": [{ type: "x".repeat(201) }, "jobs[3].type"],
  "a type with a blank": [{ type: "send mail" }, "jobs[3].type"],
  "an object as type": [{ type: { a: 1 } }, "jobs[3].type"],
  "an array as type": [{ type: ["a"] }, "jobs[3].type"],
  "max_attempts 0": [{ type: "a", max_attempts: 0 }, "jobs[3].max_attempts"],
  "half an attempt": [{ type: "a", max_attempts: 1.5 }, "jobs[3].max_attempts"],
  "a text as priority": [{ type: "a", priority: "high" }, "jobs[3].priority"],
  "a priority out of range": [{ type: "a", priority: 1_000_001 }, "jobs[3].priority"],
  "a number out of range": [{ type: "a", priority: 1e15 }, "jobs[3].priority"],
  "an invalid time": [{ type: "a", run_at: "soon" }, "jobs[3].run_at"],
  "an infinite time": [{ type: "a", run_at: "infinity" }, "jobs[3].run_at"],
  "an expiry in the past": [{ type: "a", expires_at: "2020-01-01" }, "jobs[3].expires_at"],
  "an unknown mode": [{ type: "a", dedupe_key: "d", dedupe_mode: "merge" }, "jobs[3].dedupe_mode"],
  "an empty key": [{ type: "a", idempotency_key: "" }, "jobs[3].idempotency_key"],
  "a key that is too long": [{ type: "a", dedupe_key: "x".repeat(1025) }, "jobs[3].dedupe_key"],
  "a text as tags": [{ type: "a", tags: "x" }, "jobs[3].tags"],
  "an object as tags": [{ type: "a", tags: { x: 1 } }, "jobs[3].tags"],
  "tags inside tags": [{ type: "a", tags: [["x"], ["y"]] }, "jobs[3].tags"],
  "an empty tag": [{ type: "a", tags: [""] }, "jobs[3].tags"],
  "a malformed traceparent": [{ type: "a", traceparent: "x" }, "jobs[3].traceparent"],
  "an unknown key": [{ type: "a", colour: "red" }, "jobs[3].colour"],
  "its own tenant": [{ type: "a", tenant_id: U }, "jobs[3].tenant_id"],
  "a parameter's name": [{ p_type: "a" }, "jobs[3].p_type"],
  "null instead of a job": [null, "jobs[3]"],
  "a text instead of a job": ["a", "jobs[3]"],
  "a number instead of a job": [5, "jobs[3]"],
  "an array instead of a job": [[{ type: "a" }], "jobs[3]"],
  "an empty array instead of a job": [[], "jobs[3]"],
  "a payload over 1 MiB": [{ type: "a", payload: "x".repeat(1_048_576) }, "jobs[3].payload", "JF008"],
};

test.for(Object.keys(invalid))(
  "%s is refused, the error names the job, and no job of the call exists",
  async (name, { db }) => {
    const [bad, field, code = "JF002"] = invalid[name] ?? [];
    const good = { type: "a", idempotency_key: "k", dedupe_key: "d" };
    const error = await expectError(enqueueJobs(db, [good, { type: "b" }, good, bad, { type: "c" }]), code);
    expect(error.field).toBe(field);
    expect(await countJobs(db)).toBe(0);
    expect(outcomesOf(await enqueueJobs(db, [good]))).toEqual(["created"]);
  },
);

test("of several invalid jobs the error names the first, however long the list", async ({ db }) => {
  const jobs: unknown[] = Array.from({ length: 3000 }, () => ({ type: "a" }));
  jobs[2500] = { type: "" };
  jobs[2900] = { type: "" };
  await expectError(enqueueJobs(db, jobs), "JF002", "jobs[2500].type");
  jobs[2500] = { type: "a", run_at: "soon" };
  const error = await expectError(enqueueJobs(db, jobs), "JF002");
  expect(error.message).toContain("2500");
});

test("an empty list enqueues nothing, and a missing list, a list that is too long and a missing tenant are refused", async ({
  db,
}) => {
  expect(await enqueueJobs(db, [])).toEqual([]);
  for (const jobs of [null, {}, "jobs", 5, { type: "a" }]) {
    await expectError(enqueueJobs(db, jobs), "JF002", "jobs");
  }
  await expectError(
    db.query(
      "select jobforge_enqueue_jobs($1, (select jsonb_agg(jsonb_build_object('type', 'a')) from generate_series(1, 50001)))",
      [T],
    ),
    "JF002",
    "jobs",
  );
  await expectError(enqueueJobs(db, [{ type: "a" }], null), "JF001", "tenant_id");
  await expectError(db.query("select jobforge_enqueue_jobs($1, 'null')", [T]), "JF002", "jobs");
  expect(await countJobs(db)).toBe(0);
});
