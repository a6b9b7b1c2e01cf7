/** /v1/workers. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("an operator sees the workers that send heartbeats", async ({ operator, db }) => {
  await db.query(`select jobforge_heartbeat_worker('w1', '{"types": ["a"], "concurrency": 3}')`);
  expect((await operator("/v1/workers")).body).toMatchObject({
    items: [{ id: "w1", status: "alive", concurrency: 3 }],
  });
});
