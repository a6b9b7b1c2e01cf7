import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  cancel,
  claim,
  complete,
  enqueue,
  enqueueAll,
  enqueueMany,
  expectError,
  fail,
  type Job,
  type Sql,
  T,
  U,
  unknownId,
} from "../support/kernel.ts";

async function list(db: Sql, filters: unknown = {}, tenant: string | null = T): Promise<Job[]> {
  const json = filters === null ? null : JSON.stringify(filters);
  return await db.query<Job>("select * from jobforge_list_jobs($1, $2)", [tenant, json]);
}

/** Returns the names (payloads) of the jobs that a filter selects, in order. */
async function names(db: Sql, filters: unknown = {}, tenant: string | null = T): Promise<unknown[]> {
  return (await list(db, filters, tenant)).map((job) => job.payload);
}

/** Creates one job of every status, named after its status, and one job of another tenant. */
async function oneOfEach(db: Sql): Promise<Record<string, string>> {
  const [succeeded, failed, dead, canceled, running] = await enqueueAll(db, [
    { payload: "succeeded", type: "a", tags: ["red"], subject: "s1" },
    { payload: "failed", type: "b", tags: ["red", "blue"] },
    { payload: "dead", type: "a", max_attempts: 1 },
    { payload: "canceled", type: "c", subject: "s1" },
    { payload: "running", type: "b", tags: ["blue"], subject: "s1" },
  ]);
  await cancel(db, canceled);
  await claim(db);
  await complete(db, succeeded);
  await fail(db, failed, { retry: false, error: { message: "Bad Gateway", body: { code: "E_502" } } });
  await fail(db, dead, { error: { message: "Timed Out" } });
  const queued = await enqueue(db, { payload: "queued", type: "a", tags: ["red"], subject: "s2" });
  await enqueue(db, { tenant_id: U, payload: "theirs", type: "a", tags: ["red"], subject: "s1" });
  return { succeeded, failed, dead, canceled, running, queued: queued.id };
}

const newestFirst = ["queued", "running", "canceled", "dead", "failed", "succeeded"];

test("a list has the tenant's own jobs, newest first, live and finished together, as the view shows them", async ({
  db,
}) => {
  await oneOfEach(db);
  expect(await names(db)).toEqual(newestFirst);
  expect(await names(db, {}, U)).toEqual(["theirs"]);
  expect(await names(db, {}, unknownId)).toEqual([]);
  const view = await db.query("select * from jobforge_jobs where tenant_id = $1 order by id desc", [T]);
  expect(await list(db)).toEqual(view);
});

test("no filters, null and filters of null select every job", async ({ db }) => {
  await oneOfEach(db);
  expect(await names(db, null)).toEqual(newestFirst);
  const keys = [
    "status",
    "type",
    "tags",
    "subject",
    "error_contains",
    "created_after",
    "finished_before",
    "limit",
    "offset",
    "cursor",
  ];
  expect(await names(db, Object.fromEntries(keys.map((key) => [key, null])))).toEqual(newestFirst);
  expect(await db.query("select payload from jobforge_list_jobs($1)", [T])).toHaveLength(6);
});

const found: readonly (readonly [string, Record<string, unknown>, readonly string[]])[] = [
  ...newestFirst.map((status) => [`the status ${status}`, { status }, [status]] as const),
  ["several statuses", { status: ["dead", "queued", "canceled"] }, ["queued", "canceled", "dead"]],
  ["a status named twice", { status: ["dead", "dead"] }, ["dead"]],
  ["no status", { status: [] }, []],
  ["a type", { type: "a" }, ["queued", "dead", "succeeded"]],
  ["several types", { type: ["c", "b", "b"] }, ["running", "canceled", "failed"]],
  ["an unknown type", { type: "nope" }, []],
  ["type and status", { type: "a", status: ["dead", "succeeded"] }, ["dead", "succeeded"]],
  ["a tag", { tags: ["red"] }, ["queued", "failed", "succeeded"]],
  ["a tag as text", { tags: "blue" }, ["running", "failed"]],
  ["all of several tags", { tags: ["blue", "red"] }, ["failed"]],
  ["a subject", { subject: "s1" }, ["running", "canceled", "succeeded"]],
  ["subject, type and status", { subject: "s1", type: ["a", "b"], status: "succeeded" }, ["succeeded"]],
  ["a part of the error, in any case", { error_contains: "tImEd" }, ["dead"]],
  ["a part of the error's details", { error_contains: "e_502" }, ["failed"]],
  ["a pattern taken literally", { error_contains: "%" }, []],
  ["a limit", { limit: 2 }, ["queued", "running"]],
  ["limit and offset", { limit: 2, offset: 3 }, ["dead", "failed"]],
  ["an offset past the end", { offset: 6 }, []],
  ["a limit as text", { limit: "1" }, ["queued"]],
];

test("a list can be filtered by status, type, tags, subject and error, and has a limit and an offset", async ({
  db,
}) => {
  await oneOfEach(db);
  const answers: Record<string, unknown[]> = {};
  for (const [what, filters] of found) answers[what] = await names(db, filters);
  expect(answers).toEqual(Object.fromEntries(found.map(([what, , expected]) => [what, expected])));
});

