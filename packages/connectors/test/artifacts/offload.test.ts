/** Payloads and results that are too large for the database: stored as artifacts, and deleted with their jobs. */
import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  ArtifactDamagedError,
  ArtifactNotFoundError,
  ArtifactStoreRequiredError,
  defineJob,
  type EnqueuedJob,
  isStoredValue,
  JobForge,
  PayloadTooLargeError,
} from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import { createWorker } from "@jobforge/worker-ts";
import pg from "pg";
import { expect } from "vitest";
import { z } from "zod";
import { test as base, makeWorker, T } from "../../../worker-ts/test/support/work.ts";
import { fileStore } from "../../src/index.ts";

const U = "22222222-2222-4222-8222-222222222222";
const text = "ä".repeat(700_000);
const echo = defineJob({
  type: "echo",
  input: z.object({ text: z.string() }),
  output: z.object({ text: z.string() }),
});
const handler = echo.handle(async ({ text }) => ({ text: `${text}!` }));

interface Scene {
  readonly forge: JobForge;
  readonly folder: string;
  /** The keys of the artifacts in the store. */
  files(): Promise<string[]>;
}

const test = base.extend<{ scene: Scene }>({
  scene: async ({ db }, use) => {
    const folder = await mkdtemp(join(tmpdir(), "jobforge-offload-"));
    await using forge = new JobForge({ database: db.url, artifacts: fileStore(folder) });
    const files = async (): Promise<string[]> => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true });
      return entries
        .filter((entry) => entry.isFile())
        .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
    };
    await use({ forge, folder, files });
    await rm(folder, { recursive: true, force: true });
  },
});

/** Enqueues in a transaction of the application, which then ends. */
async function enqueueInside(
  db: TestDatabase,
  forge: JobForge,
  end: "commit" | "rollback",
): Promise<EnqueuedJob<typeof echo>> {
  const client = new pg.Client(db.url);
  await client.connect();
  try {
    await client.query("begin");
    const job = await forge.with(client).enqueue(echo, { text }, { tenantId: T, offload: true });
    await client.query(end);
    return job;
  } finally {
    await client.end();
  }
}

async function storedPayload(db: TestDatabase, id: string): Promise<unknown> {
  return await db.value("select payload from jobforge_jobs where id = $1", [id]);
}

test("a large payload and a large result go around the database, and arrive as usual", async ({
  db,
  scene,
}) => {
  const { forge, files } = scene;
  const job = await forge.enqueue(echo, { text }, { tenantId: T, offload: true });
  expect(job.outcome).toBe("created");
  const payload = await storedPayload(db, job.id);
  expect(isStoredValue(payload)).toBe(true);
  expect((await job.get())?.payload).toEqual({ text });
  expect((await forge.get(job.id, { tenantId: T }))?.payload, "without a definition").toEqual(payload);
  await makeWorker(forge, { handlers: [handler], offload: true }).tick();
  expect(await job.result()).toEqual({ text: `${text}!` });
  const stored = await db.query<{ result: unknown; artifact_ref: string }>(
    "select result, artifact_ref from jobforge_job_results",
  );
  expect(stored).toMatchObject([
    {
      result: { $artifact: stored[0]?.artifact_ref },
      artifact_ref: `artifact:results/${T}/${job.id}/result-1.json`,
    },
  ]);
  expect(await files()).toHaveLength(2);
});

test("a small value stays in the database", async ({ db, scene }) => {
  const { forge, files } = scene;
  const job = await forge.enqueue(echo, { text: "small" }, { tenantId: T, offload: true });
  await makeWorker(forge, { handlers: [handler], offload: true }).tick();
  expect(await job.result()).toEqual({ text: "small!" });
  expect(await files()).toEqual([]);
  expect(await db.value("select count(*)::int from jobforge.artifacts")).toBe(0);
});

test("without the option, a large payload is refused and a large result fails the job", async ({ scene }) => {
  const { forge } = scene;
  await expect(forge.enqueue(echo, { text }, { tenantId: T })).rejects.toThrow(PayloadTooLargeError);
  const job = await forge.enqueue(echo, { text }, { tenantId: T, offload: true });
  await makeWorker(forge, { handlers: [handler] }).tick();
  expect((await forge.get(job.id, { tenantId: T }))?.lastError).toMatch(
    "Payload too large: result is over 1 MiB",
  );
});

