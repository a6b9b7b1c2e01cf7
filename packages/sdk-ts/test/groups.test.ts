/** The groups of operator calls and sync, over every transport. */
import { describe, expect } from "vitest";
import { claim, complete, T, U, workerHeartbeat } from "../../../sql/test/support/kernel.ts";
import {
  type AuditEntry,
  defineJob,
  ForbiddenError,
  InvalidArgumentError,
  type LimitScope,
  type RetryPreset,
  retryPresets,
} from "../src/index.ts";
import { toKeys } from "../src/rows.ts";
import { cleanUp, sendMail } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

test("the retry presets equal those of the kernel", async ({ db }) => {
  for (const name of Object.keys(retryPresets) as RetryPreset[])
    expect(toKeys(retryPresets[name])).toEqual(await db.value("select jobforge.preset($1)", [name]));
});

const report = defineJob({
  type: "report.build",
  retry: { baseMs: 500, capMs: null, jitter: 0.25, maxAttempts: 9 },
  timeoutMs: 60_000,
  leaseMs: 30_000,
  maxPriority: 50,
  auditAction: "REPORT_BUILT",
  keepHistory: true,
  retentionDays: 20,
  redact: ["password"],
});

describe.each(transports)("over %s", (transport) => {
  const operator = { role: "jobforge_operator" } as const;

  test("limits of every scope are set, read and removed", async ({ connect }) => {
    const forge = await connect(transport, operator);
    const limits: [LimitScope, string, string][] = [
      [{ type: "mail.send" }, "type", "mail.send"],
      [{ tenantId: T }, "tenant", T],
      [{ tenantId: "*" }, "tenant", "*"],
      [{ type: "mail.send", tenantId: T }, "type_tenant", `mail.send:${T}`],
      [{ type: "mail.send", tenantId: "*" }, "type_tenant", "mail.send:*"],
      [{ type: "*", tenantId: "*" }, "type_tenant", "*"],
      [{ key: "account 7" }, "key", "account 7"],
    ];
    for (const [scope, name, key] of limits) {
      const { known, ...limit } = await forge.limits.set(scope, { maxRunning: 2, rate: 10, per: "1 minute" });
      expect(limit).toMatchObject({ scope: name, key, maxRunning: 2, rate: 10, per: "00:01:00", burst: 10 });
      // Nothing has the type or the tenant yet; defaults and keys need nothing.
      expect(known).toBe(key.endsWith("*") ? !key.startsWith("mail") : name === "key");
      expect(limit.setAt).toBeInstanceOf(Date);
      expect(await forge.limits.get(scope)).toEqual(limit);
      expect(await forge.limits.list()).toMatchObject([limit]);
      expect([await forge.limits.remove(scope), await forge.limits.remove(scope)]).toEqual([true, false]);
      expect(await forge.limits.get(scope)).toBeUndefined();
    }
    const wrong = { type: "*", tenantId: T };
    await expect(forge.limits.set(wrong, {})).rejects.toThrow(InvalidArgumentError);
    await expect(forge.limits.set({ key: "k" }, { rate: 0, per: "1 s" })).rejects.toMatchObject({
      field: "rate",
    });
    await expect(forge.limits.set({ key: "k" }, { rate: 1 })).rejects.toMatchObject({ field: "per" });
  });

  test("a sync writes the policies of definitions, returns the changes, and does nothing the second time", async ({
    db,
    connect,
  }) => {
    const forge = await connect(transport, operator);
    const jobs = [sendMail, report, cleanUp];
    const planned = await forge.sync(jobs, { dryRun: true });
    expect(await db.value("select count(*)::int from jobforge.policies where type <> '*'")).toBe(0);
    expect(await forge.sync(jobs)).toEqual(planned);
    expect(planned).toMatchObject([
      {
        type: "mail.send",
        action: "created",
        changes: [
          { key: "baseMs", from: 1000, to: 10_000 },
          { key: "capMs", from: 3_600_000, to: null },
          { key: "maxAttempts", from: 5, to: 4 },
        ],
      },
      {
        type: "report.build",
        action: "created",
        changes: expect.arrayContaining([{ key: "jitter", from: 0, to: 0.25 }]),
      },
      { type: "clean.up", action: "unchanged", changes: [] },
    ]);
    expect(await forge.policies.get("report.build")).toMatchObject({
      type: "report.build",
      baseMs: 500,
      capMs: undefined,
      jitter: 0.25,
      maxAttempts: 9,
      timeoutMs: 60_000,
      leaseMs: 30_000,
      maxPriority: 50,
      auditAction: "REPORT_BUILT",
      retentionDays: 20,
      redact: ["password"],
    });
    expect((await forge.policies.get("clean.up")).type).toBe("*");
    expect((await forge.sync(jobs)).map(({ action }) => action)).toEqual([
      "unchanged",
      "unchanged",
      "unchanged",
    ]);
  });

  test("a sync also writes settings that equal the default, because the default may change later", async ({
    connect,
  }) => {
    const forge = await connect(transport, operator);
    const usual = defineJob({ type: "usual", retry: "standard" });
    const created = [{ type: "usual", action: "created", changes: [] }];
    expect(await forge.sync([usual], { dryRun: true })).toMatchObject(created);
    expect(await forge.sync([usual])).toMatchObject(created);
    await forge.policies.set("*", { maxAttempts: 2 });
    expect(await forge.policies.get("usual")).toMatchObject({ type: "usual", maxAttempts: 5 });
    expect(await forge.sync([usual])).toMatchObject([{ action: "unchanged" }]);
  });

  test("a sync leaves settings alone that an operator has set by hand, unless it is forced", async ({
    connect,
  }) => {
    const forge = await connect(transport, operator);
    await forge.policies.set("mail.send", { baseMs: 30_000, leaseMs: 5000 });
    expect(await forge.sync([sendMail])).toMatchObject([
      {
        action: "changed",
        kept: [{ key: "baseMs", from: 30_000, to: 10_000 }],
        keptBecause: "set_by_hand",
      },
    ]);
    expect(await forge.policies.get("mail.send")).toMatchObject({
      baseMs: 30_000,
      leaseMs: 5000,
      maxAttempts: 4,
      byHand: ["baseMs", "leaseMs"],
    });
    expect(await forge.sync([sendMail], { force: true })).toMatchObject([{ action: "changed", kept: [] }]);
    expect(await forge.policies.get("mail.send")).toMatchObject({
      baseMs: 10_000,
      leaseMs: 5000,
      byHand: ["leaseMs"],
    });
  });

  test("a sync of an older version changes nothing, and names the version in force", async ({ connect }) => {
    const forge = await connect(transport, operator);
    const [older, newer] = [1, 2].map((maxAttempts) => defineJob({ type: "a", retry: { maxAttempts } }));
    if (older === undefined || newer === undefined) return expect.fail("two definitions");
    await forge.sync([older], { appVersion: "1.0" });
    expect(await forge.sync([newer], { appVersion: "1.1" })).toMatchObject([{ action: "changed" }]);
    expect(await forge.sync([older], { appVersion: "1.0" })).toMatchObject([
      { action: "unchanged", keptBecause: "newer_version", version: "1.1" },
    ]);
    expect(await forge.policies.get("a")).toMatchObject({ maxAttempts: 2 });
    const entries = await forge.audit.list({ entityType: "type", entityId: "a" }).page();
    expect(entries.items.map(({ action, meta }) => [action, meta])).toEqual([
      ["POLICY_SYNCED", { changes: { max_attempts: 2 }, version: "1.1", forced: false }],
      ["POLICY_SYNCED", { changes: { max_attempts: 1 }, version: "1.0", forced: false }],
    ]);
  });

  test("policies are listed and reset", async ({ connect }) => {
    const forge = await connect(transport, operator);
    for (const type of ["b", "a"]) await forge.policies.set(type, { maxAttempts: 3, capMs: null });
    const types: string[] = [];
    for await (const policy of forge.policies.list({ pageSize: 1 })) types.push(policy.type);
    expect(types).toEqual(["*", "a", "b"]);
    expect(await forge.policies.reset("a")).toMatchObject({ type: "a", reset: true, policy: { type: "*" } });
    expect(await forge.policies.reset("a")).toMatchObject({ reset: false });
    expect(await forge.policies.get("a")).toMatchObject({ type: "*", maxAttempts: 5 });
    expect(await forge.policies.get("*")).toMatchObject({ type: "*", updatedAt: expect.any(Date) });
    await expect(forge.policies.reset("")).rejects.toThrow(InvalidArgumentError);
    const worker = await connect(transport, { role: "jobforge_worker" });
    await expect(worker.policies.list().page()).rejects.toThrow(ForbiddenError);
  });

  test("a sync needs an operator, a dry run does not, and contradictory definitions are refused", async ({
    connect,
  }) => {
    const worker = await connect(transport, { role: "jobforge_worker" });
    expect(await worker.sync([sendMail], { dryRun: true })).toMatchObject([{ action: "created" }]);
    await expect(worker.sync([sendMail])).rejects.toThrow(ForbiddenError);
    const other = defineJob({ type: "mail.send", retry: "standard" });
    await expect(worker.sync([sendMail, other])).rejects.toThrow(InvalidArgumentError);
  });

  test("everything, a type or a tenant can be paused and resumed", async ({ db, connect }) => {
    const forge = await connect(transport, operator);
    await forge.enqueue(cleanUp, {}, { tenantId: T });
    const until = new Date("2099-01-01T00:00:00.000Z");
    await forge.gates.pause("all");
    await forge.gates.pause({ type: cleanUp.type }, { reason: "broken", until });
    expect(await forge.gates.pause({ tenantId: T })).toEqual({
      ...{ scope: "tenant", key: T, paused: true, wasPaused: false, known: true },
      ...{ reason: undefined, until: undefined, auditId: expect.any(Number) },
    });
    expect(await forge.gates.resume({ type: "clean.pu" })).toMatchObject({ wasPaused: false, known: false });
    expect(await forge.gates.list()).toMatchObject([
      { scope: "all", key: "", reason: undefined, until: undefined },
      { scope: "tenant", key: T },
      { scope: "type", key: "clean.up", reason: "broken", until },
    ]);
    for (const scope of ["all", { type: cleanUp.type }, { tenantId: T }] as const) {
      expect(await claim(db)).toEqual([]);
      await forge.gates.resume(scope);
    }
    expect(await claim(db)).toHaveLength(1);
    expect(await forge.gates.list()).toEqual([]);
  });

  test("workers are listed", async ({ db, connect }) => {
    const forge = await connect(transport, operator);
    await workerHeartbeat(db, "w1", {
      instance: "i",
      types: ["a"],
      concurrency: 5,
      host: "h",
      pid: 7,
      version: "1",
    });
    expect(await forge.workers.list()).toEqual([
      {
        id: "w1",
        status: "alive",
        instance: "i",
        tenantId: undefined,
        startedAt: expect.any(Date),
        seenAt: expect.any(Date),
        types: ["a"],
        concurrency: 5,
        running: 0,
        host: "h",
        pid: 7,
        version: "1",
      },
    ]);
  });

  test("the audit log is read page by page, and by every filter", async ({ db, connect }) => {
    const forge = await connect(transport, operator);
    await forge.policies.set("a", { auditAction: "A_DONE" });
    const { id } = await forge.enqueue(defineJob({ type: "a" }), {}, { tenantId: T });
    await claim(db);
    await complete(db, id);
    for (const tenantId of [T, U, U]) await (await forge.enqueue(cleanUp, {}, { tenantId })).cancel();
    const entries: AuditEntry[] = [];
    for await (const entry of forge.audit.list({ pageSize: 2 })) entries.push(entry);
    expect(entries.map(({ action }) => action)).toEqual([
      "JOB_CANCELED",
      "JOB_CANCELED",
      "JOB_CANCELED",
      "A_DONE",
      "POLICY_SET",
    ]);
    expect(entries[4]).toMatchObject({
      tenantId: "ffffffff-ffff-ffff-ffff-ffffffffffff",
      entityType: "type",
      entityId: "a",
      at: expect.any(Date),
    });
    const about = async (options: object): Promise<number> =>
      (await forge.audit.list(options).page()).items.length;
    expect(await about({ tenantId: U })).toBe(2);
    expect(await about({ entityType: "job", entityId: id })).toBe(1);
    expect(await about({ action: "JOB_CANCELED", tenantId: T })).toBe(1);
    expect(await about({ actor: "w1" })).toBe(1);
    expect(await about({ after: new Date("2099-01-01") })).toBe(0);
    expect(await about({ before: new Date("2099-01-01") })).toBe(5);
    const tenant = await connect(transport, { role: "jobforge_app", tenantId: U });
    expect((await tenant.audit.list({ tenantId: U }).page()).items).toHaveLength(2);
    await expect(tenant.audit.list().page()).rejects.toThrow(ForbiddenError);
  });

  test("an application configures connectors for its tenant", async ({ connect }) => {
    const forge = await connect(transport, { role: "jobforge_app", tenantId: T });
    const reader = await connect(transport, operator);
    const hook = { tenantId: T, type: "webhook" };
    expect(await reader.connectors.get(hook)).toBeUndefined();
    await forge.connectors.set(hook, { url: "https://example.com", nested: { a: [1, null] } });
    expect(await reader.connectors.get(hook)).toEqual({
      url: "https://example.com",
      nested: { a: [1, null] },
    });
    await forge.connectors.set(hook, null);
    expect(await reader.connectors.get(hook)).toBeUndefined();
  });

  test("a login is bound to a tenant and unbound, and maintenance can be called", async ({ db, connect }) => {
    const forge = await connect(transport, operator);
    const { role } = await db.createLogin("jobforge_tenant");
    const bound = (): Promise<string | undefined> =>
      db.value("select tenant_id from jobforge.role_bindings where role = $1", [role]);
    await forge.tenants.bindRole(role, T);
    expect(await bound()).toBe(T);
    await forge.tenants.bindRole(role, null);
    expect(await bound()).toBeUndefined();
    await forge.installation.maintain();
  });
});
