/** What definitions say about policies: which settings are applied, which stay, and what the audit log shows. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  allTenants,
  backendOf,
  claim,
  codeOf,
  complete,
  enqueue,
  expectError,
  type Sql,
  setPolicy,
  T,
  untilBlocked,
} from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

type Settings = Record<string, unknown>;
interface Options {
  version?: string;
  force?: boolean;
  dry?: boolean;
}
interface Synced {
  type: string;
  action: string;
  changes: { key: string; from: unknown; to: unknown }[];
  kept: { key: string; from: unknown; to: unknown }[];
  kept_because: string | null;
  known: boolean;
  version: string | null;
}

async function syncAll(db: Sql, policies: unknown, options: Options = {}): Promise<Synced[]> {
  return await db.value("select jobforge_sync_policies($1, $2, $3, $4)", [
    JSON.stringify(policies),
    options.version ?? null,
    options.force ?? false,
    options.dry ?? false,
  ]);
}

async function sync(db: Sql, settings: Settings, options: Options = {}): Promise<Synced> {
  const [synced] = await syncAll(db, { a: settings }, options);
  return synced ?? expect.fail("a sync returns one result per type");
}

async function attemptsOf(db: Sql): Promise<unknown> {
  return (await db.value<Settings>("select jobforge_get_policy('a')"))["max_attempts"];
}

async function audited(db: Sql): Promise<unknown[]> {
  const rows = await db.query(
    "select meta from jobforge_audit_log where action = 'POLICY_SYNCED' order by id",
  );
  return rows.map(({ meta }) => meta);
}

/** Every row that a sync can write, with the transaction that wrote it. */
async function written(db: Sql): Promise<unknown> {
  return await db.value(`
    select jsonb_agg(t.x order by t.x) from (
      select (p.xmin::text || to_jsonb(p)) as x from jobforge.policies p
      union all select (d.xmin::text || to_jsonb(d)) from jobforge.declarations d
      union all select to_jsonb(a)::text from jobforge.audit_log a) t`);
}

test("the first definition of a type makes its policy, with one audit entry", async ({ db }) => {
  expect(await sync(db, { max_attempts: 1, redact: ["iban"] }, { version: "1" })).toEqual({
    type: "a",
    action: "created",
    changes: [
      { key: "max_attempts", from: 5, to: 1 },
      { key: "redact", from: [], to: ["iban"] },
    ],
    kept: [],
    kept_because: null,
    known: false,
    version: "1",
    updated_by: null,
  });
  expect(await attemptsOf(db)).toBe(1);
  expect(await audited(db)).toEqual([
    { changes: { max_attempts: 1, redact: ["iban"] }, version: "1", forced: false },
  ]);
  expect(await db.value("select tenant_id from jobforge.audit_log")).toBe(allTenants);
});

test.for([{}, { version: "1" }])(
  "the same definition of the same version writes nothing: %o",
  async (options, { db }) => {
    await sync(db, { max_attempts: 1, cap_ms: null }, options);
    const before = await written(db);
    const again = await sync(db, { cap_ms: null, max_attempts: 1 }, options);
    expect(again).toMatchObject({ action: "unchanged", changes: [], kept: [], known: true });
    expect(await written(db)).toEqual(before);
  },
);

test("a dry run changes nothing and returns what a sync returns", async ({ db }) => {
  await sync(db, { max_attempts: 3 }, { version: "1" });
  const before = await written(db);
  const planned = await sync(db, { max_attempts: 2, jitter: 0.5 }, { version: "2", dry: true });
  expect(await written(db)).toEqual(before);
  expect(await sync(db, { max_attempts: 2, jitter: 0.5 }, { version: "2" })).toEqual(planned);
});

test("the version that came last is in force, and a worker of an earlier one changes nothing", async ({
  db,
}) => {
  await sync(db, { max_attempts: 1 }, { version: "9f3c" });
  expect(await sync(db, { max_attempts: 2 }, { version: "0a1b" })).toMatchObject({ action: "changed" });
  const before = await written(db);
  expect(await sync(db, { max_attempts: 1 }, { version: "9f3c", dry: true })).toMatchObject({
    action: "unchanged",
    changes: [],
    kept: [{ key: "max_attempts", from: 2, to: 1 }],
    kept_because: "newer_version",
    version: "0a1b",
  });
  await sync(db, { max_attempts: 1 }, { version: "9f3c" });
  // Nor does one that gives no version.
  expect(await sync(db, { max_attempts: 3 })).toMatchObject({ kept_because: "newer_version" });
  expect(await attemptsOf(db)).toBe(2);
  expect(await audited(db)).toHaveLength(2);
  expect(((await written(db)) as unknown[]).length).toBe((before as unknown[]).length);
});

