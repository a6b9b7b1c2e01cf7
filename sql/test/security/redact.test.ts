/** Secrets are masked before an error is stored, wherever it is stored. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { errorVectors, redactionCases } from "../../../test/vectors.ts";
import {
  attemptsOf,
  claim,
  claimAndFail,
  enqueue,
  fail,
  find,
  setPolicy,
  T,
  travelToRun,
} from "../support/kernel.ts";
import { settle } from "../support/settle.ts";

test("the kernel masks what the worker's log masks", async ({ db }) => {
  for (const { name, value, masked, listed = [] } of redactionCases) {
    // A masked document stays unchanged.
    for (const document of [value, masked]) {
      const answer = await db.value("select jobforge.redact($1, $2)", [JSON.stringify(document), listed]);
      expect(answer, name).toEqual(masked);
    }
  }
});

test("a stored error holds no secret: on the job, its attempts, in the archive and in the audit log", async ({
  db,
}) => {
  await setPolicy(db, "a", { redact: ["iban"], max_attempts: 2 });
  const { id } = await enqueue(db);
  const error = {
    message: "POST https://me:pw123@bank failed, iban=DE123",
    iban: "DE123",
    stack: "x".repeat(9000),
  };
  await claimAndFail(db, { error });
  const retried = await find(db, id);
  expect(retried.error).toMatchObject({
    message: "POST https://me:[redacted]@bank failed, iban=[redacted]",
    iban: "[redacted]",
    stack: "x".repeat(4000),
  });
  expect((await attemptsOf(db, id))[0]?.error).toEqual(retried.error);
  await travelToRun(db, id);
  await claim(db);
  await settle(db, [{ id, attempt: 2, status: "failed", error }]);
  const everything = await db.value<string>(
    `select string_agg(t.line, ' ') from (
       select to_jsonb(j)::text as line from jobforge_jobs j
       union all select to_jsonb(a)::text from jobforge_job_attempts a
       union all select to_jsonb(l)::text from jobforge_audit_log l where l.entity_type = 'job') t`,
  );
  expect(everything).toContain("[redacted]");
  expect(everything).not.toMatch(/DE123|pw123/);
});

test("an error over 16 kB is cut so that no part of a secret remains", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const message = `${"x".repeat(1985)} postgres://me:verysecretpassword@db/${"y".repeat(20_000)}`;
  await fail(db, id, { error: { message, password: "p" } });
  const { error } = await find(db, id);
  expect(error).toMatchObject({ truncated: true });
  expect(JSON.stringify(error)).not.toMatch(/very|"p"/);
});

test("a text is cut as the SDK cuts it", async ({ db }) => {
  for (const { name, text, cut } of errorVectors.cuts)
    expect(await db.value("select jobforge.cut_text($1, $2)", [text, errorVectors.cutLength]), name).toBe(
      cut,
    );
});

test("no cut leaves a part of a secret, even if masking makes the text before it shorter", async ({ db }) => {
  const split = (length: number, secret: string): string => {
    const start = ` ${secret}`;
    return `cookie=${"c".repeat(length - 7 - start.length)}${start}@db/x ${"y".repeat(20_000)}`;
  };
  for (const secret of ["postgres://u:hunter2pass", `postgres://u:${"hunter2".repeat(40)}`]) {
    const inner = { message: split(2000, secret), stack: split(8000, secret) };
    const error = { name: split(800, secret), message: split(8000, secret), cause: inner, errors: [inner] };
    const stored = await db.value("select jobforge.error_of($1, now(), '{}')", [JSON.stringify(error)]);
    expect(JSON.stringify(stored)).not.toContain("hunter2");
    const small = { message: "m", stack: split(8000, secret).slice(0, 9000) };
    const kept = await db.value("select jobforge.error_of($1, now(), '{}')", [JSON.stringify(small)]);
    expect(JSON.stringify(kept)).not.toContain("hunter2");
  }
});

test("every error is stored, however unusual", async ({ db }) => {
  await setPolicy(db, "a", { redact: ["", "a(b", "[", "x|y"] });
  const deep = `${'{"a":'.repeat(1000)}"password=x"${"}".repeat(1000)}`;
  const errors = [deep, "[[[1]]]", '"password="', "null", "12", '{"": ""}', '{"message": {"token": "x"}}'];
  for (const error of errors) {
    const { id } = await enqueue(db);
    await claim(db);
    await db.query("select jobforge_complete_job($1, 'w1', 'failed', $2::jsonb)", [id, error]);
    expect((await find(db, id)).error).toMatchObject({ attemptedAt: expect.any(String) });
  }
  expect(await db.value("select count(*)::int from jobforge_jobs where tenant_id = $1", [T])).toBe(
    errors.length,
  );
});

/** Returns how often functions of the kernel ran in a statement, counted by Postgres. */
async function callsIn(db: TestDatabase, sql: string, values: readonly unknown[]): Promise<number> {
  const counting = await db.connect();
  await counting.query("set track_functions = 'all'");
  await counting.query("begin");
  await counting.query(sql, values);
  return await counting.value<number>(
    "select coalesce(sum(calls), 0)::int from pg_stat_xact_user_functions where funcname like 'redact%'",
  );
}

test("masking an error is bounded work, whatever it consists of", async ({ db }) => {
  const list = (part: unknown, count: number): unknown[] => Array.from({ length: count }, () => part);
  const errors: readonly unknown[] = [
    list("a=b", 1500),
    list([], 4000),
    { details: list({ a: ["x"] }, 900), message: "m" },
    Object.fromEntries(list("x", 1200).map((text, n) => [`key${n}`, text])),
    list(list(1, 30), 100),
  ];
  const calls = "select jobforge.error_of($1, now(), '{}')";
  for (const error of errors)
    expect(
      await callsIn(db, calls, [JSON.stringify(error)]),
      JSON.stringify(error).slice(0, 60),
    ).toBeLessThan(10);
  const usual = {
    message: "m",
    stack: "at x".repeat(500),
    errors: list({ name: "E", message: "token=x" }, 40),
  };
  expect(await callsIn(db, calls, [JSON.stringify(usual)])).toBeGreaterThan(80);
  expect(await db.value(calls, [JSON.stringify(errors[2])])).toMatchObject({ message: "m", truncated: true });
});

test("the progress of a run is explained with bounded work", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const progress = JSON.stringify(Array.from({ length: 5000 }, () => "a=b"));
  await db.query("select jobforge_progress_job($1, 'w1', $2)", [id, progress]);
  expect(await callsIn(db, "select jobforge_explain_job($1, $2)", [id, T])).toBeLessThan(100);
});
