/** Single enqueues that are made at the same time are sent together, and each has its own outcome. */
import { describe, expect } from "vitest";
import { countJobs, T, U, workerHeartbeat } from "../../../sql/test/support/kernel.ts";
import { listen } from "../../../sql/test/support/listen.ts";
import {
  ConnectionError,
  ForbiddenError,
  InvalidArgumentError,
  JobForge,
  JobLimitExceededError,
  type Transport,
} from "../src/index.ts";
import { cleanUp } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

/** A client over another one's transport that records the names of its calls. */
function recorded(through: Transport): { readonly forge: JobForge; readonly sent: string[] } {
  const sent: string[] = [];
  const transport: Transport = {
    call: (name, args, options) => {
      sent.push(name);
      return through.call(name, args, options);
    },
    close: () => through.close(),
  };
  return { forge: new JobForge({ transport }), sent };
}

const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n);

describe.each(transports)("over %s", (name) => {
  test("calls of one turn are one statement, in the order of the calls", async ({ db, connect }) => {
    const { forge, sent } = recorded((await connect(name, { role: "jobforge_operator" })).transport);
    const handles = await Promise.all(numbers(50).map(() => forge.enqueue(cleanUp, {}, { tenantId: T })));
    expect(sent).toEqual(["jobforge_enqueue_each"]);
    const ids = handles.map(({ id }) => id);
    expect(await db.query("select id from jobforge.queue order by seq")).toEqual(ids.map((id) => ({ id })));
    expect(handles.map(({ outcome }) => outcome)).toEqual(numbers(50).map(() => "created"));
    expect(handles.map(({ job }) => job?.id)).toEqual(ids);
    expect(handles[0]?.job).toEqual(await handles[0]?.get());
  });

  test("each call keeps whom to tell about the end of its job", async ({ db, connect }) => {
    const { forge, sent } = recorded((await connect(name, { role: "jobforge_operator" })).transport);
    const urls = numbers(3).map((n) => `https://example.com/${n}`);
    const handles = await Promise.all(
      urls.map((url) => forge.enqueue(cleanUp, {}, { tenantId: T, notify: { url } })),
    );
    expect(sent).toEqual(["jobforge_enqueue_each"]);
    expect(
      await db.query("select job_id, target ->> 'url' as url from jobforge.job_notices order by 2"),
    ).toEqual(handles.map(({ id }, n) => ({ job_id: id, url: urls[n] })));
  });

  test("a call alone is sent as it is, at once", async ({ connect }) => {
    const { forge, sent } = recorded((await connect(name, { role: "jobforge_operator" })).transport);
    const handle = forge.enqueue(cleanUp, {}, { tenantId: T });
    await Promise.resolve();
    expect(sent).toEqual(["jobforge_enqueue_job"]);
    expect((await handle).job).toMatchObject({ status: "queued" });
    await forge.enqueue(cleanUp, {}, { tenantId: T });
    expect(sent).toEqual(["jobforge_enqueue_job", "jobforge_enqueue_job"]);
  });

  test("each caller gets its own error, and the others their jobs", async ({ db, connect }) => {
    await db.query("select jobforge_set_tenant($1, $2)", [U, { max_pending: 1 }]);
    const forge = await connect(name, { role: "jobforge_operator" });
    const calls = [
      forge.enqueue(cleanUp, {}, { tenantId: T, subject: "first" }),
      forge.enqueue(cleanUp, {}, { tenantId: U, subject: "second" }),
      forge.enqueue(cleanUp, {}, { tenantId: T, expiresAt: new Date(0) }),
      forge.enqueue(cleanUp, {}, { tenantId: U, subject: "no room" }),
      forge.enqueue(cleanUp, {}, { tenantId: T, subject: "third" }),
    ];
    const results = await Promise.allSettled(calls);
    expect(results.map(({ status }) => status)).toEqual([
      "fulfilled",
      "fulfilled",
      "rejected",
      "rejected",
      "fulfilled",
    ]);
    await expect(calls[2]).rejects.toThrow(InvalidArgumentError);
    await expect(calls[2]).rejects.toMatchObject({ field: "expiresAt" });
    await expect(calls[3]).rejects.toThrow(JobLimitExceededError);
    expect(await countJobs(db)).toBe(3);
  });
});

test("calls of several tenants are one statement, for a login that names its tenants", async ({
  db,
  connect,
}) => {
  const { forge, sent } = recorded((await connect("Postgres", { role: "jobforge_app" })).transport);
  const handles = await Promise.all(
    numbers(9).map((n) => forge.enqueue(cleanUp, {}, { tenantId: n % 3 === 0 ? U : T })),
  );
  expect(sent).toEqual(["jobforge_enqueue_each"]);
  const rows = await db.query<{ id: string; tenant_id: string }>(
    "select id, tenant_id from jobforge.queue order by seq",
  );
  for (const tenant of [T, U])
    expect(rows.filter((row) => row.tenant_id === tenant).map(({ id }) => id)).toEqual(
      handles.filter((handle) => handle.tenantId === tenant).map(({ id }) => id),
    );
});

