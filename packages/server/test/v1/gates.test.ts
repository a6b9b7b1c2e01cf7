/** /v1/gates. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("an operator pauses a type, and sees the closed gate", async ({ operator }) => {
  const paused = await operator("/v1/gates", {
    method: "PUT",
    body: { scope: "type", key: "a", paused: true, reason: "r" },
  });
  expect(paused.body).toMatchObject({ scope: "type", key: "a", paused: true });
  expect((await operator("/v1/audit?action=GATE_PAUSED")).body).toMatchObject({
    items: [{ id: paused.body["audit_id"], entity_id: "type:a" }],
  });
  const other = { scope: "type", key: "b", paused: false };
  expect((await operator("/v1/gates", { method: "PUT", body: other })).body).toMatchObject({
    audit_id: null,
  });
  expect((await operator("/v1/gates")).body).toMatchObject({
    items: [{ scope: "type", key: "a", reason: "r", waiting: 0, exact: true }],
    cursor: null,
  });
});
