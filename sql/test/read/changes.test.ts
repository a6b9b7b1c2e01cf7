/** jobforge_list_changes: what a page that is open should read again. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { leastCost } from "../support/cost.ts";
import { codeOf, enqueue, type Sql, T, U, workerHeartbeat } from "../support/kernel.ts";
import { boundLogin, login } from "../support/tenants.ts";

interface Changes {
  readonly entries: readonly { readonly id: number; readonly kind: string }[];
  readonly more: boolean;
  readonly workers: object | null;
}

const changes = (db: Sql, since: Date | null, tenant: string | null = null): Promise<Changes> =>
  db.value<Changes>("select jobforge_list_changes($1, $2)", [tenant, since]);

const kinds = async (db: Sql, since: Date | null, tenant: string | null = null): Promise<string[]> =>
  (await changes(db, since, tenant)).entries.map(({ kind }) => kind);

const now = (db: Sql): Promise<Date> => db.value<Date>("select clock_timestamp()");

test("the entries since a time say what was changed, the newest first", async ({ db }) => {
  const before = await now(db);
  await db.query("select jobforge_set_gate('type', 'a', true)");
  const between = await now(db);
  await db.query("select jobforge_set_limit('type', 'a', 5)");
  await db.query("select jobforge_set_policy('a', '{\"max_attempts\": 2}')");
  expect(await kinds(db, before)).toEqual(["type", "limit", "gate"]);
  expect(await kinds(db, between)).toEqual(["type", "limit"]);
  expect(await kinds(db, null)).toEqual([]);
  expect(await kinds(db, await now(db))).toEqual([]);
});

test("of many entries it reads the newest hundred, and says that there are more", async ({ db }) => {
  const before = await now(db);
  await db.query(
    `insert into jobforge.audit_log (at, tenant_id, actor, action, entity_type, entity_id)
     select clock_timestamp(), $1, 'a', 'X', 'job', n from generate_series(1, 20000) n`,
    [T],
  );
  const found = await changes(db, before);
  expect([found.entries.length, found.more]).toEqual([100, true]);
  for (const tenant of [null, T, U]) {
    const call = "select jobforge_list_changes($1, $2)";
    for (let i = 0; i < 6; i += 1) await db.query(call, [tenant, before]);
    expect((await leastCost(db, call, [tenant, before])).buffers).toBeLessThan(150);
  }
});

test("the mark of the workers changes when one comes, stops or goes silent, and at no other time", async ({
  db,
}) => {
  const marks: string[] = [];
  const note = async (): Promise<void> => {
    marks.push(JSON.stringify((await changes(db, null)).workers));
  };
  await note();
  await workerHeartbeat(db, "w1", { instance: "i" });
  await note();
  await workerHeartbeat(db, "w2", { instance: "i" });
  await note();
  await workerHeartbeat(db, "w2", { instance: "i", stopped: true });
  await note();
  await workerHeartbeat(db, "w1", { instance: "again" });
  await note();
  const settled = (await changes(db, null)).workers;
  await workerHeartbeat(db, "w1", { instance: "again" });
  expect((await changes(db, null)).workers).toEqual(settled);
  await db.travel("2 minutes");
  await note();
  expect(new Set(marks).size).toBe(6);
});

test("tenants see their own entries and no workers; all tenants are for operators and readers", async ({
  db,
}) => {
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  const before = await now(db);
  for (const tenant_id of [T, U]) {
    const { id } = await enqueue(db, { tenant_id });
    await db.query("select jobforge_cancel_job($1, $2)", [id, tenant_id]);
  }
  await db.query("select jobforge_set_gate('all', null, true)");
  expect(await changes(tenant, before)).toMatchObject({ entries: [{ kind: "job" }], workers: null });
  expect(await codeOf(changes(tenant, before, U))).toBe("42501");
  expect(await codeOf(changes(await login(db, "jobforge_tenant"), before))).toBe("JF001");
  expect(await codeOf(changes(await login(db, "jobforge_worker"), before))).toBe("42501");
  for (const role of ["jobforge_reader", "jobforge_operator"]) {
    expect(await kinds(await login(db, role), before)).toEqual(["gate", "job", "job"]);
    expect(await kinds(await login(db, role), before, U)).toEqual(["job"]);
  }
});