test("a client or worker without a store says so, at once", async ({ db, scene }) => {
  await using bare = new JobForge({ database: db.url });
  await expect(bare.enqueue(echo, { text: "x" }, { tenantId: T, offload: true })).rejects.toThrow(
    ArtifactStoreRequiredError,
  );
  await expect(
    bare.enqueueMany([{ job: echo, input: { text } }], { tenantId: T, offload: true }),
  ).rejects.toThrow(ArtifactStoreRequiredError);
  expect(() => createWorker(bare, { handlers: [handler], offload: true })).toThrow(
    ArtifactStoreRequiredError,
  );
  const job = await scene.forge.enqueue(echo, { text }, { tenantId: T, offload: true, maxAttempts: 2 });
  await makeWorker(bare, { handlers: [handler] }).tick();
  const seen = await bare.get(job.id, { tenantId: T });
  expect(seen).toMatchObject({ status: "queued", error: { name: "ArtifactStoreRequiredError" } });
  await expect(bare.get(job.id, { tenantId: T, job: echo })).rejects.toThrow(ArtifactStoreRequiredError);
  await expect(
    // @ts-expect-error It is a boolean.
    scene.forge.enqueue(echo, { text: "x" }, { tenantId: T, offload: "yes" }),
  ).rejects.toThrow("offload must be true or false");
});

test("many jobs, a stream of jobs and a transaction offload, too", async ({ db, scene }) => {
  const { forge, files } = scene;
  const jobs = Array.from({ length: 6 }, (_, n) => ({
    job: echo,
    input: { text: n < 5 ? `${n}${text}` : "small" },
  }));
  const many = await forge.enqueueMany(jobs, { tenantId: T, offload: true });
  expect(await files()).toHaveLength(5);
  const fitting = await forge.enqueueFitting(jobs.slice(0, 1), { tenantId: T, offload: true });
  const counts = await forge.enqueueStream(jobs.slice(0, 2), { tenantId: T, offload: true });
  expect(counts.created).toBe(2);
  const inside = await enqueueInside(db, forge, "commit");
  await makeWorker(forge, { handlers: [handler], offload: true }).tick();
  expect(await many[3]?.result()).toEqual({ text: `3${text}!` });
  expect(await many[5]?.result()).toEqual({ text: "small!" });
  expect(await fitting[0]?.result()).toEqual({ text: `0${text}!` });
  expect(await inside.result()).toEqual({ text: `${text}!` });
  expect(await db.value("select count(*)::int from jobforge.artifacts where job_id is null")).toBe(0);
});

test("the payload of a transaction that is rolled back is deleted after a day", async ({ db, scene }) => {
  const { forge, files, folder } = scene;
  await enqueueInside(db, forge, "rollback");
  expect(await files()).toHaveLength(1);
  expect(await forge.artifacts.sweep()).toEqual({ looked: 0, deleted: 0 });
  await using later = new JobForge({ database: db.urlAt("25 hours"), artifacts: fileStore(folder) });
  expect(await later.artifacts.sweep()).toEqual({ looked: 1, deleted: 1 });
  expect(await files()).toEqual([]);
});

test("a worker deletes what belongs to jobs that retention has forgotten, and nothing else", async ({
  db,
  scene,
}) => {
  const { forge, files, folder } = scene;
  const old = await forge.enqueue(echo, { text }, { tenantId: T, offload: true });
  await makeWorker(forge, { handlers: [handler], offload: true }).tick();
  const ref = await forge.artifacts.put("notes.txt", "read me", { tenantId: T, jobId: old.id });
  expect(await forge.artifacts.text(ref, { tenantId: T })).toBe("read me");
  expect(await files()).toHaveLength(3);
  await using later = new JobForge({ database: db.urlAt("60 days"), artifacts: fileStore(folder) });
  const young = await later.enqueue(echo, { text }, { tenantId: T, offload: true, delayMs: 60_000 });
  await later.within({}).artifacts.sweep();
  expect(await files(), "still remembered").toHaveLength(4);
  const remembered = async (): Promise<boolean> => (await later.get(old.id, { tenantId: T })) !== undefined;
  for (let round = 0; round < 100 && (await remembered()); round++)
    await later.transport.call("jobforge_maintain", {});
  await makeWorker(later, { handlers: [handler], offload: true }).tick();
  expect(await files()).toEqual([expect.stringMatching(/^payloads/)]);
  expect((await young.get())?.payload).toEqual({ text });
});

test("artifacts that could not be deleted are tried again", async ({ db, scene }) => {
  const { forge, folder, files } = scene;
  await enqueueInside(db, forge, "rollback");
  const store = fileStore(folder);
  const broken = { ...store, delete: () => Promise.reject(new Error("The disk is on fire")) };
  await using failing = new JobForge({ database: db.urlAt("25 hours"), artifacts: broken });
  await expect(failing.artifacts.sweep()).rejects.toThrow("on fire");
  expect(await files()).toHaveLength(1);
  await using later = new JobForge({ database: db.urlAt("26 hours"), artifacts: store });
  expect(await later.artifacts.sweep()).toEqual({ looked: 1, deleted: 1 });
});

