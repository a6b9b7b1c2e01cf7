/** A definition means what it says: with each way to enqueue, and without a call of sync(). */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import type { TestDatabase } from "@jobforge/testing";
import pg from "pg";
import { expect } from "vitest";
import { sign, startBridge } from "../../../sdk-ts/test/support/bridge.ts";
import { attemptsOf, jobOf, statuses, untilFinished } from "../support/jobs.ts";
import { keptLog, type Line, makeWorker, startWorker, T, test } from "../support/work.ts";

const chargeCard = defineJob({ type: "charge.card", retry: { maxAttempts: 1 } });
const declined = chargeCard.handle(() => {
  throw new Error("declined");
});

type Enqueue = (db: TestDatabase, forge: JobForge) => Promise<string>;
const ways: Record<string, Enqueue> = {
  enqueue: async (_, forge) => (await forge.enqueue(chargeCard, {}, { tenantId: T })).id,
  enqueueMany: async (_, forge) => {
    const [first] = await forge.enqueueMany([{ job: chargeCard, input: {} }], { tenantId: T });
    return first?.id ?? expect.fail("a job");
  },
  "a transaction": async (db, forge) => {
    const client = new pg.Client({ connectionString: db.url });
    await client.connect();
    await client.query("begin");
    const { id } = await forge.with(client).enqueue(chargeCard, {}, { tenantId: T });
    await client.query("commit");
    await client.end();
    return id;
  },
  HTTP: async (db) => {
    await using bridge = await startBridge(db);
    await using remote = new JobForge({
      url: bridge.url,
      token: sign({ role: "jobforge_app", tenant_id: T }),
    });
    return (await remote.enqueue(chargeCard, {}, { tenantId: T })).id;
  },
};

for (const [way, enqueue] of Object.entries(ways))
  test(`a job of a definition with one attempt, enqueued with ${way}, runs once`, async ({ db, forge }) => {
    // No worker has started, and sync() was not called.
    const id = await enqueue(db, forge);
    expect(await jobOf(db, id)).toMatchObject({ max_attempts: 1 });
    await startWorker(forge, { handlers: [declined], sync: false });
    await untilFinished(db, 1);
    expect(await jobOf(db, id)).toMatchObject({ status: "dead", attempts: 1 });
    expect(await attemptsOf(db, id)).toEqual(["failed"]);
  });

test("a child of a run has the attempts of its definition", async ({ db, forge }) => {
  const parent = defineJob({ type: "parent" });
  await forge.enqueue(parent, {}, { tenantId: T });
  const handler = parent.handle((_, job) => job.enqueue(chargeCard, {}));
  await startWorker(forge, { handlers: [handler, declined], sync: false });
  await untilFinished(db, 2);
  expect(await statuses(db)).toEqual({ succeeded: 1, dead: 1 });
  expect(
    await db.value("select attempts from jobforge_jobs where type = 'charge.card' and max_attempts = 1"),
  ).toBe(1);
});

const settings = defineJob({
  type: "report.build",
  retry: { maxAttempts: 2, baseMs: 5000 },
  timeoutMs: 60_000,
  leaseMs: 30_000,
  maxPriority: 5,
  auditAction: "REPORT_BUILT",
  keepHistory: false,
  retentionDays: 20,
  redact: ["iban"],
});
const asSet = {
  type: "report.build",
  max_attempts: 2,
  base_ms: 5000,
  timeout_ms: 60_000,
  lease_ms: 30_000,
  max_priority: 5,
  audit_action: "REPORT_BUILT",
  keep_history: false,
  retention_days: 20,
  redact: ["iban"],
};

async function policy(db: TestDatabase, type = "report.build"): Promise<unknown> {
  return await db.value("select jobforge_get_policy($1)", [type]);
}

/** The warnings of a worker that was started, or has ticked, with this definition. */
async function warningsOf(
  forge: JobForge,
  definition: typeof settings,
  appVersion?: string,
): Promise<string[]> {
  const { logger, lines } = keptLog();
  const worker = makeWorker(forge, { handlers: [definition.handle(() => null)], logger, appVersion });
  await worker.start();
  await worker.stop();
  return warnings(lines);
}

function warnings(lines: readonly Line[]): string[] {
  return lines.filter(({ level }) => level === "warn").map(({ message }) => message);
}

test("a worker that may change policies writes those of its definitions at start", async ({ db, forge }) => {
  const { logger, lines } = keptLog();
  await startWorker(forge, { handlers: [settings.handle(() => null)], logger });
  expect(await policy(db)).toMatchObject(asSet);
  expect(warnings(lines)).toEqual([]);
  const line = lines.find(({ message }) => message.startsWith("Policies were set as the definitions say"));
  expect(line?.message).toContain('report.build (auditAction null → "REPORT_BUILT", baseMs 1000 → 5000,');
  expect(await db.value("select jsonb_agg(action) from jobforge_audit_log")).toEqual(["POLICY_SYNCED"]);
});

test("a tick writes them once, and with sync: false nothing does", async ({ db, forge }) => {
  const off = makeWorker(forge, { handlers: [settings.handle(() => null)], sync: false });
  await off.tick();
  await off.start();
  expect(await policy(db)).toMatchObject({ type: "*" });
  const worker = makeWorker(forge, { handlers: [settings.handle(() => null)] });
  await worker.tick();
  await worker.tick();
  expect(await policy(db)).toMatchObject(asSet);
});

