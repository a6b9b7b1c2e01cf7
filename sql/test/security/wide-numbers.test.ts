/**
 * A number such as 1e131071 takes 16 bytes in jsonb and 131 kB as text. No function of the API prints a caller's
 * document of many such numbers. Postgres raises 54000 when a text would have over 1 GB, so a function that prints the
 * documents of this file fails with that code.
 */
import type { TestConnection } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { callSamples } from "../../../test/samples.ts";
import { type ApiFunction, storedApi } from "../support/api.ts";
import { claim, enqueue, enqueueAll, expectError, find, T } from "../support/kernel.ts";

const { functions } = storedApi();
const byName = new Map(functions.map((each) => [each.name, each]));

/** Documents of 1.3 GB as text. The last has more levels than a document may have. */
const wide: readonly string[] = [
  `[${Array(10_000).fill("1e131071").join()}]`,
  `{"a": [${Array(10_000).fill("-1e131071").join()}]}`,
  `${"[".repeat(4500)}${Array(10_000).fill("1e131071").join()}${"]".repeat(4500)}`,
];

const place = "in this place";

/** The JSON texts that have `text` in the place of one value of a document, or of the whole document. */
function* withInEachPlace(document: unknown, text: string): Generator<string> {
  for (const changed of placesOf(document)) yield JSON.stringify(changed).replace(`"${place}"`, text);
}

function* placesOf(value: unknown): Generator<unknown> {
  yield place;
  if (Array.isArray(value))
    for (const [at, item] of value.entries())
      for (const changed of placesOf(item)) yield value.map((each, n) => (n === at ? changed : each));
  else if (typeof value === "object" && value !== null) {
    yield { ...value, another: place };
    for (const [key, item] of Object.entries(value))
      for (const changed of placesOf(item)) yield { ...value, [key]: changed };
  }
}

function failUnknown(name: string): never {
  throw new Error(`there is no function ${name}`);
}

/** Calls a function in a transaction. Arguments of the type jsonb are JSON texts. Returns the result as JSON. */
async function call(
  connection: TestConnection,
  { name, returns }: ApiFunction,
  args: Readonly<Record<string, unknown>>,
  end: "commit" | "rollback",
): Promise<unknown> {
  const named = Object.keys(args).map((each, index) => `${each} => $${index + 1}`);
  await connection.query("begin");
  try {
    const rows = await connection.query<{ x: unknown }>(
      `select to_json(x) as x from public.${name}(${named.join(", ")}) x`,
      Object.values(args),
    );
    await connection.query(end);
    const found = rows.map(({ x }) => x);
    return returns.rows ? found : returns.type === "text" ? JSON.parse(String(found[0])) : found[0];
  } catch (error) {
    await connection.query("rollback");
    throw error;
  }
}

/** Errors that say what is wrong with an argument. */
const refusals = ["JF001", "JF002", "JF008", "JF009"];

describe.each(wide.map((text) => [text.slice(0, 20), text] as const))("%s...", (_, text) => {
  test("is refused or ignored by every function, in every place of every document", async ({ db }) => {
    const { role, url } = await db.createLogin("jobforge_operator", "jobforge_worker");
    const connection = await db.connect(url);
    const tried = new Set<string>();
    const broken: string[] = [];
    await callSamples(async (name, args) => {
      const called = byName.get(name) ?? failUnknown(name);
      const documents = called.parameters.filter(({ type }) => type === "jsonb");
      const texts = Object.fromEntries(
        Object.entries(args).map(([key, value]) => [
          key,
          documents.some((each) => each.name === key) ? JSON.stringify(value) : value,
        ]),
      );
      for (const parameter of documents)
        for (const document of withInEachPlace(args[parameter.name] ?? {}, text)) {
          tried.add(`${name} ${parameter.name}`);
          try {
            const result = await call(
              connection,
              called,
              { ...texts, [parameter.name]: document },
              "rollback",
            );
            expect(JSON.stringify(result ?? null).length).toBeLessThan(1_000_000);
          } catch (error) {
            const { code } = error as { code?: string };
            if (!refusals.includes(code ?? ""))
              broken.push(`${name} ${parameter.name}: ${code} ${String(error).slice(0, 200)}`);
          }
        }
      return await call(connection, called, texts, "commit");
    }, role);
    expect(broken).toEqual([]);
    const expected = functions.flatMap(({ name, parameters }) =>
      parameters.filter(({ type }) => type === "jsonb").map((each) => `${name} ${each.name}`),
    );
    expect(expected.filter((each) => !tried.has(each))).toEqual([]);
  }, 180_000);
});