test("the start of a time filter is inclusive, the end is exclusive", async ({ db }) => {
  const ids = await oneOfEach(db);
  const times = await db.query<{ payload: string; created: string; finished: string | null }>(
    "select payload, created_at::text as created, finished_at::text as finished from jobforge_jobs where tenant_id = $1",
    [T],
  );
  const of = (name: string) => times.find((row) => row.payload === name);
  expect(Object.keys(ids).sort()).toEqual(times.map((row) => row.payload).sort());
  expect(await names(db, { created_after: of("canceled")?.created })).toEqual([
    "queued",
    "running",
    "canceled",
  ]);
  expect(await names(db, { created_before: of("dead")?.created })).toEqual(["failed", "succeeded"]);
  expect(await names(db, { finished_after: of("failed")?.finished })).toEqual(["dead", "failed"]);
  expect(await names(db, { finished_before: of("failed")?.finished })).toEqual(["canceled", "succeeded"]);
  expect(await names(db, { finished_after: "-infinity" })).toEqual([
    "canceled",
    "dead",
    "failed",
    "succeeded",
  ]);
  expect(await names(db, { status: "queued", finished_after: "-infinity" })).toEqual([]);
  expect(
    await names(db, { created_after: of("queued")?.created, created_before: of("queued")?.created }),
  ).toEqual([]);
});

test("a page has 50 jobs by default and never more than 1000", async ({ db }) => {
  await enqueueMany(db, 1005);
  expect(await list(db)).toHaveLength(50);
  expect(await list(db, { limit: 1000 })).toHaveLength(1000);
  expect(await list(db, { limit: 5000 })).toHaveLength(1000);
  expect(await list(db, { limit: 5000, offset: 1000 })).toHaveLength(5);
});

test("pages by cursor show every job once, live and finished, while new jobs arrive", async ({ db }) => {
  await enqueueMany(db, 12, { type: "a" });
  for (const job of await claim(db, "w1", { limit: 5 })) await complete(db, job.id);
  await enqueueMany(db, 12, { type: "b" });
  for (const job of await claim(db, "w1", { limit: 5, types: ["b"] })) await complete(db, job.id);
  const expected = (await db.query<Job>("select id from jobforge_jobs order by id desc")).map(
    (job) => job.id,
  );
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: Job[] = await list(db, { limit: 5, cursor });
    seen.push(...page.map((job) => job.id));
    cursor = page.at(-1)?.id ?? null;
    await enqueue(db);
  } while (cursor !== null);
  expect(seen).toEqual(expected);
});

const refused: readonly (readonly [string, unknown])[] = [
  ["filters", []],
  ["filters", "queued"],
  ["filters", 1],
  ["nope", { nope: 1 }],
  ["Status", { Status: "queued" }],
  ["tenant_id", { tenant_id: U }],
  ["status", { status: "done" }],
  ["status", { status: ["queued", "done"] }],
  ["status", { status: 1 }],
  ["status", { status: {} }],
  ["status", { status: ["queued", null] }],
  ["type", { type: 1 }],
  ["type", { type: [["a"]] }],
  ["tags", { tags: [1] }],
  ["created_after", { created_after: "yesterday evening" }],
  ["created_before", { created_before: 12 }],
  ["finished_after", { finished_after: {} }],
  ["finished_before", { finished_before: "" }],
  ["limit", { limit: 0 }],
  ["limit", { limit: -1 }],
  ["limit", { limit: 1.5 }],
  ["limit", { limit: "many" }],
  ["offset", { offset: -1 }],
  ["offset", { offset: "x" }],
  ["offset", { offset: 1e9 }],
  ["cursor", { cursor: "not a uuid" }],
  ["subject", { subject: ["s1", "s2"] }],
  ["error_contains", { error_contains: 5 }],
  ["error_group", { error_group: {} }],
  ["id_prefix", { id_prefix: 1234 }],
];

test("a wrong filter is refused by name and never ignored", async ({ db }) => {
  const answers: [string, string][] = [];
  for (const [field, filters] of refused) {
    const error = await expectError(list(db, filters), "JF002", field).catch((reason: Error) => reason);
    if (error instanceof Error) answers.push([JSON.stringify(filters), error.message]);
  }
  expect(answers).toEqual([]);
  const unknown = await expectError(list(db, { nope: 1 }), "JF002", "nope");
  expect(unknown.hint).toContain("error_contains");
  await expectError(list(db, {}, null), "JF001", "tenant_id");
});

test("values of a filter are data, whatever they contain", async ({ db }) => {
  await oneOfEach(db);
  const nasty = `x'); drop table jobforge.queue; -- "$1" \\ %s`;
  for (const key of ["type", "subject", "error_contains", "tags"]) {
    expect(await names(db, { [key]: nasty }), key).toEqual([]);
  }
  const { id } = await enqueue(db, { type: "a", subject: nasty, tags: [nasty] });
  expect((await list(db, { type: "a", subject: nasty, tags: nasty })).map((job) => job.id)).toEqual([id]);
});