test("a worker that may not change policies names each difference and the statement that resolves it", async ({
  db,
  forge,
}) => {
  const login = await db.createLogin("jobforge_worker");
  await using limited = new JobForge({ database: login.url });
  const { logger, lines } = keptLog();
  const other = defineJob({ type: "redacted", redact: ["a\\'b"] });
  await startWorker(limited, {
    handlers: [declined, other.handle(() => null), defineJob({ type: "plain" }).handle(() => null)],
    logger,
    appVersion: "1.4.2",
  });
  const [line, ...others] = warnings(lines);
  expect(others).toEqual([]);
  expect(line).toContain("this login may not change policies");
  expect(line).toContain("charge.card (maxAttempts is 5, the definition says 1)");
  expect(line).toContain("redacted (redact is [], the definition says");
  expect(line).not.toContain("plain");
  expect(line).toContain('jobforge sync HANDLERS --app-version "1.4.2"');
  // It works all the same.
  const { id } = await forge.enqueue(chargeCard, {}, { tenantId: T });
  await untilFinished(db, 1);
  expect(await jobOf(db, id)).toMatchObject({ attempts: 1, max_attempts: 1 });
  // The statement does what the line says, and then a start is silent.
  await db.query(/select jobforge_sync_policies\(.*\);/.exec(line ?? "")?.[0] ?? "");
  expect(await policy(db, "charge.card")).toMatchObject({ type: "charge.card", max_attempts: 1 });
  expect(await policy(db, "redacted")).toMatchObject({ redact: ["a\\'b"] });
  const again = keptLog();
  const handlers = [declined, other.handle(() => null)];
  await startWorker(limited, { handlers, logger: again.logger, appVersion: "1.4.2" });
  expect(warnings(again.lines)).toEqual([]);
});

test("what an operator has set by hand survives restarts and new versions, and each start says so", async ({
  db,
  forge,
}) => {
  await warningsOf(forge, settings, "1");
  await forge.policies.set("report.build", { maxAttempts: 1 });
  for (const version of ["1", "2"]) {
    const [line, ...others] = await warningsOf(forge, settings, version);
    expect(others).toEqual([]);
    expect(line).toContain("an operator has set by hand");
    expect(line).toContain("report.build (maxAttempts is 1, the definition says 2)");
    expect(line).toContain("--force");
    expect(await policy(db)).toMatchObject({ max_attempts: 1 });
  }
  // New jobs obey the operator, too, although their definition says two.
  const { id } = await forge.enqueue(settings, {}, { tenantId: T });
  expect(await jobOf(db, id)).toMatchObject({ max_attempts: 1 });
  const changed = defineJob({ ...settings, retry: { maxAttempts: 3, baseMs: 5000 } });
  expect(await warningsOf(forge, changed, "3")).toEqual([]);
  expect(await policy(db)).toMatchObject({ max_attempts: 3 });
});

test("of two deployments the newer one is in force, and restarts of the older one change nothing", async ({
  db,
  forge,
}) => {
  const newer = defineJob({ ...settings, retentionDays: 30 });
  expect(await warningsOf(forge, settings, "1.0")).toEqual([]);
  expect(await warningsOf(forge, newer, "1.1")).toEqual([]);
  for (let restart = 0; restart < 2; restart++) {
    const [line, ...others] = await warningsOf(forge, settings, "1.0");
    expect(others).toEqual([]);
    expect(line).toContain("the definitions of this worker (version 1.0) are not applied");
    expect(line).toContain("report.build (retentionDays is 30, the definition says 20) [1.1]");
    expect(await warningsOf(forge, newer, "1.1")).toEqual([]);
  }
  expect(await policy(db)).toMatchObject({ retention_days: 30 });
  const audit = await db.value("select jsonb_agg(meta -> 'version' order by id) from jobforge_audit_log");
  expect(audit).toEqual(["1.0", "1.1"]);
});

test("a worker starts, and says so, if its definitions cannot be compared", async ({ db, forge }) => {
  // As with a kernel that is older than the worker.
  await db.query("alter function jobforge_sync_policies rename to jobforge_other");
  const { logger, lines } = keptLog();
  await startWorker(forge, { handlers: [declined], logger });
  expect(warnings(lines)).toEqual([
    "The policies could not be compared with the definitions; trying again in a minute",
  ]);
  await forge.enqueue(chargeCard, {}, { tenantId: T });
  await untilFinished(db, 1);
});

test("an invalid definition is named with its key, and those of the other types are applied", async ({
  db,
  forge,
}) => {
  // As definitions that defineJob did not check: one value is out of range, the other is of the wrong kind.
  const large = { ...defineJob({ type: "too.large" }), retentionDays: 1_000_000 };
  const text = { ...defineJob({ type: "wrong.kind" }), keepHistory: "sometimes" as unknown as boolean };
  const broken = [large, text].map((definition) => ({ ...definition.handle(() => null), definition }));
  const { logger, lines } = keptLog();
  await startWorker(forge, { handlers: [...broken, settings.handle(() => null)], logger });
  expect(await policy(db)).toMatchObject(asSet);
  const errors = lines.filter(({ level }) => level === "error");
  expect(errors.map(({ job_type }) => job_type)).toEqual(["too.large", "wrong.kind"]);
  expect(errors[0]?.message).toContain(
    "The definition of too.large is not applied to its policy, because of",
  );
  expect(errors[0]?.message).toContain("retentionDays");
  expect(errors[1]?.message).toContain("sometimes");
  // No line announces another try.
  expect(warnings(lines)).toEqual([]);
});
