/** jobforge_search_jobs: operators list the jobs of all tenants. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  codeOf,
  complete,
  enqueueAll,
  expectError,
  type Job,
  type Sql,
  T,
  U,
  unknownId,
} from "../support/kernel.ts";
import { claimAll } from "../support/settle.ts";
import { boundLogin, login } from "../support/tenants.ts";

test("operators search the jobs of all tenants, or of one", async ({ db }) => {
  const [t1, u1, t2, u2] = await enqueueAll(db, [
    {},
    { tenant_id: U },
    { type: "b" },
    { tenant_id: U, type: "b" },
  ]);
  await claimAll(db);
  for (const id of [t1, u1]) await complete(db, id);
  const operator = await login(db, "jobforge_operator");
  const search = async (caller: Sql, filters: unknown): Promise<string[]> =>
    (await caller.query<Job>("select * from jobforge_search_jobs($1)", [JSON.stringify(filters)])).map(
      (job) => job.id,
    );
  expect(await search(operator, {})).toEqual([u2, t2, u1, t1]);
  expect(await search(operator, { tenant_id: U })).toEqual([u2, u1]);
  expect(await search(operator, { type: "b" })).toEqual([u2, t2]);
  expect(await search(operator, { tenant_id: T, status: "succeeded" })).toEqual([t1]);
  expect(await search(operator, { limit: 2, cursor: u2 })).toEqual([t2, u1]);
  expect(await search(operator, { tenant_id: unknownId })).toEqual([]);
  await expectError(search(operator, { tenant_id: "x" }), "JF002", "tenant_id");
  await expectError(search(operator, { tenant: U }), "JF002", "tenant");
  for (const role of ["jobforge_tenant", "jobforge_app", "jobforge_worker", "jobforge_reader"]) {
    expect(await codeOf(search(await login(db, role), {}))).toBe("42501");
  }
  expect(await codeOf(search(await boundLogin(db, T, "jobforge_operator"), {}))).toBe("42501");
});
