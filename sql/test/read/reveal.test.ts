/** Masked views of a job, and jobforge_reveal_job. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { claim, codeOf, complete, enqueue, type Sql, setPolicy, T, U, unknownId } from "../support/kernel.ts";
import { login } from "../support/tenants.ts";

const masked = async (db: Sql, document: unknown): Promise<unknown> =>
  db.value("select jobforge.masked($1, 'a')", [JSON.stringify(document)]);

test("the values of listed keys are masked, whatever they are and at any depth", async ({ db }) => {
  const document = { Pin: 12, list: [{ pin: [1, 2] }, "pin", { other: { PIN: null } }], pinned: 5 };
  expect(await masked(db, document)).toEqual(document);
  await setPolicy(db, "a", { redact: ["pin", 'quo"te'] });
  expect(await masked(db, document)).toEqual({
    Pin: "[redacted]",
    list: [{ pin: "[redacted]" }, "pin", { other: { PIN: "[redacted]" } }],
    pinned: 5,
  });
  expect(await masked(db, { 'quo"te': 1 })).toEqual({ 'quo"te': "[redacted]" });
  expect(await masked(db, null)).toBeNull();
  let deep: unknown = { pin: 1 };
  for (let level = 0; level < 200; level += 1) deep = [deep];
  expect(JSON.stringify(await masked(db, deep))).not.toContain("1");
});

test("an operator reveals a job, and the audit log says so", async ({ db }) => {
  await setPolicy(db, "a", { redact: ["pin"] });
  const { id } = await enqueue(db, { payload: { pin: 1 } });
  await claim(db);
  await complete(db, id, { result: { pin: 2 } });
  const shown = (how: string): Promise<unknown> => db.value(`select ${how}`, [id, T]);
  expect(await shown("payload from jobforge_get_job($1, $2, true)")).toEqual({ pin: "[redacted]" });
  expect(await shown("payload from jobforge_get_job($1, $2)")).toEqual({ pin: 1 });
  expect(await shown("jobforge_get_result($1, $2, true) -> 'result'")).toEqual({ pin: "[redacted]" });
  const operator = await login(db, "jobforge_operator");
  const reveal = (by: Sql, job: string, tenant = T): Promise<unknown> =>
    by.value("select jobforge_reveal_job($1, $2)", [job, tenant]);
  expect(await reveal(operator, id)).toEqual({ payload: { pin: 1 }, progress: null, result: { pin: 2 } });
  expect(await reveal(operator, unknownId)).toBeNull();
  expect(await reveal(operator, id, U)).toBeNull();
  expect(await db.query("select entity_id from jobforge_audit_log where action = 'JOB_REVEALED'")).toEqual([
    { entity_id: id },
  ]);
  for (const role of ["jobforge_tenant", "jobforge_reader", "jobforge_worker"])
    expect(await codeOf(reveal(await login(db, role), id))).toBe("42501");
});
