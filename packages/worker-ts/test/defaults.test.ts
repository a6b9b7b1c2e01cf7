/** Times that the worker and the kernel must agree on. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { defaultHeartbeatMs, overrunFactor, workerTimeoutMs } from "../src/defaults.ts";

test.for([
  ["worker_timeout", workerTimeoutMs],
  ["heartbeat_interval", defaultHeartbeatMs],
] as const)("the worker has the kernel's %s", async ([name, milliseconds], { db }) => {
  expect(await db.value(`select extract(epoch from jobforge.${name}())::integer * 1000`)).toBe(milliseconds);
});

test("the worker has the kernel's overrun_factor", async ({ db }) => {
  expect(await db.value("select jobforge.overrun_factor()")).toBe(overrunFactor);
});
