/** Ids of tenants that are not uuids: the kernel finds the same uuids as the SDKs, in calls and in claims. */
import { createHash } from "node:crypto";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { tenantIdVectors as examples } from "../../../test/vectors.ts";

const claimed = "select jobforge.claimed_tenant($1)";

test("a text is a version 5 uuid, and a uuid in any spelling is itself", async ({ db }) => {
  expect(await db.value("select jobforge.tenant_namespace()")).toBe(examples.namespace);
  for (const { text, uuid } of [...examples.mapped, ...examples.spelled]) {
    expect(await db.value("select jobforge_tenant_id($1)", [text]), text).toBe(uuid);
    expect(await db.value(claimed, [JSON.stringify({ tenant_id: text })]), text).toBe(uuid);
    expect(await db.value(claimed, [JSON.stringify({ app_metadata: { tenant_id: text } })])).toBe(uuid);
  }
});

test("a number in the claims is the same tenant as its text", async ({ db }) => {
  for (const { number, text } of examples.numbers)
    expect(await db.value(claimed, [JSON.stringify({ tenant_id: number })])).toBe(
      await db.value("select jobforge_tenant_id($1)", [text]),
    );
  expect(await db.value(claimed, ['{"tenant_id": 42.0}'])).toBe(
    await db.value(claimed, ['{"tenant_id": "42"}']),
  );
});

test("what names no tenant is refused", async ({ db }) => {
  for (const text of [...examples.refused, null])
    await expect(db.query("select jobforge_tenant_id($1)", [text])).rejects.toMatchObject({ code: "JF002" });
  for (const claim of examples.refusedClaims)
    expect(await db.value(claimed, [`{"tenant_id": ${claim}}`]), claim).toBeNull();
});

test("the hash is SHA-1 for every length around the size of a block", async ({ db }) => {
  for (const length of [0, 1, 54, 55, 56, 63, 64, 65, 119, 120, 128, 1000]) {
    const bytes = Buffer.from(Array.from({ length }, (_, place) => (place * 37) % 256));
    const hash = createHash("sha1").update(bytes).digest("hex");
    expect(await db.value("select encode(jobforge.sha1($1), 'hex')", [bytes]), String(length)).toBe(hash);
  }
});
