/** Uncaught errors: the log names the job, and the process settles what it can before it dies. */
import { randomUUID } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineJob, type JobForge, typed } from "@jobforge/sdk-ts";
import { describe, expect, onTestFinished } from "vitest";
import { type Child, startFixture } from "../support/child.ts";
import { jobOf } from "../support/jobs.ts";
import { test as ownServerTest } from "../support/own-server.ts";
import { T, test } from "../support/work.ts";

const crash = defineJob({ type: "crash", input: typed<{ how: string; after?: string }>() });

const startCrashing = (url: string, env: Record<string, string> = {}): Child =>
  startFixture("crash.ts", [], { DATABASE_URL: url, LOG_LEVEL: "debug", ...env });

/** Enqueues a job and resolves to its id when its handler runs. */
async function started(child: Child, forge: JobForge, how: string, after?: string): Promise<string> {
  const { id } = await forge.enqueue(crash, after === undefined ? { how } : { how, after }, { tenantId: T });
  await child.logged(({ message, job_id }) => message === "Job started" && job_id === id);
  return id;
}

function crashFile(): string {
  const file = join(tmpdir(), `jobforge-crash-${randomUUID()}`);
  onTestFinished(() => rm(file, { force: true }));
  return file;
}

describe.for([
  ["an unhandled rejection", "rejection", "Error", "lost control: a reason"],
  ["a throw in a timer", "timer", "TypeError", "lost control in a timer"],
])("%s", ([, how = "", name = "", line = ""]) => {
  test("fails its job, releases the others, and ends the process as Node does", async ({ db, forge }) => {
    const child = startCrashing(db.url);
    const file = crashFile();
    const others = [await started(child, forge, "never"), await started(child, forge, "never")];
    const culprit = await started(child, forge, how, file);
    others.push(await started(child, forge, "never"));
    await writeFile(file, "");
    expect(await child.ended).toEqual({ code: 1, signal: null });

    const uncaught = child.lines.filter(({ message }) => message.startsWith("Uncaught error"));
    expect(uncaught).toMatchObject([
      { level: "error", job_id: culprit, job_type: "crash", attempt_no: 1, error_name: name, error: line },
    ]);
    expect(uncaught[0]?.["error_at"]).toContain("packages/worker-ts/test/fixtures/crash.ts:");
    expect(child.noise()).toMatch(new RegExp(`^${name}: lost control.*\n +at .*crash\\.ts`, "m"));
    expect(child.noise()).toContain(`Node.js ${process.version}`);

    expect(await jobOf(db, culprit)).toMatchObject({ status: "queued", attempts: 1, last_error: line });
    expect(await db.value("select uncounted from jobforge.live_rows where id = $1", [culprit])).toBe(0);
    for (const id of others) {
      expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: null });
      expect(await db.value("select uncounted from jobforge.live_rows where id = $1", [id])).toBe(1);
    }
    expect(await forge.workers.list()).toMatchObject([{ id: "crashing", status: "stopped" }]);
  });
});

test("the log has the stack once, with the failure of the job, before the trace at the end", async ({
  db,
  forge,
}) => {
  const child = startCrashing(db.url, { LOG_STACKS: "1" });
  const file = crashFile();
  const id = await started(child, forge, "timer", file);
  await writeFile(file, "");
  expect(await child.ended).toEqual({ code: 1, signal: null });
  expect(child.lines.filter(({ job_id, stack }) => job_id === id && stack !== undefined)).toMatchObject([
    { message: expect.stringContaining("Job failed"), error: "lost control in a timer" },
  ]);
  expect(child.noise()).toMatch(/^TypeError: lost control in a timer\n +at .*crash\.ts/m);
});

test("an error that belongs to no job releases all of them, and the log lists them", async ({
  db,
  forge,
}) => {
  const child = startCrashing(db.url);
  const id = await started(child, forge, "never");
  child.process.kill("SIGUSR2");
  expect(await child.ended).toEqual({ code: 1, signal: null });
  expect(child.lines.find(({ message }) => message.startsWith("Uncaught error"))).toMatchObject({
    job_id: null,
    running: 1,
    jobs: [{ id, type: "crash", attempt: 1 }],
    error: "lost control in a timer",
  });
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: null });
});

