/** /v1/audit. */
import { expect } from "vitest";
import { test } from "../support/client.ts";
import { T } from "../support/server.ts";

test("operators and tenants read the audit log, filtered and in pages", async ({ operator, app }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "a" }] } });
  await app("/v1/bulk/cancel", { body: { filters: { type: "a" }, limit: 1 } });
  const page = await operator(`/v1/audit?tenant_id=${T}&limit=1`);
  expect(page.body).toMatchObject({
    items: [{ action: expect.stringContaining("CANCELED"), tenant_id: T }],
  });
  expect((await app("/v1/audit?action=NO_SUCH")).body).toEqual({ items: [], cursor: null });
});
