/** Which contents of the artifact store can be deleted: those of forgotten jobs, and payloads without a job. */
import type { TestConnection, TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../../test/database.ts";
import { maintainAll } from "../support/archive.ts";
import { claim, complete, enqueue, setPolicy, T, U, unknownId } from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

type Sql = Pick<TestConnection, "query" | "value" | "travel">;

interface Folder {
  readonly area: string;
  readonly tenant_id: string;
  readonly id: string;
}

async function note(db: Sql, area: string, job: string | null = null, tenant = T): Promise<Folder> {
  return await db.value("select jobforge_note_artifact($1, $2, $3)", [tenant, area, job]);
}

async function take(db: Sql, limit = 100): Promise<{ looked: number; gone: Folder[] }> {
  return await db.value("select jobforge_take_artifacts($1)", [limit]);
}

async function forget(db: Sql, gone: readonly Folder[]): Promise<number> {
  const reply = await db.value<{ forgotten: number }>("select jobforge_forget_artifacts($1)", [
    JSON.stringify(gone),
  ]);
  return reply.forgotten;
}

function reference({ tenant_id, id }: Folder): object {
  return { $artifact: `artifact:payloads/${tenant_id}/${id}/payload.json`, bytes: 3, sha256: "x" };
}

interface Outcome {
  readonly id: string;
  readonly outcome: string;
}

async function enqueueAll(db: Sql, jobs: readonly object[]): Promise<Outcome[]> {
  return await db.value("select jobforge_enqueue_jobs($1, $2)", [T, JSON.stringify(jobs)]);
}

async function finished(db: TestDatabase, type = "report"): Promise<string> {
  const { id } = await enqueue(db, { type });
  await claim(db, "w", { types: [type] });
  await complete(db, id, { worker: "w" });
  return id;
}

describe("contents of a job", () => {
  test("stay as long as the job is remembered, and are handed out until they are deleted", async ({ db }) => {
    const id = await finished(db);
    const folder = await note(db, "reports", id);
    expect(folder).toEqual({ area: "reports", tenant_id: T, id });
    for (const later of ["2 hours", "3 days", "20 days"]) {
      await db.travel(later);
      expect(await take(db)).toEqual({ looked: 1, gone: [] });
      expect(await take(db)).toEqual({ looked: 0, gone: [] });
    }
    expect(await forget(db, [folder]), "of a remembered job").toBe(0);
    await db.travel("60 days");
    await maintainAll(db);
    expect(await take(db)).toEqual({ looked: 1, gone: [folder] });
    expect(await take(db), "another deletes them").toEqual({ looked: 0, gone: [] });
    await db.travel("61 days");
    expect(await take(db), "it crashed").toEqual({ looked: 1, gone: [folder] });
    expect(await forget(db, [folder])).toBe(1);
    await db.travel("100 days");
    expect(await take(db)).toEqual({ looked: 0, gone: [] });
  });

  test("can be deleted as soon as the job is purged", async ({ db }) => {
    const id = await finished(db);
    const folder = await note(db, "reports", id);
    await db.query('select jobforge_purge_jobs($1, \'{"type": "report"}\')', [T]);
    expect(await take(db)).toEqual({ looked: 1, gone: [folder] });
  });

  test("of a type without history can be deleted some hours after its end", async ({ db }) => {
    await setPolicy(db, "brief", { keep_history: false });
    const { id } = await enqueue(db, { type: "brief" });
    await claim(db, "w", { types: ["brief"] });
    const folder = await note(db, "results", id);
    await complete(db, id, { worker: "w" });
    await db.travel("2 hours");
    expect(await take(db)).toEqual({ looked: 1, gone: [folder] });
  });

  test("have one row, however often they are noted", async ({ db }) => {
    const id = await finished(db);
    await note(db, "results", id);
    await note(db, "results", id);
    await note(db, "reports", id);
    expect(await db.value("select count(*)::int from jobforge.artifacts")).toBe(2);
  });
});

describe("a payload that is stored before its job", () => {
  test("is kept as long as the job that refers to it", async ({ db }) => {
    const folder = await note(db, "payloads");
    const [made] = await enqueueAll(db, [{ type: "t", payload: reference(folder) }]);
    expect(await db.value("select job_id from jobforge.artifacts")).toBe(made?.id);
    await db.travel("5 days");
    expect(await take(db)).toEqual({ looked: 1, gone: [] });
    await db.query("select jobforge_cancel_job($1, $2)", [made?.id, T]);
    await db.travel("60 days");
    await maintainAll(db);
    expect(await take(db)).toEqual({ looked: 1, gone: [folder] });
  });

  const bind: Record<string, (db: Sql, payload: object) => Promise<unknown>> = {
    "a single enqueue": (db, payload) => enqueue(db, { payload }),
    "an enqueue that replaces the payload of a job": async (db, payload) => {
      await enqueue(db, { dedupe_key: "k" });
      return await enqueue(db, { dedupe_key: "k", dedupe_mode: "replace", payload });
    },
    "an update of a queued job": async (db, payload) => {
      const { id } = await enqueue(db);
      await db.query("select jobforge_update_job($1, $2, $3)", [id, T, { payload }]);
    },
    "a job that runs again with it": async (db, payload) => {
      const { id } = await enqueue(db);
      await db.query("select jobforge_reschedule_job($1, $2, p_payload => $3)", [id, T, payload]);
    },
    "a copy of a job with it": async (db, payload) => {
      const { id } = await enqueue(db, { in: "1 hour" });
      await db.query("select jobforge_copy_job($1, $2, $3)", [id, T, { payload }]);
    },
  };
  test.for(Object.entries(bind))("is kept by %s", async ([, call], { db }) => {
    const folder = await note(db, "payloads");
    await call(db, reference(folder));
    expect(
      await db.query(
        "select a.job_id is not null as bound from jobforge.artifacts a join jobforge.queue q on q.id = a.job_id where q.payload ? '$artifact'",
      ),
    ).toEqual([{ bound: true }]);
    const missing = { ...folder, id: unknownId };
    await expect(call(db, reference(missing))).rejects.toMatchObject({
      code: "JF002",
      message: "Invalid argument: the stored payload does not exist",
    });
  });

  test("is left to the single call by one for several callers", async ({ db }) => {
    const folder = await note(db, "payloads");
    const jobs = [{ type: "t", payload: reference(folder) }, { type: "t" }];
    expect(
      await db.value("select jobforge_enqueue_each($1, $2)", [[T, T], JSON.stringify(jobs)]),
    ).toMatchObject([{ outcome: "rejected" }, { outcome: "created" }]);
  });

  test("can be deleted after a day if no job refers to it", async ({ db }) => {
    const folder = await note(db, "payloads");
    const other = await note(db, "payloads");
    await enqueueAll(db, [{ type: "t", idempotency_key: "k" }]);
    const [again] = await enqueueAll(db, [{ type: "t", idempotency_key: "k", payload: reference(other) }]);
    expect(again?.outcome).toBe("existing");
    await db.travel("23 hours");
    expect(await take(db)).toEqual({ looked: 0, gone: [] });
    // From a day on it is refused, and some time later it is handed out: a call that binds it may take its time.
    await db.travel("24 hours 30 minutes");
    expect(await take(db)).toEqual({ looked: 0, gone: [] });
    const late = [{ type: "t", payload: reference(folder) }];
    await expect(enqueueAll(db, late)).rejects.toThrow("job 0: its stored payload does not exist");
    await db.travel("26 hours");
    const { gone } = await take(db);
    expect(gone).toHaveLength(2);
    expect(gone).toEqual(expect.arrayContaining([folder, other]));
    // A job that comes too late is refused from the moment its payload may be deleted.
    const enqueueLate = () => enqueueAll(db, [{ type: "t" }, { type: "t", payload: reference(folder) }]);
    await expect(enqueueLate()).rejects.toThrow("job 1: its stored payload does not exist");
    expect(await forget(db, gone)).toBe(2);
    await expect(enqueueLate()).rejects.toThrow("job 1: its stored payload does not exist");
  });

  test("belongs to the job whose payload it replaces", async ({ db }) => {
    const [first] = await enqueueAll(db, [{ type: "t", dedupe_key: "k" }]);
    const folder = await note(db, "payloads");
    const change = { type: "t", dedupe_key: "k", dedupe_mode: "replace", payload: reference(folder) };
    expect(await enqueueAll(db, [change])).toEqual([{ id: first?.id, outcome: "replaced" }]);
    expect(await db.value("select job_id from jobforge.artifacts")).toBe(first?.id);
  });

  test("is not deleted while the transaction that enqueues its job is open", async ({ db }) => {
    const folder = await note(db, "payloads");
    const app = await db.connect();
    await app.query("begin");
    await enqueueAll(app, [{ type: "t", payload: reference(folder) }]);
    await db.travel("2 days");
    expect(await take(db)).toEqual({ looked: 0, gone: [] });
    await app.query("rollback");
    expect(await take(db)).toEqual({ looked: 1, gone: [folder] });
  });

  test("stays with its job if another job refers to it, too", async ({ db }) => {
    const folder = await note(db, "payloads");
    const [first] = await enqueueAll(db, [{ type: "t", payload: reference(folder) }]);
    await enqueueAll(db, [{ type: "t", payload: reference(folder) }]);
    expect(await db.value("select job_id from jobforge.artifacts")).toBe(first?.id);
  });

  test("is not touched by payloads that only look like a reference", async ({ db }) => {
    const folder = await note(db, "payloads");
    const foreign = { ...folder, tenant_id: U };
    for (const payload of [
      { $artifact: 1 },
      { $artifact: "x" },
      reference(foreign),
      ["$artifact"],
      "$artifact",
    ])
      expect(await enqueueAll(db, [{ type: "t", payload }])).toMatchObject([{ outcome: "created" }]);
    expect(await db.value("select job_id from jobforge.artifacts")).toBeNull();
  });

  test("is limited in number per tenant", async ({ db }) => {
    await db.query(
      `insert into jobforge.artifacts (id, area, tenant_id, noted_at, check_at)
       select gen_random_uuid(), 'payloads', $1, now(), now() from generate_series(1, 10000)`,
      [T],
    );
    await expect(note(db, "payloads")).rejects.toMatchObject({ code: "JF007" });
    expect(await note(db, "payloads", null, U)).toMatchObject({ tenant_id: U });
  });
});

describe("callers", () => {
  test("note only jobs of their tenant", async ({ db }) => {
    const { id } = await enqueue(db, { tenant_id: U });
    for (const job of [id, unknownId]) {
      const wanted = { code: "JF002", message: "Invalid argument: the tenant has no such job" };
      await expect(note(db, "reports", job)).rejects.toMatchObject(wanted);
    }
    for (const area of ["../x", "A", ""])
      await expect(note(db, area, id, U)).rejects.toMatchObject({ code: "JF002" });
    await expect(note(db, "reports")).rejects.toMatchObject({ code: "JF002" });
    const tenant = await boundLogin(db, T, "jobforge_tenant");
    await expect(note(tenant, "payloads", null, U)).rejects.toMatchObject({ code: "42501" });
    await expect(take(tenant)).rejects.toMatchObject({ code: "42501" });
    await expect(forget(tenant, [])).rejects.toMatchObject({ code: "42501" });
    expect(await note(tenant, "payloads")).toMatchObject({ tenant_id: T });
  });

  test("that are bound to a tenant get and forget that tenant's", async ({ db }) => {
    const own = await note(db, "payloads");
    const foreign = await note(db, "payloads", null, U);
    const worker = await boundLogin(db, T, "jobforge_worker");
    for (const connection of [db, worker]) await connection.travel("2 days");
    expect(await take(worker)).toEqual({ looked: 1, gone: [own] });
    expect(await forget(worker, [own, foreign])).toBe(1);
    expect(await take(db)).toEqual({ looked: 1, gone: [foreign] });
  });

  test("look at a bounded number at a time", async ({ db }) => {
    for (let n = 0; n < 5; n++) await note(db, "payloads");
    await db.travel("2 days");
    expect((await take(db, 3)).gone).toHaveLength(3);
    expect((await take(db, 3)).gone).toHaveLength(2);
    for (const limit of [0, 1001, null])
      await expect(db.query("select jobforge_take_artifacts($1)", [limit])).rejects.toMatchObject({
        code: "JF002",
      });
    await expect(db.query("select jobforge_forget_artifacts('{}')")).rejects.toMatchObject({ code: "JF002" });
  });
});