test("a new version is remembered even if its definition says the same, or nothing", async ({ db }) => {
  await sync(db, {}, { version: "1" });
  await sync(db, { max_attempts: 2 }, { version: "2" });
  await sync(db, { max_attempts: 2 }, { version: "3" });
  await sync(db, { max_attempts: 4 }, { version: "4" });
  for (const [version, settings] of [
    ["1", {}],
    ["2", { max_attempts: 2 }],
    ["3", { max_attempts: 2 }],
  ] as const)
    expect(await sync(db, settings, { version })).toMatchObject({ action: "unchanged", version: "4" });
  expect(await attemptsOf(db)).toBe(4);
  expect(await audited(db)).toHaveLength(2);
});

test("force rolls back to an earlier version, which is then the newest", async ({ db }) => {
  await sync(db, { max_attempts: 1 }, { version: "1" });
  await sync(db, { max_attempts: 2 }, { version: "2" });
  expect(await sync(db, { max_attempts: 1 }, { version: "1", force: true })).toMatchObject({
    action: "changed",
    version: "1",
  });
  expect(await sync(db, { max_attempts: 2 }, { version: "2" })).toMatchObject({ action: "unchanged" });
  expect(await attemptsOf(db)).toBe(1);
  expect((await audited(db)).at(-1)).toEqual({ changes: { max_attempts: 1 }, version: "1", forced: true });
});

test("without versions, the definition that came last is in force", async ({ db }) => {
  for (const max_attempts of [1, 2, 1]) {
    await sync(db, { max_attempts });
    expect(await attemptsOf(db)).toBe(max_attempts);
  }
  expect(await audited(db)).toHaveLength(3);
});

test("a setting that an operator has changed by hand stays until the definition itself changes", async ({
  db,
}) => {
  await sync(db, { max_attempts: 5, base_ms: 2000 }, { version: "1" });
  await setPolicy(db, "a", { max_attempts: 1 });
  for (const version of ["1", "2"])
    expect(await sync(db, { max_attempts: 5, base_ms: 2000 }, { version })).toMatchObject({
      action: "unchanged",
      kept: [{ key: "max_attempts", from: 1, to: 5 }],
      kept_because: "set_by_hand",
    });
  // Other settings of the definition are applied.
  await sync(db, { max_attempts: 5, base_ms: 3000 }, { version: "3" });
  expect(await db.value("select jobforge_get_policy('a')")).toMatchObject({
    max_attempts: 1,
    base_ms: 3000,
    by_hand: ["max_attempts"],
  });
  expect(await sync(db, { max_attempts: 7, base_ms: 3000 }, { version: "4" })).toMatchObject({
    action: "changed",
    changes: [{ key: "max_attempts", from: 1, to: 7 }],
  });
  expect(await db.value("select jobforge_get_policy('a')")).toMatchObject({ max_attempts: 7, by_hand: [] });
});

test("a setting made by hand before the first definition stays, and force takes it over", async ({ db }) => {
  await setPolicy(db, "a", { preset: "patient", jitter: 0.5 });
  expect(await sync(db, { base_ms: 1000, redact: ["pin"] })).toMatchObject({
    changes: [{ key: "redact", from: [], to: ["pin"] }],
    kept: [{ key: "base_ms", from: 30_000, to: 1000 }],
  });
  expect(await sync(db, { base_ms: 1000, redact: ["pin"] }, { force: true })).toMatchObject({
    changes: [{ key: "base_ms", from: 30_000, to: 1000 }],
    kept: [],
  });
  expect(await db.value("select jobforge_get_policy('a')")).toMatchObject({
    base_ms: 1000,
    jitter: 0.5,
    by_hand: ["cap_ms", "factor", "jitter", "max_attempts"],
  });
});

test("what a definition no longer says goes back to the default, unless it was set by hand", async ({
  db,
}) => {
  await sync(db, { max_attempts: 2, timeout_ms: 1000, retention_days: 3 });
  await setPolicy(db, "a", { retention_days: 9 });
  expect(await sync(db, { timeout_ms: 1000 })).toMatchObject({
    action: "changed",
    changes: [{ key: "max_attempts", from: 2, to: 5 }],
    kept: [],
  });
  expect(await db.value("select jobforge_get_policy('a')")).toMatchObject({
    max_attempts: 5,
    timeout_ms: 1000,
    retention_days: 9,
  });
});

