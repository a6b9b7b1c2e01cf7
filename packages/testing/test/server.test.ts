/** Servers for test runs. */
import { cloneDatabase, startTestServer } from "@jobforge/testing";
import { expect, inject, test } from "vitest";

test("one server serves several test runs of one process, each with its own template", async () => {
  const { url } = inject("server");
  await using one = await startTestServer({ url });
  await using other = await startTestServer({ url });
  expect(one.template).not.toBe(other.template);
  await using db = await cloneDatabase(other);
  expect(await db.value("select count(*)::int from jobforge_jobs")).toBe(0);
});
