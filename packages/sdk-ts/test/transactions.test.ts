/** `forge.with(tx)`: jobs in the caller's own transaction, with the real libraries. */
import pg from "pg";
import { describe, expect, onTestFinished } from "vitest";
import { claim, complete, T, workerHeartbeat } from "../../../sql/test/support/kernel.ts";
import { listen } from "../../../sql/test/support/listen.ts";
import { test } from "../../../test/database.ts";
import { InvalidArgumentError, JobForge, NotCancelableError, type Transaction } from "../src/index.ts";
import { cleanUp, sendMail } from "./support/jobs.ts";
import { type Library, libraries, type OpenLibrary } from "./support/libraries.ts";

const mail = { to: "ada@example.com", subject: "hello" };
const unknown = "99999999-9999-4999-8999-999999999999";

describe.each(Object.entries(libraries))("in a transaction of %s", (_, open: OpenLibrary) => {
  async function prepare(db: { url: string; query(sql: string): Promise<unknown> }) {
    await db.query("create table orders (id int primary key)");
    const library: Library = await open(db.url);
    const forge = new JobForge({ database: db.url });
    onTestFinished(async () => {
      await forge.close();
      await library[Symbol.asyncDispose]();
    });
    return { library, forge };
  }
  const rows =
    "select (select count(*) from orders)::int as orders, (select count(*) from jobforge_jobs)::int as jobs";

  test("a job is committed with the caller's rows, and its handle works afterwards", async ({ db }) => {
    const { library, forge } = await prepare(db);
    const handle = await library.transact(async (tx, order) => {
      await order(1);
      const enqueued = await forge.with(tx).enqueue(sendMail, mail, { tenantId: T });
      expect(enqueued.outcome).toBe("created");
      expect(await db.query(rows)).toEqual([{ orders: 0, jobs: 0 }]);
      return enqueued;
    });
    expect(await db.query(rows)).toEqual([{ orders: 1, jobs: 1 }]);
    await claim(db);
    await complete(db, handle.id, { result: { messageId: "m" } });
    expect(await handle.result()).toEqual({ messageId: "m" });
  });

  test("a rolled back transaction leaves no job", async ({ db }) => {
    const { library, forge } = await prepare(db);
    const failing = library.transact(async (tx, order) => {
      await order(1);
      await forge.with(tx).enqueue(sendMail, mail, { tenantId: T, idempotencyKey: "k" });
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    expect(await db.query(rows)).toEqual([{ orders: 0, jobs: 0 }]);
    const again = await forge.enqueue(sendMail, mail, { tenantId: T, idempotencyKey: "k" });
    expect(again.outcome).toBe("created");
  });

  test("an enqueue that is not awaited ends with the transaction", async ({ db }) => {
    const { library, forge } = await prepare(db);
    const pending: Promise<unknown>[] = [];
    const failing = library.transact(async (tx) => {
      pending.push(forge.with(tx).enqueue(sendMail, mail, { tenantId: T }));
      pending.push(forge.with(tx).enqueueMany([{ job: sendMail, input: mail }], { tenantId: T }));
      throw new Error("changed my mind");
    });
    await expect(failing).rejects.toThrow("changed my mind");
    await Promise.allSettled(pending);
    expect(await db.query(rows)).toEqual([{ orders: 0, jobs: 0 }]);
  });

  test("texts, JSON and arrays pass unchanged", async ({ db }) => {
    const { library, forge } = await prepare(db);
    const awkward = `it's "quoted" \\ back\\\\slash $1 $2 ? ?? :name {a,b} %s -- /* ü 𝄞 \n\t ' \u0001`;
    const input = { [awkward]: [awkward, null, 1.5, true, { deep: [[]] }] };
    const tags = [awkward, "NULL", "{}", '"', "\\", "a,b"];
    const subject = `?$1:${awkward}`;
    const { id } = await library.transact((tx) =>
      forge.with(tx).enqueue(cleanUp, input, { tenantId: T, tags, subject, dedupeKey: awkward }),
    );
    expect(await forge.get(id, { tenantId: T })).toMatchObject({
      payload: input,
      tags,
      subject,
      dedupeKey: awkward,
    });
  });

  test("every kind of call is possible, also several at once", async ({ db }) => {
    const { library, forge } = await prepare(db);
    await library.transact(async (tx) => {
      const inside = forge.with(tx);
      const many = Array.from({ length: 50 }, () => ({ job: sendMail, input: mail }));
      const handles = await inside.enqueueMany(many, { tenantId: T });
      const [first, second] = await Promise.all([
        inside.get(handles[0]?.id ?? "", { tenantId: T, job: sendMail }),
        inside.cancel(handles[1]?.id ?? "", { tenantId: T }),
        inside.reschedule(handles[2]?.id ?? "", { tenantId: T, runAt: new Date("2099-01-01") }),
        inside.update(handles[3]?.id ?? "", { priority: 5, tags: ["a", "b"] }, { tenantId: T }),
      ]);
      expect(first?.payload).toEqual(mail);
      expect(second.status).toBe("canceled");
      let listed = 0;
      for await (const _ of inside.list({ tenantId: T, pageSize: 20 })) listed += 1;
      expect(listed).toBe(50);
      expect(await inside.attempts(handles[0]?.id ?? "", { tenantId: T })).toEqual([]);
    });
    expect(await db.value("select count(*)::int from jobforge_jobs where priority = 5")).toBe(1);
  });

  test("errors of the kernel are typed as everywhere", async ({ db }) => {
    const { library, forge } = await prepare(db);
    const refused = library.transact((tx) =>
      forge.with(tx).enqueue(cleanUp, {}, { tenantId: T, expiresAt: new Date("2020-01-01") }),
    );
    await expect(refused).rejects.toThrow(InvalidArgumentError);
    await expect(refused).rejects.toMatchObject({
      code: "JF002",
      field: "expiresAt",
      kind: "invalid_argument",
    });
    const missing = library.transact((tx) => forge.with(tx).cancel(unknown, { tenantId: T }));
    await expect(missing).rejects.toThrow(NotCancelableError);
    await expect(missing).rejects.toMatchObject({ message: "Job not found or cannot be canceled" });
  });

  test("the commit wakes an idle worker", async ({ db }) => {
    const { library, forge } = await prepare(db);
    await workerHeartbeat(db, "w1", { types: [sendMail.type], idle: true });
    const ear = await listen(db);
    await library.transact(async (tx) => {
      await forge.with(tx).enqueue(sendMail, mail, { tenantId: T });
      expect(await ear.heard()).toEqual([]);
    });
    expect(await ear.heard()).toEqual(["jobforge_wake: mail.send"]);
  });

  test("an object that is not a transaction is refused", async ({ db }) => {
    const { library, forge } = await prepare(db);
    for (const whole of [...library.wholes, null, undefined, "begin", {}])
      expect(() => forge.with(whole as Transaction)).toThrow(InvalidArgumentError);
  });
});

describe("a pg client", () => {
  const count = "select count(*)::int from jobforge_jobs";

  test("gets the call in the same tick, so that a forgotten await commits or rolls back with the rest", async ({
    db,
  }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const { client } = await db.connect();
    for (const [end, jobs] of [
      ["rollback", 0],
      ["commit", 3],
    ] as const) {
      await client.query("begin");
      const first = forge.with(client).enqueue(sendMail, mail, { tenantId: T });
      const second = forge.with(client).enqueueMany([mail, mail].map(asNew), { tenantId: T });
      await client.query(end);
      await Promise.all([first, second]);
      expect(await db.value(count)).toBe(jobs);
    }
  });

  test("without a transaction is refused, and its next transaction is not", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const { client } = await db.connect();
    const outside = (): Promise<unknown> => forge.with(client).enqueue(sendMail, mail, { tenantId: T });
    const refusal = { code: "25P01", field: "tx", hint: expect.stringContaining("Begin") };
    await expect(outside()).rejects.toMatchObject(refusal);
    await client.query("begin");
    await outside();
    await client.query("rollback");
    await expect(outside()).rejects.toMatchObject(refusal);
    // A transaction that begins before the call's turn comes counts.
    const [, enqueued] = await Promise.all([client.query("begin"), outside(), client.query("commit")]);
    expect(enqueued).toMatchObject({ outcome: "created" });
    expect(await db.value(count)).toBe(1);
  });

  test("that is not connected is refused, and does not wait for ever", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const client = new pg.Client({ connectionString: db.url });
    const enqueue = (): Promise<unknown> => forge.with(client).enqueue(sendMail, mail, { tenantId: T });
    await expect(enqueue()).rejects.toMatchObject({
      field: "tx",
      hint: expect.stringContaining("connect()"),
    });
    // A connection under way is awaited, as `pg` does.
    const [, , enqueued] = await Promise.all([
      client.connect(),
      client.query("begin"),
      enqueue(),
      client.query("commit"),
    ]);
    await client.end();
    expect(enqueued).toMatchObject({ outcome: "created" });
  });

  test("can be used without a transaction as the database of a JobForge", async ({ db }) => {
    const { client } = await db.connect();
    const forge = new JobForge({ database: client });
    await forge.enqueue(sendMail, mail, { tenantId: T });
    expect(await db.value(count)).toBe(1);
  });

  test("in a failed transaction gets the error of Postgres", async ({ db }) => {
    const forge = new JobForge({ database: db.url });
    onTestFinished(() => forge.close());
    const { client } = await db.connect();
    await client.query("begin");
    await expect(client.query("select 1 / 0")).rejects.toThrow("division by zero");
    await expect(forge.with(client).enqueue(sendMail, mail, { tenantId: T })).rejects.toMatchObject({
      code: "25P02",
    });
  });
});

function asNew(input: typeof mail): { job: typeof sendMail; input: typeof mail } {
  return { job: sendMail, input };
}

test("any other library can be adapted in one line", async ({ db }) => {
  const forge = new JobForge({ database: db.url });
  onTestFinished(() => forge.close());
  const statements: string[] = [];
  const { client } = await db.connect();
  const inside = forge.with({
    query: (text, values) => {
      statements.push(text);
      return client.query(text, values);
    },
  });
  await inside.enqueue(cleanUp, {}, { tenantId: T });
  expect(statements).toHaveLength(1);
});
