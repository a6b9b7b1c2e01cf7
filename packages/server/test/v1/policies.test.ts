/** /v1/types/{type}/policy. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("an operator sees the default policy of a type, and sets its own", async ({ operator }) => {
  const path = `/v1/types/${encodeURIComponent("video/encode")}/policy`;
  expect((await operator(path)).body).toMatchObject({ type: "*" });
  const set = await operator(path, { method: "PATCH", body: { preset: "gentle", lease_ms: 60_000 } });
  expect(set.body).toMatchObject({ type: "video/encode", base_ms: 10_000, lease_ms: 60_000 });
});
