/** /v1/policies and /v1/types/{type}/policy. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("an operator sees the default policy of a type, and sets its own", async ({ operator }) => {
  const path = `/v1/types/${encodeURIComponent("video/encode")}/policy`;
  expect((await operator(path)).body).toMatchObject({ type: "*" });
  const set = await operator(path, { method: "PATCH", body: { preset: "gentle", lease_ms: 60_000 } });
  expect(set.body).toMatchObject({ type: "video/encode", base_ms: 10_000, lease_ms: 60_000 });
});

test("an operator lists policies page by page, and resets one", async ({ app, operator }) => {
  for (const type of ["mail.send", "video/encode"])
    await operator(`/v1/types/${encodeURIComponent(type)}/policy`, {
      method: "PATCH",
      body: { max_attempts: 2 },
    });
  const first = await operator("/v1/policies?limit=2");
  expect(first.body).toMatchObject({ items: [{ type: "*" }, { type: "mail.send" }], cursor: "mail.send" });
  const second = await operator("/v1/policies?limit=2&cursor=mail.send");
  expect(second.body).toMatchObject({ items: [{ type: "video/encode", max_attempts: 2 }], cursor: null });
  const path = `/v1/types/${encodeURIComponent("video/encode")}/policy`;
  const reset = await operator(path, { method: "DELETE" });
  expect(reset.body).toMatchObject({ type: "video/encode", reset: true, policy: { type: "*" } });
  expect((await operator(path, { method: "DELETE" })).body).toMatchObject({ reset: false });
  expect((await operator("/v1/policies")).body).toMatchObject({
    items: [{ type: "*" }, { type: "mail.send" }],
  });
  expect((await app("/v1/policies")).status).toBe(403);
  expect((await app(path, { method: "DELETE" })).status).toBe(403);
});

test("a text that cannot be a type is refused", async ({ operator }) => {
  const path = `/v1/types/${encodeURIComponent("Send Mail!")}/policy`;
  const refused = await operator(path, { method: "PATCH", body: { max_attempts: 2 } });
  expect(refused).toMatchObject({ status: 400, body: { code: "JF002", field: "type" } });
});
