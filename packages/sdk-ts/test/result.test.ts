/** Waiting for results, with the same behaviour over Postgres (by NOTIFY) and over HTTP (by polling). */
import { describe, expect, expectTypeOf, test as plain } from "vitest";
import { claim, complete, fail, setPolicy, started, T } from "../../../sql/test/support/kernel.ts";
import {
  ConnectionError,
  InvalidValueError,
  JobCanceledError,
  JobFailedError,
  JobForge,
  JobNotFoundError,
  WaitTimeoutError,
} from "../src/index.ts";
import { DoneSignals } from "../src/jobs/wait.ts";
import { cleanUp, countWords, sendMail } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

const mail = { to: "ada@example.com", subject: "hello" };
const app = { role: "jobforge_app", tenantId: T } as const;

describe("a wait", () => {
  const unreachable = new ConnectionError("connect ECONNREFUSED");

  /** A client whose calls return these replies, one after the other. The last one is repeated. */
  function respondingWith(...replies: (object | Error)[]): JobForge {
    const call = async <A>(): Promise<A> => {
      const reply = replies.length > 1 ? replies.shift() : replies[0];
      if (reply instanceof Error) throw reply;
      return reply as A;
    };
    return new JobForge({ transport: { call, close: async () => undefined } });
  }

  plain.for([Number.POSITIVE_INFINITY, 2 ** 31, 2 ** 40])(
    "with a timeout of %d ms does not end at once",
    async (timeoutMs) => {
      const running = { status: "running", result: null };
      const forge = respondingWith(running, running, running, { status: "succeeded", result: 7 });
      expect(await forge.result(T, { tenantId: T, timeoutMs })).toBe(7);
    },
  );

  plain("tolerates an outage at its beginning", async () => {
    const forge = respondingWith(unreachable, unreachable, unreachable, { status: "succeeded", result: 7 });
    expect(await forge.result(T, { tenantId: T })).toBe(7);
    const refused = respondingWith(new ConnectionError("password", { retryable: false }), {
      status: "succeeded",
    });
    await expect(refused.result(T, { tenantId: T })).rejects.toThrow("password");
  });

  plain("ends in time during an outage", async () => {
    const wait = respondingWith(unreachable).result(T, { tenantId: T, timeoutMs: 20 });
    await expect(wait).rejects.toThrow(WaitTimeoutError);
  });
});

test("a call accepts every timeout, however long", async ({ db }) => {
  for (const timeoutMs of [Number.POSITIVE_INFINITY, 2 ** 31]) {
    await using forge = new JobForge({ database: db.url, timeoutMs });
    expect(await forge.gates.list()).toEqual([]);
    expect(await forge.within({ timeoutMs }).gates.list()).toEqual([]);
  }
});