test("operators sync, workers only with a dry run, and others not at all", async ({ db }) => {
  expect(await sync(await login(db, "jobforge_operator"), { max_attempts: 2 })).toMatchObject({
    action: "created",
  });
  for (const worker of [await login(db, "jobforge_worker"), await boundLogin(db, T, "jobforge_worker")]) {
    expect(await sync(worker, { max_attempts: 1 }, { dry: true })).toMatchObject({ action: "changed" });
    await expectError(sync(worker, { max_attempts: 1 }), "42501");
  }
  for (const role of ["jobforge_tenant", "jobforge_app", "jobforge_reader"])
    expect(await codeOf(sync(await login(db, role), {}, { dry: true }))).toBe("42501");
  expect(await attemptsOf(db)).toBe(2);
});

test("a wrong policy, type or version is refused, and nothing is written", async ({ db }) => {
  const wrong: [unknown, Options, string][] = [
    [null, {}, "policies"],
    [[], {}, "policies"],
    [{ "*": { max_attempts: 1 } }, {}, "policies"],
    [{ "": {} }, {}, "type"],
    [{ a: { max_attempts: 2 }, b: [] }, {}, "policy"],
    [{ a: { max_attempts: 2 }, b: { maximum: 1 } }, {}, "maximum"],
    [{ a: { max_attempts: 2 }, b: { max_attempts: 0 } }, {}, "max_attempts"],
    [{ a: { max_attempts: "many" } }, {}, "policy"],
    [{ a: {} }, { version: "x".repeat(201) }, "version"],
    [{ a: {} }, { version: "" }, "version"],
  ];
  const before = await written(db);
  for (const [policies, options, field] of wrong)
    await expectError(syncAll(db, policies, options), "JF002", field);
  expect(await written(db)).toEqual(before);
});

test("only the newest hundred versions of a type are remembered", async ({ db }) => {
  for (let version = 1; version <= 103; version++) await sync(db, {}, { version: `v${version}` });
  expect(await db.value("select count(*)::int from jobforge.declarations")).toBeLessThanOrEqual(101);
  expect(await sync(db, { max_attempts: 1 }, { version: "v50" })).toMatchObject({
    kept_because: "newer_version",
  });
});

test("an operator's change waits for a sync under way, and neither is lost", async ({ db }) => {
  const [worker, operator] = [await db.connect(), await db.connect()];
  await worker.query("begin");
  await sync(worker, { base_ms: 7 });
  const blocked = await backendOf(operator);
  const set = setPolicy(operator, "a", { max_attempts: 2 });
  await untilBlocked(db, blocked);
  // Jobs are enqueued, claimed and settled meanwhile.
  const { id } = await enqueue(db, { type: "a" });
  await claim(db);
  await complete(db, id);
  await worker.query("commit");
  await set;
  expect(await db.value("select jobforge_get_policy('a')")).toMatchObject({ base_ms: 7, max_attempts: 2 });
});

async function enqueueBulk(db: Sql, jobs: Settings[]): Promise<{ id: string }[]> {
  return await db.value("select jobforge_enqueue_jobs($1, $2)", [T, JSON.stringify(jobs)]);
}

const callers: Record<string, (db: Sql, job: Settings) => Promise<number>> = {
  alone: async (db, job) => (await enqueue(db, { type: "a", ...job })).max_attempts,
  "with a key": async (db, job) => (await enqueue(db, { type: "a", dedupe_key: "k", ...job })).max_attempts,
  "among many": async (db, job) => {
    const [made] = await enqueueBulk(db, [{ type: "a", ...job }, { type: "b" }]);
    return await db.value("select max_attempts from jobforge_jobs where id = $1", [made?.id]);
  },
};

for (const [how, attemptsWith] of Object.entries(callers))
  test(`a job enqueued ${how} gets the attempts of the caller, of an operator, of the definition, of the policy`, async ({
    db,
  }) => {
    await setPolicy(db, "*", { max_attempts: 9 });
    expect(await attemptsWith(db, { default_attempts: 1 })).toBe(1);
    expect(await attemptsWith(db, { dedupe_key: "2", default_attempts: 1, max_attempts: 4 })).toBe(4);
    await sync(db, { max_attempts: 2 });
    expect(await attemptsWith(db, { dedupe_key: "3", default_attempts: 1 })).toBe(1);
    expect(await attemptsWith(db, { dedupe_key: "4" })).toBe(2);
    await setPolicy(db, "a", { max_attempts: 3 });
    expect(await attemptsWith(db, { dedupe_key: "5", default_attempts: 1 })).toBe(3);
    expect(await attemptsWith(db, { dedupe_key: "6", default_attempts: 1, max_attempts: 4 })).toBe(4);
  });

test("a number of attempts that a definition cannot have is refused", async ({ db }) => {
  await expectError(enqueue(db, { default_attempts: 0 }), "JF002", "default_attempts");
  await expectError(
    enqueueBulk(db, [{ type: "a", default_attempts: 0 }]),
    "JF002",
    "jobs[0].default_attempts",
  );
});
