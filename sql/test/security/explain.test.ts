/** What jobforge_explain_job tells a tenant: nothing of another tenant's jobs, keys, workers and gates. */
import type { TestDatabase } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, complete, enqueue, fail, T, U, workerHeartbeat } from "../support/kernel.ts";
import { setLimit } from "../support/limits.ts";
import { type Random, randomFrom } from "../support/random.ts";
import { boundLogin } from "../support/tenants.ts";
import { maintain } from "../support/usage.ts";

const types = ["a", "b"];
const keys = ["k", null];

/** Words that only the other tenant's rows contain. The keys and types that both tenants use are left out. */
const theirs = "their-own";

/** Adds one random job of a tenant, in a random state. U's jobs and workers have words of their own in every field. */
async function addJob(db: TestDatabase, tenant: string, random: Random): Promise<void> {
  const word = tenant === U ? theirs : "own";
  const type = random.pick(types);
  const { id } = await enqueue(db, {
    tenant_id: tenant,
    type,
    payload: { word },
    subject: `${word}-subject`,
    tags: [`${word}-tag`],
    concurrency_key: random.pick(keys) ?? `${word}-key`,
    dedupe_key: `${word}-${random.below(1_000_000)}`,
    priority: random.below(3),
    ...(random.chance(0.2) ? { in: "1 hour" } : {}),
    ...(random.chance(0.2) ? { expires_in: "90 minutes" } : {}),
  });
  const worker = `${word}-worker-${random.below(3)}`;
  if (random.chance(0.5)) await workerHeartbeat(db, worker, { types: [type], host: `${word}-host` });
  const [run] = random.chance(0.7)
    ? await claim(db, worker, { limit: 1, types: [type], tenant_id: tenant })
    : [];
  if (run === undefined) return;
  const end = random.below(10);
  if (end < 2) await fail(db, run.id, { worker, error: { message: `${word}-error` } });
  else if (end === 2) await fail(db, run.id, { worker, retry: false, error: { message: `${word}-error` } });
  else if (end === 3) await complete(db, run.id, { worker });
  else if (end === 4) await db.query("select jobforge_cancel_job($1, $2)", [id, tenant]);
}

/** Returns every id, worker, key, subject and tag of U's rows. */
async function namesOfTheOther(db: TestDatabase): Promise<string[]> {
  const rows = await db.query<{ name: string }>(
    `select distinct n.name
     from jobforge_jobs j
     cross join lateral unnest(array[j.id::text, j.tenant_id::text, j.locked_by, j.subject, j.dedupe_key] || j.tags) n(name)
     where j.tenant_id = $1 and n.name is not null`,
    [U],
  );
  return rows.map(({ name }) => name);
}

test.for([1, 2, 3])("no explanation names anything of another tenant, seed %i", async (seed, { db }) => {
  const random = randomFrom(seed);
  await setLimit(db, "type", "a", { max: 3 });
  await setLimit(db, "type", "b", { max: 4, rate: 5, per: "1 hour" });
  await setLimit(db, "key", "*", { max: 1 });
  await setLimit(db, "tenant", U, { max: 7 });
  await db.query("select jobforge_set_gate('tenant', $1, true, $2)", [U, `${theirs}-reason`]);
  await db.query("select jobforge_set_gate('tenant', $1, false)", [U]);
  for (let each = 0; each < 60; each += 1) await addJob(db, random.chance(0.5) ? T : U, random);
  await db.query("select jobforge_set_gate('tenant', $1, true, $2)", [U, `${theirs}-reason`]);
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  const names = await namesOfTheOther(db);
  expect(names.length).toBeGreaterThan(20);
  const codes = new Set<string>();
  for (const offset of ["0", "70 minutes", "3 hours"]) {
    await db.travel(offset);
    await tenant.travel(offset);
    await maintain(db);
    const rows = await tenant.query<{ id: string; why: { code: string }[] }>(
      "select id, jobforge_explain_job(id, tenant_id) as why from jobforge_jobs",
    );
    expect(rows.length).toBeGreaterThan(10);
    for (const { why } of rows) {
      const text = JSON.stringify(why);
      expect(text).not.toContain(theirs);
      expect(names.filter((name) => text.includes(name))).toEqual([]);
      for (const { code } of why) codes.add(code);
    }
  }
  expect([...codes], "the seeds reach the limits").toEqual(expect.arrayContaining(["at_limit", "running"]));
});

test("the runs of others that hold the places of a type are a number, for operators they are named", async ({
  db,
}) => {
  await setLimit(db, "type", "a", { max: 3 });
  for (const tenant_id of [U, U, T, T, T]) await enqueue(db, { tenant_id });
  await claim(db, "w1", { types: ["a"] });
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  const explain =
    "select jobforge_explain_job(id, tenant_id) from jobforge_jobs where tenant_id = $1 and status = 'queued'";
  const [seen] = await tenant.value<{ details: Record<string, unknown> }[]>(explain, [T]);
  const running = await db.value<number>(
    "select count(*)::int from jobforge_jobs where status = 'running' and tenant_id = $1",
    [U],
  );
  expect(seen?.details).toMatchObject({ max_running: 3, held_by_others: running });
  expect(seen?.details["held_by"]).toHaveLength(3 - running);
  const [all] = await db.value<{ details: Record<string, unknown> }[]>(explain, [T]);
  expect(all?.details["held_by"]).toHaveLength(3);
  expect(all?.details).not.toHaveProperty("held_by_others");
});

test("jobs of another tenant whose lane is the same do not count as ahead", async ({ db }) => {
  await enqueue(db, { tenant_id: U });
  await enqueue(db);
  // Two tenants have the same lane only if their hashes are equal, so the test sets it.
  await db.query("alter table jobforge.queue drop constraint lane_is_the_tenants");
  await db.query("update jobforge.queue set lane = 7");
  const tenant = await boundLogin(db, T, "jobforge_tenant");
  const why = await tenant.value<{ code: string }[]>(
    "select jobforge_explain_job(id, tenant_id) from jobforge_jobs",
  );
  expect(why.map(({ code }) => code)).toContain("next");
});