describe.each(transports)("over %s", (transport) => {
  test("a wait returns the result, with the type of the definition", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(sendMail, mail, { tenantId: T });
    const result = handle.result();
    expectTypeOf(result).resolves.toEqualTypeOf<{ messageId: string }>();
    await claim(db);
    await complete(db, handle.id, { result: { messageId: "m-1" } });
    expect(await result).toEqual({ messageId: "m-1" });
    expect(await handle.result()).toEqual({ messageId: "m-1" });
  });

  test("the definition's schema turns what the handler returned into the output", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(countWords, { text: "a b" }, { tenantId: T });
    await claim(db);
    await complete(db, handle.id, { result: { words: 2 } });
    const words: number = await handle.result();
    expect(words).toBe(2);
    const wrong = await forge.enqueue(countWords, { text: "c" }, { tenantId: T });
    await claim(db);
    await complete(db, wrong.id, { result: { words: "two" } });
    await expect(wrong.result()).rejects.toThrow(InvalidValueError);
    await expect(wrong.result()).rejects.toMatchObject({ field: "output.words" });
  });

  test("the result of a job without a result is undefined", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(cleanUp, {}, { tenantId: T });
    await claim(db);
    await complete(db, handle.id);
    expect(await handle.result()).toBeUndefined();
  });

  test("a failed, dead, canceled or unknown job is an error of its own", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const failed = await forge.enqueue(cleanUp, {}, { tenantId: T });
    await claim(db);
    await fail(db, failed.id, { retry: false, error: { message: "no such disk", disk: 3 } });
    const failure = await failed.result().catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(JobFailedError);
    expect(failure).toMatchObject({
      job: { status: "failed" },
      failure: { message: "no such disk", disk: 3 },
    });

    const dead = await forge.enqueue(cleanUp, {}, { tenantId: T, maxAttempts: 1 });
    await claim(db);
    await fail(db, dead.id);
    await expect(dead.result()).rejects.toMatchObject({ name: "JobFailedError", job: { status: "dead" } });

    const canceled = await forge.enqueue(cleanUp, {}, { tenantId: T });
    await canceled.cancel();
    await expect(canceled.result()).rejects.toThrow(JobCanceledError);

    const unknown = forge.handle("99999999-9999-4999-8999-999999999999", { tenantId: T });
    await expect(unknown.result()).rejects.toThrow(JobNotFoundError);
    await expect(unknown.result()).rejects.toMatchObject({
      hint: expect.stringContaining("after its commit"),
    });
  });

  test("a wait continues through a retry", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(sendMail, mail, { tenantId: T });
    const result = started(handle.result());
    await claim(db);
    await fail(db, handle.id, { retry_at: new Date(0) });
    await claim(db);
    await complete(db, handle.id, { result: { messageId: "second" } });
    expect(await result).toEqual({ messageId: "second" });
  });

  test("waiting ends when its time is over or its signal is aborted, and the job goes on", async ({
    connect,
  }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(cleanUp, {}, { tenantId: T });
    await expect(handle.result({ timeoutMs: 20 })).rejects.toThrow(WaitTimeoutError);
    await expect(handle.result(20 as never)).rejects.toThrow("options must be an object, not a number");
    await expect(handle.result({ signal: AbortSignal.abort() })).rejects.toMatchObject({
      name: "AbortError",
    });
    const stop = new AbortController();
    const waiting = started(handle.result({ signal: stop.signal }));
    stop.abort(new Error("the visitor left"));
    await expect(waiting).rejects.toThrow("the visitor left");
    expect((await handle.get())?.status).toBe("queued");
  });

  test("a succeeded job of a type that keeps no history is gone", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    await setPolicy(db, cleanUp.type, { keep_history: false });
    const handle = await forge.enqueue(cleanUp, {}, { tenantId: T });
    const result = started(handle.result());
    await claim(db);
    await complete(db, handle.id);
    await expect(result).rejects.toThrow(JobNotFoundError);
  });
});

describe("over Postgres", () => {
  test("a notification ends the wait for a watched job", async ({ db, connect }) => {
    const forge = await connect("Postgres", app);
    const handle = await forge.enqueue(cleanUp, {}, { tenantId: T });
    const signals = new DoneSignals(forge.transport);
    let onDone = (): void => undefined;
    await signals.subscribe(handle.id, () => onDone());
    const done = new Promise<void>((resolve) => {
      onDone = resolve;
    });
    await forge.transport.call("jobforge_watch_job", { p_job_id: handle.id, p_tenant_id: T });
    await claim(db);
    await complete(db, handle.id);
    await done;
    await signals.close();
  });

  test("many waiters share one connection, and each gets its own result", async ({ db, connect }) => {
    const forge = await connect("Postgres", app);
    const handles = await forge.enqueueMany(
      Array.from({ length: 30 }, () => ({ job: sendMail, input: mail })),
      { tenantId: T },
    );
    const results = handles.map((handle) => handle.result());
    await untilWatched(db, 30);
    const listening =
      "select count(*)::int from pg_stat_activity where datname = current_database() and query ~ '^(un)?listen'";
    expect(await db.value(listening)).toBe(1);
    for (const { id } of await claim(db, "w1", { limit: 30 }))
      await complete(db, id, { result: { messageId: id } });
    expect(await Promise.all(results)).toEqual(handles.map(({ id }) => ({ messageId: id })));
  });

  async function untilWatched(db: { value<T>(sql: string): Promise<T> }, count: number): Promise<void> {
    while ((await db.value<number>("select count(*)::int from jobforge.watches")) < count);
  }

  test("a wait survives a lost connection", async ({ db, connect }) => {
    const forge = await connect("Postgres", app);
    const handle = await forge.enqueue(sendMail, mail, { tenantId: T });
    const result = started(handle.result());
    await untilWatched(db, 1);
    await db.query(
      "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = current_database() and application_name = 'jobforge'",
    );
    await claim(db);
    await complete(db, handle.id, { result: { messageId: "m" } });
    expect(await result).toEqual({ messageId: "m" });
  });
});