const filler = "x".repeat(4000);

test.for([
  ["1e400", "JF002"],
  ["-1e400", "JF002"],
  ["9e-401", "JF002"],
  ["-1e-16000", "JF002"],
  ["9e399", undefined],
  ["-9e399", undefined],
  ["1e-400", undefined],
  ["0", undefined],
  ["-0.0", undefined],
  ["1.7976931348623157e308", undefined],
  ["5e-324", undefined],
] as const)("%s in a payload over 4 kB: %s", async ([number, code], { db }) => {
  const call = enqueue(db, { raw_payload: `{"filler": "${filler}", "a": [1, {"b": ${number}}]}` });
  if (code === undefined) expect((await call).outcome).toBe("created");
  else expect((await expectError(call, code, "payload")).message).toContain("send such numbers as texts");
});

test("a small payload may have any number, and is bounded by its text", async ({ db }) => {
  expect((await enqueue(db, { raw_payload: '{"a": 1e131071}' })).outcome).toBe("created");
  await expectError(
    enqueue(db, { raw_payload: `[${Array(9).fill("1e131071").join()}]` }),
    "JF008",
    "payload",
  );
});

test("a payload that comes compressed from a table is measured uncompressed", async ({ db }) => {
  await db.query("create table documents (document jsonb)");
  await db.query("insert into documents values ($1)", [wide[0]]);
  expect(await db.value("select pg_column_size(document) < 4000 from documents")).toBe(true);
  await expectError(
    db.query("select jobforge_enqueue_job($1, 'a', document) from documents", [T]),
    "JF002",
    "payload",
  );
});

test("a document of more than 5 MiB in jsonb is too large, and one of 1 MiB as text is not", async ({
  db,
}) => {
  const ones = (count: number): string => `[${Array(count).fill("1").join()}]`;
  // As text 1 MiB, in jsonb four times as much, which is the largest factor there is.
  expect((await enqueue(db, { raw_payload: ones(349_525) })).outcome).toBe("created");
  await expectError(enqueue(db, { raw_payload: ones(440_000) }), "JF008", "payload");
});

test("a run whose result has such numbers fails, and the others of the call end", async ({ db }) => {
  const ids = [await enqueue(db), await enqueue(db), await enqueue(db)].map(({ id }) => id);
  await claim(db, "w1", { limit: 3 });
  const end = (id: string | undefined, more: string): string =>
    `{"id": "${id}", "attempt": 1, "status": "succeeded" ${more}}`;
  await db.query("select jobforge_settle_jobs('w1', $1)", [
    `[${end(ids[0], `, "result": ${wide[0]}`)}, ${end(ids[1], `, "retry_at": ${wide[0]}`)}, ${end(ids[2], "")}]`,
  ]);
  expect((await find(db, ids[0] ?? "")).error).toMatchObject({ name: "InvalidResult" });
  // What is not an end of a run changes no run.
  expect((await find(db, ids[1] ?? "")).status).toBe("running");
  expect((await find(db, ids[2] ?? "")).status).toBe("succeeded");
});

test("an error with such numbers in any place is stored, and the other run of the call ends", async ({
  db,
}) => {
  const one = { name: "E", message: "m", code: "c", stack: "s", omittedErrors: 1, fullMessage: "f" };
  const error = { ...one, errors: [one, "text"], cause: { ...one, errors: [one], cause: { ...one } } };
  const texts = [...withInEachPlace(error, wide[0] ?? "")];
  const jobs = Array.from({ length: texts.length + 1 }, () => ({}));
  const [other, ...ids] = await enqueueAll(db, jobs);
  await claim(db, "w1", { limit: jobs.length });
  const ends = texts.map(
    (text, n) => `{"id": "${ids[n]}", "attempt": 1, "status": "failed", "error": ${text}}`,
  );
  ends.push(`{"id": "${other}", "attempt": 1, "status": "succeeded"}`);
  await db.query("select jobforge_settle_jobs('w1', $1)", [`[${ends.join()}]`]);
  expect((await find(db, other ?? "")).status).toBe("succeeded");
  for (const id of ids) {
    const { error: stored, last_error } = await find(db, id);
    expect(stored).toMatchObject({ attemptedAt: expect.any(String) });
    expect(last_error).not.toBe("");
  }
});

test("a search of all tenants reads no filter before it has checked them all", async ({ db }) => {
  const filters = `{"tenant_id": ${wide[0]}}`;
  await expectError(db.query("select jobforge_search_jobs($1)", [filters]), "JF002", "filters");
});
