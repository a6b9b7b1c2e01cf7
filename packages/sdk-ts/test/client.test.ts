/** Enqueueing and reading jobs, the same over Postgres and over HTTP. */
import { describe, expect } from "vitest";
import { claim, fail, find, T, U } from "../../../sql/test/support/kernel.ts";
import { defineJob, ForbiddenError, InvalidArgumentError, typed } from "../src/index.ts";
import { cleanUp, countWords, resize, sendMail } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

const mail = { to: "ada@example.com", subject: "hello" };

describe.each(transports)("over %s", (transport) => {
  const app = { role: "jobforge_app", tenantId: T } as const;

  test("a job is enqueued with the settings of its definition and of its caller", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const runAt = new Date("2099-01-01T00:00:00.000Z");
    const expiresAt = new Date("2099-01-02T00:00:00.000Z");
    const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    const handle = await forge.enqueue(sendMail, mail, {
      tenantId: T,
      idempotencyKey: "k1",
      dedupeKey: "d1",
      runAt,
      expiresAt,
      maxAttempts: 7,
      priority: 5,
      tags: ["vip", "mail", 'with "quotes", and {braces}'],
      concurrencyKey: "c1",
      traceparent,
    });
    expect(handle.outcome).toBe("created");
    expect(handle.tenantId).toBe(T);
    expect(handle.job).toMatchObject({
      id: handle.id,
      tenantId: T,
      type: "mail.send",
      payload: mail,
      status: "queued",
      priority: 5,
      attempts: 0,
      maxAttempts: 7,
      runAt,
      expiresAt,
      idempotencyKey: "k1",
      dedupeKey: "d1",
      concurrencyKey: "c1",
      subject: "to:ada@example.com",
      tags: ["mail", "vip", 'with "quotes", and {braces}'],
      traceparent,
    });
    expect(await find(db, handle.id)).toMatchObject({ payload: mail, priority: 5 });
  });

  test("the input is stored as it was passed, not as the schema transforms it", async ({ connect }) => {
    const forge = await connect(transport, app);
    const at = "2030-05-05T10:00:00.000Z";
    const { job } = await forge.enqueue(sendMail, { ...mail, at: new Date(at) }, { tenantId: T });
    expect(job?.payload).toEqual({ ...mail, at });
  });

  test("an enqueue with a used idempotency key returns the job that has it", async ({ connect }) => {
    const forge = await connect(transport, app);
    const options = { tenantId: T, idempotencyKey: "once" };
    const first = await forge.enqueue(sendMail, mail, options);
    const second = await forge.enqueue(sendMail, { ...mail, subject: "other" }, options);
    expect([first.outcome, second.outcome]).toEqual(["created", "existing"]);
    expect(second.id).toBe(first.id);
    expect(second.job?.payload).toEqual(mail);
  });

  test("a definition's dedupe key and priority apply to its jobs, and a caller can override them", async ({
    connect,
  }) => {
    const forge = await connect(transport, app);
    const first = await forge.enqueue(countWords, { text: "a b" }, { tenantId: T });
    const again = await forge.enqueue(
      countWords,
      { text: "a b" },
      { tenantId: T, dedupeMode: "replace", priority: 9 },
    );
    const own = await forge.enqueue(countWords, { text: "a b" }, { tenantId: T, dedupeKey: "mine" });
    expect([first, again, own].map(({ outcome }) => outcome)).toEqual(["created", "replaced", "created"]);
    expect([first, again, own].map(({ job }) => job?.priority)).toEqual([3, 9, 3]);
    expect(again.id).toBe(first.id);
  });

  test("a definition's dedupe mode applies to its jobs that have a key, and a caller can override it", async ({
    connect,
  }) => {
    const forge = await connect(transport, app);
    const latest = defineJob({
      type: "latest",
      input: typed<{ key?: string }>(),
      dedupe: ({ key }) => key,
      dedupeMode: "replace",
    });
    const outcomes: string[] = [];
    for (const options of [{}, {}, { dedupeMode: "skip" as const }])
      outcomes.push((await forge.enqueue(latest, { key: "k" }, { tenantId: T, ...options })).outcome);
    const [bulk] = await forge.enqueueMany([{ job: latest, input: { key: "k" } }], { tenantId: T });
    const keyless = await forge.enqueue(latest, {}, { tenantId: T });
    expect([...outcomes, bulk?.outcome, keyless.outcome]).toEqual([
      "created",
      "replaced",
      "existing",
      "replaced",
      "created",
    ]);
    expect(() => defineJob({ type: "a", dedupeMode: "often" as "skip" })).toThrow(InvalidArgumentError);
  });

  test("enqueueMany returns the outcomes of many jobs in order", async ({ connect }) => {
    const forge = await connect(transport, app);
    const [existing] = await forge.enqueueMany([{ job: sendMail, input: mail, idempotencyKey: "1" }], {
      tenantId: T,
    });
    const handles = await forge.enqueueMany(
      [
        { job: sendMail, input: mail, idempotencyKey: "0" },
        { job: sendMail, input: mail, idempotencyKey: "1" },
        { job: countWords, input: { text: "x" } },
        { job: countWords, input: { text: "x" }, dedupeMode: "replace", priority: 8 },
        { job: cleanUp, input: {}, tags: ["a"] },
      ],
      { tenantId: T, tags: ["shared"] },
    );
    expect(handles.map(({ outcome }) => outcome)).toEqual([
      "created",
      "existing",
      "created",
      "replaced",
      "created",
    ]);
    expect(handles[1].id).toBe(existing.id);
    expect(handles[3].id).toBe(handles[2].id);
    expect((await handles[0].get())?.tags).toEqual(["mail", "shared"]);
    expect((await handles[4].get())?.tags).toEqual(["a"]);
  });

  test("enqueueMany makes no call for no jobs", async ({ connect }) => {
    const forge = await connect(transport, app);
    expect(await forge.enqueueMany([])).toEqual([]);
  });

  test("ten thousand jobs in several calls keep their order", async ({ db, connect }) => {
    const forge = await connect(transport, { role: "jobforge_operator" });
    const jobs = Array.from({ length: 10_400 }, (_, width) => ({
      job: resize,
      input: { width },
      tenantId: width % 4 === 0 ? U : T,
    }));
    const handles = await forge.enqueueMany(jobs);
    const widths = await db.value<number[]>(
      `select array_agg((j.payload ->> 'width')::int order by h.place)
       from unnest($1::uuid[]) with ordinality h(id, place) join jobforge_jobs j on j.id = h.id`,
      [handles.map(({ id }) => id)],
    );
    expect(widths).toEqual(jobs.map(({ input }) => input.width));
    expect(handles[8]?.tenantId).toBe(U);
    expect(await db.value("select count(*)::int from jobforge_jobs where tenant_id = $1", [U])).toBe(2600);
  });

  test("large jobs are split by size, and an error that only the kernel finds names the job", async ({
    db,
    connect,
  }) => {
    const forge = await connect(transport, app);
    const text = "x".repeat(450_000);
    const jobs = Array.from({ length: 20 }, (_, n) => ({
      job: cleanUp,
      input: { n, text },
      expiresAt: new Date(n === 19 ? "2020-01-01" : "2099-01-01"),
    }));
    await expect(forge.enqueueMany(jobs, { tenantId: T })).rejects.toMatchObject({
      name: "InvalidArgumentError",
      field: "jobs[19].expiresAt",
      message: expect.stringContaining("job 19"),
    });
    // 7 MiB are one call. Without transactions, the first call is committed; with them, it is all or none.
    const kept = await db.value("select count(*)::int from jobforge_jobs");
    expect(kept).toBe(transport === "Postgres" ? 0 : 16);
  });

  test("get returns a job with the types of its definition", async ({ connect }) => {
    const forge = await connect(transport, app);
    const { id } = await forge.enqueue(sendMail, mail, { tenantId: T });
    const job = await forge.get(id, { tenantId: T, job: sendMail });
    expect(job?.payload.to).toBe("ada@example.com");
    expect(job?.createdAt).toBeInstanceOf(Date);
    expect(job?.lockedBy).toBeUndefined();
    expect(await forge.get("99999999-9999-4999-8999-999999999999", { tenantId: T })).toBeUndefined();
    await expect(forge.get(id, { tenantId: T, job: countWords })).rejects.toThrow(InvalidArgumentError);
  });

  test("a list is read as a stream over all pages, or page by page", async ({ connect }) => {
    const forge = await connect(transport, app);
    const operator = await connect(transport, { role: "jobforge_operator" });
    const handles = await forge.enqueueMany(
      Array.from({ length: 7 }, (_, n) => ({ job: n < 5 ? sendMail : cleanUp, input: mail })),
      { tenantId: T },
    );
    await operator.enqueue(cleanUp, {}, { tenantId: U });
    const newestFirst = handles.map(({ id }) => id).reverse();
    const listed: string[] = [];
    for await (const { id } of forge.list({ tenantId: T, pageSize: 3 })) listed.push(id);
    expect(listed).toEqual(newestFirst);

    const list = forge.list({ tenantId: T, job: sendMail, pageSize: 3 });
    const first = await list.page();
    const second = await list.page(first.cursor);
    expect([...first.items, ...second.items].map(({ id }) => id)).toEqual(newestFirst.slice(2));
    expect(second.cursor).toBeUndefined();
    expect((await forge.list({ tenantId: T, job: [sendMail, cleanUp] }).page()).items).toHaveLength(7);

    const everywhere: string[] = [];
    for await (const { tenantId } of operator.jobs.search({ job: cleanUp })) everywhere.push(tenantId);
    expect(everywhere).toEqual([U, T, T]);
    expect((await operator.jobs.search({ tenantId: U }).page()).items).toHaveLength(1);
  });

  test("a list goes on after a page that was cut because of its bytes", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const made = await db.query<{ id: string }>(
      `select jobforge_enqueue_job($1, 'a', to_jsonb(repeat('a', 1048000))) ->> 'id' as id
       from generate_series(1, 11)`,
      [T],
    );
    const newestFirst = made.map(({ id }) => id).reverse();
    const listed: string[] = [];
    for await (const { id } of forge.list({ tenantId: T })) listed.push(id);
    expect(listed).toEqual(newestFirst);
    const list = forge.list({ tenantId: T });
    const first = await list.page();
    expect(first.items).toHaveLength(8);
    expect(await list.page(first.cursor)).toMatchObject({ items: { length: 3 }, cursor: undefined });
  });

  test("the attempts of a job are all read, however many", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const { id } = await forge.enqueue(cleanUp, {}, { tenantId: T });
    await db.query(
      `insert into jobforge.attempts (job_id, attempt_no, tenant_id, status, worker_id, started_at, finished_at)
       select $1, n, $2, 'deferred', 'w', now(), now() from generate_series(1, 401) n`,
      [id, T],
    );
    const attempts = await forge.attempts(id, { tenantId: T });
    expect(attempts.map(({ attemptNo }) => attemptNo)).toEqual(Array.from({ length: 401 }, (_, n) => n + 1));
  });

  test("every filter narrows a list", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const [dead, queued] = await forge.enqueueMany(
      [
        { job: cleanUp, input: {}, tags: ["x", "y"], subject: "s", priority: 1 },
        { job: resize, input: { width: 1 } },
      ],
      { tenantId: T },
    );
    await claim(db, "w1", { limit: 1 });
    await fail(db, dead.id, { retry: false, error: { message: "Disk FULL" } });
    const soon = new Date(Date.now() + 3_600_000);
    const past = new Date(Date.now() - 3_600_000);
    const ids = async (filters: object): Promise<string[]> =>
      (await forge.list({ tenantId: T, ...filters }).page()).items.map(({ id }) => id);
    expect(await ids({ status: "failed" })).toEqual([dead.id]);
    expect(await ids({ status: ["queued", "running"] })).toEqual([queued.id]);
    expect(await ids({ type: "image.resize" })).toEqual([queued.id]);
    expect(await ids({ tags: ["y", "x"] })).toEqual([dead.id]);
    expect(await ids({ tags: "x" })).toEqual([dead.id]);
    expect(await ids({ subject: "s" })).toEqual([dead.id]);
    expect(await ids({ errorContains: "disk full" })).toEqual([dead.id]);
    expect(await ids({ createdAfter: soon })).toEqual([]);
    expect(await ids({ createdBefore: soon, createdAfter: past })).toEqual([queued.id, dead.id]);
    expect(await ids({ finishedAfter: past, finishedBefore: soon })).toEqual([dead.id]);
  });

  test("a tenant cannot reach jobs of other tenants", async ({ connect }) => {
    const operator = await connect(transport, { role: "jobforge_operator" });
    const { id } = await operator.enqueue(cleanUp, {}, { tenantId: U });
    const forge = await connect(transport, transport === "Postgres" ? { role: "jobforge_tenant" } : app);
    for (const call of [
      () => forge.enqueue(cleanUp, {}, { tenantId: U }),
      () => forge.get(id, { tenantId: U }),
      () => forge.cancel(id, { tenantId: U }),
      () => forge.list({ tenantId: U }).page(),
      () => forge.jobs.search().page(),
      () => forge.attempts(id, { tenantId: U }),
    ])
      await expect(call()).rejects.toThrow(ForbiddenError);
  });
});
