/** jobforge_get_job: one job of a tenant. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import {
  claim,
  codeOf,
  complete,
  enqueueAll,
  expectError,
  find,
  type Job,
  type Sql,
  T,
  U,
  unknownId,
} from "../support/kernel.ts";
import { boundLogin } from "../support/tenants.ts";

test("a tenant gets its own job, live or finished, as the view shows it, and no other tenant's job", async ({
  db,
}) => {
  const [live, finished] = await enqueueAll(db, [{}, { priority: 1, payload: { large: "x".repeat(5000) } }]);
  await claim(db, "w1", { limit: 1 });
  await complete(db, finished);
  const get = async (caller: Sql, id: string | null, tenant: string | null = T): Promise<Job[]> =>
    await caller.query<Job>("select * from jobforge_get_job($1, $2)", [id, tenant]);
  for (const id of [live, finished]) {
    expect(await get(db, id)).toEqual([await find(db, id)]);
    expect(await get(db, id, U)).toEqual([]);
    expect(await get(await boundLogin(db, T, "jobforge_tenant"), id)).toHaveLength(1);
    expect(await codeOf(get(await boundLogin(db, U, "jobforge_tenant"), id))).toBe("42501");
  }
  expect(await get(db, unknownId)).toEqual([]);
  expect(await get(db, null)).toEqual([]);
  await expectError(get(db, live, null), "JF001");
});