test("a thrown value that is not an error ends the process in the same way", async ({ db, forge }) => {
  const child = startCrashing(db.url);
  const id = await started(child, forge, "text");
  expect((await child.ended).code).toBe(1);
  expect(child.noise()).toContain("just a text");
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: "just a text" });
});

test("an error whose own formatting throws ends the process in the same way", async ({ db, forge }) => {
  const child = startCrashing(db.url);
  const id = await started(child, forge, "unshowable");
  expect(await child.ended).toEqual({ code: 1, signal: null });
  expect(child.noise()).toMatch(/^RangeError: lost control, and how\n +at .*crash\.ts/m);
  expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: "lost control, and how" });
});

test("a terminal gets the trace without control characters", async ({ db, forge }) => {
  const child = startCrashing(db.url, { TERMINAL: "1" });
  await started(child, forge, "controls");
  expect((await child.ended).code).toBe(1);
  expect(child.noise()).toMatch(/^Error: lost .*control\n +at .*crash\.ts/m);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not reach a terminal
  expect(child.noise()).not.toMatch(/[\u001b\u009b\u202e]/);
});

test("in a batch, every job of the handler call fails", async ({ db, forge }) => {
  const batch = defineJob({ type: "batch" });
  const jobs = [
    await forge.enqueue(batch, {}, { tenantId: T }),
    await forge.enqueue(batch, {}, { tenantId: T }),
  ];
  const child = startCrashing(db.url);
  expect((await child.ended).code).toBe(1);
  for (const { id } of jobs) {
    expect(await jobOf(db, id)).toMatchObject({ status: "queued", last_error: "lost control: a reason" });
  }
});

test("process.exit() in a handler is logged with its job and the jobs that run", async ({ db, forge }) => {
  const child = startCrashing(db.url);
  const other = await started(child, forge, "never");
  const { id } = await forge.enqueue(crash, { how: "exit" }, { tenantId: T });
  expect(await child.ended).toEqual({ code: 3, signal: null });
  const [culprit, rest] = child.lines.filter(({ exit_code }) => exit_code === 3);
  expect(culprit).toMatchObject({ job_id: id, message: "The handler of this job ended the process" });
  expect(rest).toMatchObject({ running: 2, jobs: [{ id: other }, { id }] });
});

test("an application that handles uncaught errors itself goes on, and the log names the job", async ({
  db,
  forge,
}) => {
  const child = startCrashing(db.url, { OWN_LISTENER: "1" });
  const id = await started(child, forge, "timer");
  const line = await child.logged(({ message }) => message.startsWith("Uncaught error"));
  expect(line).toMatchObject({ job_id: id, message: expect.stringContaining("the application handles it") });
  expect(await jobOf(db, id)).toMatchObject({ status: "running" });
  const next = await started(child, forge, "never");
  expect(await jobOf(db, next)).toMatchObject({ status: "running" });
  expect(child.noise()).toContain("Own listener: lost control in a timer");
});

test("a worker that the application starts itself leaves uncaught errors to Node", async ({ db, forge }) => {
  const child = startCrashing(db.url, { START: "1" });
  const id = await started(child, forge, "timer");
  expect((await child.ended).code).toBe(1);
  expect(child.noise()).toContain("TypeError: lost control in a timer");
  expect(child.lines.some(({ message }) => message.startsWith("Uncaught"))).toBe(false);
  expect(await jobOf(db, id)).toMatchObject({ status: "running" });
});

ownServerTest(
  "a process that dies does not wait for a database that is down",
  async ({ server, ownDb, ownForge: forge }) => {
    const child = startCrashing(ownDb.url);
    const file = crashFile();
    await started(child, forge, "timer", file);
    await server.stop();
    await writeFile(file, "");
    expect((await child.ended).code).toBe(1);
    expect(child.noise()).toContain("TypeError: lost control in a timer");
  },
);
