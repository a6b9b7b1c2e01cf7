/** Assertions about enqueued jobs. */
import { defineJob, JobForge, typed } from "@jobforge/sdk-ts";
import { assertEnqueued, assertNotEnqueued, drain } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";

const tenantId = "11111111-1111-4111-8111-111111111111";
const other = "22222222-2222-4222-8222-222222222222";
const mail = defineJob({
  type: "mail.send",
  input: typed<{ to: string; order?: { id: number; lines: readonly { sku: string; n: number }[] } }>(),
});
const order = { id: 7, lines: [{ sku: "a", n: 1 }] };

test("a job is found by its definition, type, tenant, part of its payload, tags and status", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url });
  await forge.enqueue(mail, { to: "ada@example.com", order }, { tenantId, tags: ["vip", "eu"] });
  await assertEnqueued(forge, { job: mail });
  await assertEnqueued(forge, { type: "mail.send", tenantId });
  await assertEnqueued(forge, { job: mail, tags: "vip", status: "queued", count: 1 });
  const [job] = await assertEnqueued(forge, {
    job: mail,
    payload: { to: "ada@example.com", order: { lines: [{ sku: "a" }] } },
  });
  expect(job).toMatchObject({ type: "mail.send", tenantId, payload: { order: { id: 7 } } });
});

test("a job that differs in one point is not found", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  await forge.enqueue(mail, { to: "ada@example.com", order }, { tenantId });
  for (const wanted of [
    { type: "mail.sent" },
    { job: mail, tenantId: other },
    { job: mail, tags: "vip" },
    { job: mail, status: "running" },
    { job: mail, payload: { to: "ada" } },
    { job: mail, payload: { order: { id: 8 } } },
    { job: mail, payload: { order: { lines: [] } } },
    { job: mail, payload: { order: { lines: [{ sku: "a" }, { sku: "b" }] } } },
  ] as const) {
    await expect(assertEnqueued(forge, wanted), JSON.stringify(wanted)).rejects.toThrow("found 0");
    await assertNotEnqueued(forge, wanted);
  }
});

test("a failed assertion says what was expected, and shows the jobs that there are", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const wanted = { job: mail, tenantId: other, payload: { to: "bob@example.com" } };
  await expect(assertEnqueued(forge, wanted)).rejects.toThrow("There are no jobs.");
  await forge.enqueue(mail, { to: "ada@example.com" }, { tenantId });
  await expect(assertEnqueued(forge, wanted)).rejects.toMatchObject({
    name: "AssertionError",
    message:
      `Expected at least one job of type mail.send of tenant ${other} with payload {"to":"bob@example.com"}, ` +
      `found 0.\nThese jobs exist, newest first:\n  mail.send queued, tenant ${tenantId}: {"to":"ada@example.com"}`,
  });
  await expect(assertNotEnqueued(forge, { job: mail })).rejects.toThrow(
    /^Expected no job of type mail.send, found 1\.\n/,
  );
  await expect(assertEnqueued(forge, { job: mail, count: 2 })).rejects.toThrow(
    /^Expected 2 jobs of type mail.send, found 1\.\n/,
  );
});

test("jobs count in every status, and on every page", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const jobs = Array.from({ length: 150 }, (_, n) => ({ job: mail, input: { to: `${n}@example.com` } }));
  await forge.enqueueMany(jobs, { tenantId });
  await assertEnqueued(forge, { job: mail, status: "queued", count: 150 });
  await drain(forge, [mail.handle(() => undefined)]);
  await assertEnqueued(forge, { job: mail, tenantId, count: 150 });
  await assertNotEnqueued(forge, { job: mail, status: "queued" });
});

test("a login that sees only its own tenant can use them with its tenant", async ({ db }) => {
  await using owner = new JobForge({ database: db.url });
  await owner.enqueue(mail, { to: "ada@example.com" }, { tenantId });
  await owner.enqueue(mail, { to: "bob@example.com" }, { tenantId: other });
  const login = await db.createLogin("jobforge_tenant");
  await db.query("select jobforge_bind_role($1, $2)", [login.role, tenantId]);
  await using forge = new JobForge({ database: login.url });
  await assertEnqueued(forge, { job: mail, tenantId, count: 1 });
  const failure: unknown = await assertEnqueued(forge, { job: mail, tenantId, count: 2 }).catch((e) => e);
  expect(String(failure)).toContain("ada@example.com");
  expect(String(failure)).not.toContain("bob@example.com");
});

test("wrong options are errors that name the option", async ({ db }) => {
  await using forge = new JobForge({ database: db.url });
  const misspelled = { typ: "mail.send" };
  await expect(assertEnqueued(forge, misspelled as object)).rejects.toThrow("Unknown option typ");
  await expect(assertEnqueued(forge, { count: -1 })).rejects.toThrow("count must be");
  await expect(assertEnqueued(forge, { job: mail, type: "mail.send" })).rejects.toThrow("either job or type");
  await expect(assertNotEnqueued(forge, { count: 1 } as object)).rejects.toThrow("has no option count");
});