test("a reference leads to contents of its tenant only, and only to what was stored", async ({
  db,
  scene,
}) => {
  const { forge, folder } = scene;
  const job = await forge.enqueue(echo, { text }, { tenantId: T, offload: true });
  const reference = await storedPayload(db, job.id);
  const seen: unknown[] = [];
  const any = defineJob({ type: "any" });
  const worker = makeWorker(forge, { handlers: [any.handle(async (input) => void seen.push(input))] });
  const foreign = await forge.enqueue(any, reference as object, { tenantId: U });
  await worker.tick();
  expect(await forge.get(foreign.id, { tenantId: U })).toMatchObject({
    error: { name: ArtifactNotFoundError.name },
  });
  const elsewhere = { ...(reference as object), $artifact: `artifact:reports/${T}/${job.id}/usage.csv` };
  await forge.enqueue(any, elsewhere, { tenantId: T });
  await forge.enqueue(any, { ...(reference as object), more: 1 }, { tenantId: T });
  await worker.tick();
  expect(seen, "other payloads are left as they are").toHaveLength(2);
  const [file = ""] = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith(".json"));
  const whole = await readFile(join(folder, file), "utf8");
  await writeFile(join(folder, file), whole.replace("ä", "ö"));
  await expect(job.get()).rejects.toThrow(ArtifactDamagedError);
  await writeFile(join(folder, file), `${whole} `);
  await expect(job.get()).rejects.toThrow(ArtifactDamagedError);
});

test("a run that has lost its lease does not overwrite the result of the next", async ({ scene }) => {
  const { forge, folder } = scene;
  const job = await forge.enqueue(echo, { text: "x" }, { tenantId: T });
  const put = async (attempt: number, content: string): Promise<string> => {
    const options = { area: "results", name: `result-${attempt}.json`, tenantId: T, jobId: job.id } as const;
    return (await forge.artifacts.offload(JSON.stringify(content), options)).sha256;
  };
  const second = await put(2, "second");
  await put(1, "first");
  const kept = await readFile(join(folder, "results", T, job.id, "result-2.json"));
  expect(createHash("sha256").update(kept).digest("hex")).toBe(second);
});

test("a result that is committed with the handler's writes is offloaded", async ({ scene }) => {
  const { forge } = scene;
  const job = await forge.enqueue(echo, { text }, { tenantId: T, offload: true });
  const inside = echo.handle(({ text }, job) => job.transaction(async () => ({ text: `${text}?` })));
  await makeWorker(forge, { handlers: [inside], offload: true }).tick();
  expect(await job.result()).toEqual({ text: `${text}?` });
});

test("a parent reads the offloaded result of its child, and cannot offload the payload of one", async ({
  scene,
}) => {
  const { forge } = scene;
  const parent = defineJob({ type: "parent" });
  const runs = parent.handle(
    async (_, job) => (await job.run(echo, { text: "ä".repeat(400_000) })).text.length,
  );
  const worker = makeWorker(forge, { handlers: [runs, handler], offload: true });
  const job = await forge.enqueue(parent, {}, { tenantId: T });
  for (let round = 0; round < 3; round++) await worker.tick();
  expect(await job.result()).toBe(400_001);
  const refused = parent.handle(async (_, { enqueue }) => enqueue(echo, { text: "x" }, { offload: true }));
  const second = await forge.enqueue(parent, {}, { tenantId: T });
  await makeWorker(forge, { handlers: [refused] }).tick();
  expect(await forge.get(second.id, { tenantId: T })).toMatchObject({
    status: "failed",
    lastError: expect.stringMatching("the payload of a child cannot be offloaded"),
  });
});

test("more than 64 MiB is refused on both sides", async ({ scene }) => {
  const { forge } = scene;
  const huge = "x".repeat(64 * 2 ** 20);
  await expect(forge.enqueue(echo, { text: huge }, { tenantId: T, offload: true })).rejects.toThrow(
    PayloadTooLargeError,
  );
  const job = await forge.enqueue(echo, { text: "x" }, { tenantId: T });
  const large = echo.handle(async () => ({ text: huge }));
  await makeWorker(forge, { handlers: [large], offload: true }).tick();
  expect(await forge.get(job.id, { tenantId: T })).toMatchObject({ status: "failed" });
});
