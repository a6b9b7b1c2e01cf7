/** /v1/attention. */
import { expect } from "vitest";
import { clientOf, test } from "../support/client.ts";
import { appToken, sign, T, U } from "../support/server.ts";

test("each caller sees what needs attention of its own", async ({ app, operator, http }) => {
  const reader = clientOf(http, await sign({ role: "jobforge_reader" }));
  const other = clientOf(http, await appToken(U));
  expect((await operator("/v1/attention")).body).toEqual({ items: [], cursor: null });
  await app("/v1/jobs", { body: { type: "a" } });
  await other("/v1/jobs", { body: { type: "b" } });
  const ofA = {
    kind: "no_worker",
    severity: "error",
    message: "No live worker runs a: 1 job is due",
    count: 1,
    exact: true,
    target: "type",
    type: "a",
  };
  for (const client of [operator, reader])
    expect((await client("/v1/attention")).body["items"]).toMatchObject([{ type: "b" }, { type: "a" }]);
  expect((await app("/v1/attention")).body).toMatchObject({ items: [ofA], cursor: null });
  expect((await operator(`/v1/attention?tenant_id=${T}`)).body).toMatchObject({ items: [ofA] });
  expect(await app(`/v1/attention?tenant_id=${U}`)).toMatchObject({ status: 403 });
});