test("a tenant's login is refused for another tenant only", async ({ db, connect }) => {
  const forge = await connect("the server", { role: "jobforge_app", tenantId: T });
  const own = forge.enqueue(cleanUp, {}, { tenantId: T });
  const foreign = forge.enqueue(cleanUp, {}, { tenantId: U });
  await expect(foreign).rejects.toThrow(ForbiddenError);
  await own;
  expect(await countJobs(db)).toBe(1);
});

test("a call that waits for its key delays no other", async ({ db, connect }) => {
  const forge = await connect("Postgres", { role: "jobforge_operator" });
  const holder = await db.connect();
  await holder.query("begin");
  await holder.query("select jobforge_enqueue_job($1, $2, p_idempotency_key => 'k')", [T, cleanUp.type]);
  const waits = numbers(3).map(() => forge.enqueue(cleanUp, {}, { tenantId: T, idempotencyKey: "k" }));
  await Promise.all(numbers(20).map(() => forge.enqueue(cleanUp, {}, { tenantId: T })));
  await forge.enqueue(cleanUp, {}, { tenantId: U });
  await holder.query("commit");
  const found = await Promise.all(waits);
  expect(found.map(({ outcome }) => outcome)).toEqual(["existing", "existing", "existing"]);
  expect(new Set(found.map(({ id }) => id)).size).toBe(1);
  expect(await countJobs(db)).toBe(22);
});

test("a connection that is lost rejects every call of the statement, and none is sent twice", async ({
  connect,
}) => {
  const { transport: through } = await connect("Postgres", { role: "jobforge_operator" });
  const sent: string[] = [];
  const forge = new JobForge({
    transport: {
      call: async (name) => {
        sent.push(name);
        throw new ConnectionError("connection reset");
      },
      close: () => through.close(),
    },
  });
  const results = await Promise.allSettled(numbers(5).map(() => forge.enqueue(cleanUp, {}, { tenantId: T })));
  expect(results.map(({ status }) => status)).toEqual(Array(5).fill("rejected"));
  expect(sent).toEqual(["jobforge_enqueue_each"]);
});

test("calls that come while two statements are under way are sent together", async ({ connect }) => {
  const { transport: through } = await connect("Postgres", { role: "jobforge_operator" });
  const { forge, sent } = recorded(through);
  const calls: Promise<unknown>[] = [];
  for (const _ of numbers(30)) {
    calls.push(forge.enqueue(cleanUp, {}, { tenantId: T }));
    await Promise.resolve();
  }
  await Promise.all(calls);
  expect(sent.slice(0, 2)).toEqual(["jobforge_enqueue_job", "jobforge_enqueue_job"]);
  expect(sent).toContain("jobforge_enqueue_each");
  expect(sent.length).toBeLessThan(30);
});

test("one notification wakes for all jobs of a statement", async ({ db, connect }) => {
  const forge = await connect("Postgres", { role: "jobforge_operator" });
  await workerHeartbeat(db, "w1", { types: [cleanUp.type], idle: true });
  const ear = await listen(db);
  await Promise.all(numbers(50).map(() => forge.enqueue(cleanUp, {}, { tenantId: T })));
  expect(await ear.heard()).toEqual([`jobforge_wake: ${cleanUp.type}`]);
});

test("gather: false sends every call by itself", async ({ db }) => {
  const { url } = await db.createLogin("jobforge_operator");
  await using plain = new JobForge({ database: url, gather: false });
  const { sent, forge } = recorded(plain.transport);
  await Promise.all(numbers(3).map(() => plain.enqueue(cleanUp, {}, { tenantId: T })));
  expect(sent).toEqual([]);
  expect(await countJobs(db)).toBe(3);
  await forge.enqueue(cleanUp, {}, { tenantId: T });
  // @ts-expect-error: plain JavaScript may pass anything.
  expect(() => new JobForge({ database: url, gather: "no" })).toThrow(/gather must be true or false/);
});

test("calls on a client or in a transaction of the application are never gathered", async ({
  db,
  connect,
}) => {
  const forge = await connect("Postgres", { role: "jobforge_operator" });
  const { client } = await db.connect();
  const statements: string[] = [];
  const spied = {
    query: (text: string, values: unknown[]) => {
      // The wake-up that follows the calls may be sent before the last of them has returned.
      if (!text.includes("jobforge_wake_workers"))
        statements.push(/jobforge_enqueue_\w+/.exec(text)?.[0] ?? text);
      return client.query(text, values);
    },
  };
  const own = new JobForge({ database: spied as never });
  await Promise.all(numbers(3).map(() => own.enqueue(cleanUp, {}, { tenantId: T })));
  expect(statements).toEqual(Array(3).fill("jobforge_enqueue_job"));
  await client.query("begin");
  const inside = forge.with(client);
  const calls = numbers(3).map(() => inside.enqueue(cleanUp, {}, { tenantId: T }));
  await client.query("rollback");
  await Promise.all(calls);
  expect(await countJobs(db)).toBe(3);
});

test("close waits for the calls that were made before", async ({ db }) => {
  const { url } = await db.createLogin("jobforge_operator");
  const forge = new JobForge({ database: url });
  const calls = numbers(20).map(() => forge.enqueue(cleanUp, {}, { tenantId: T }));
  await forge.close();
  await Promise.all(calls);
  expect(await countJobs(db)).toBe(20);
});
