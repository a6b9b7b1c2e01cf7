/** /v1/stats. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("jobs are counted by status and type", async ({ operator, app }) => {
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "a" }] } });
  await app("/v1/bulk/cancel", { body: { filters: { type: "a" }, limit: 1 } });
  expect((await operator("/v1/stats")).body).toMatchObject({ totals: { queued: 1, canceled: 1 } });
  expect((await app("/v1/stats")).body).toMatchObject({ types: [{ type: "a", queued: 1 }] });
});
