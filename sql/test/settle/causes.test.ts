/** The causes of errors: the line that says what happened, where it is shown, and what is kept of large errors. */
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { errorVectors } from "../../../test/vectors.ts";
import { attemptsOf, claim, enqueue, fail, find, T } from "../support/kernel.ts";

const refused = {
  name: "TypeError",
  message: "fetch failed",
  cause: { name: "Error", message: "connect ECONNREFUSED 127.0.0.1:1", code: "ECONNREFUSED" },
};
const line = "fetch failed: connect ECONNREFUSED 127.0.0.1:1";

describe("the line of an error", () => {
  test.for(errorVectors.lines)("$name", async ({ error, line: expected }, { db }) => {
    expect(await db.value("select jobforge.full_message($1)", [JSON.stringify(error)])).toBe(expected);
  });
});

test("the causes of an error are in the last error of its job, its attempt, the audit log and the explanation", async ({
  db,
}) => {
  const { id } = await enqueue(db, { max_attempts: 1 });
  await claim(db);
  await fail(db, id, { error: refused });
  const job = await find(db, id);
  expect(job).toMatchObject({ last_error: line, error: { ...refused, fullMessage: line } });
  expect(await attemptsOf(db, id)).toMatchObject([{ error: { fullMessage: line } }]);
  expect(await db.value("select message from jobforge.audit_log where entity_id = $1", [id])).toBe(line);
  const [why] = await db.value<{ message: string }[]>("select jobforge_explain_job($1, $2)", [id, T]);
  expect(why?.message).toContain(line);
});

test("a job that waits for its retry has the line as well", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id, { error: refused });
  expect(await find(db, id)).toMatchObject({ status: "queued", last_error: line });
  const reasons = await db.value<{ code: string; message: string }[]>("select jobforge_explain_job($1, $2)", [
    id,
    T,
  ]);
  expect(reasons.find(({ code }) => code === "retrying")?.message).toContain(line);
});

test("an error without causes has no fullMessage, even if its client sends one", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id, { error: { message: "plain", fullMessage: "made up" } });
  const { error, last_error } = await find(db, id);
  expect(last_error).toBe("plain");
  expect(error).not.toHaveProperty("fullMessage");
});

test.for([{ errors: [] }, { cause: null }, { cause: {} }, { errors: [null] }])(
  "%j says nothing, so it has no fullMessage",
  async (error, { db }) => {
    const { id } = await enqueue(db);
    await claim(db);
    await fail(db, id, { error });
    const job = await find(db, id);
    expect(job.error).not.toHaveProperty("fullMessage");
    expect(job.last_error).toBe("The handler failed without saying why");
  },
);

test("a cause is masked like the error itself, also in the line", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  await fail(db, id, { error: { message: "no login", cause: { message: "password=hunter2 refused" } } });
  const { error, last_error } = await find(db, id);
  expect(last_error).toBe("no login: password=[redacted] refused");
  expect(JSON.stringify(error)).not.toContain("hunter2");
});

test.for([
  ["over 16 kB", 12_000],
  ["over 64 kB", 70_000],
] as const)("an error that is %s keeps the names and messages of its causes", async ([, length], { db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const error = {
    name: "AggregateError",
    message: "top",
    stack: "s".repeat(length),
    cause: { name: "Error", message: "inner", stack: "s".repeat(length), cause: "innermost" },
    errors: Array.from({ length: 30 }, (_, n) => ({ name: "Error", message: `member ${n}` })),
  };
  await fail(db, id, { error });
  const job = await find(db, id);
  expect(job.last_error).toBe("top: member 0; member 1; member 2; and 27 more: inner: innermost");
  expect(job.error).toMatchObject({
    truncated: true,
    stack: "s".repeat(1800),
    cause: { name: "Error", message: "inner", cause: "innermost" },
    errors: [{ message: "member 0" }, { message: "member 1" }, { message: "member 2" }],
    omittedErrors: 27,
  });
});

test("an error with very many causes is stored with bounded size", async ({ db }) => {
  const { id } = await enqueue(db);
  await claim(db);
  const part = { message: "m".repeat(3000), stack: "s".repeat(3000) };
  const wide = (depth: number): object =>
    depth === 0
      ? part
      : { ...part, cause: wide(depth - 1), errors: [wide(depth - 1), wide(depth - 1), wide(depth - 1)] };
  await fail(db, id, { error: wide(4) });
  expect(JSON.stringify((await find(db, id)).error).length).toBeLessThan(40_000);
});
