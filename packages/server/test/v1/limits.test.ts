/** /v1/limits. */
import { expect } from "vitest";
import { test } from "../support/client.ts";

test("an operator limits how many jobs run and start", async ({ app, operator, db }) => {
  const put = (body: object) => operator("/v1/limits", { method: "PUT", body });
  expect((await put({ scope: "type", key: "a", max_running: 1 })).body).toMatchObject({
    max_running: 1,
    rate: null,
  });
  expect((await put({ scope: "tenant", key: "*", rate: 10, per: "1 minute" })).body).toMatchObject({
    rate: 10,
    per: "00:01:00",
    burst: 10,
  });
  await app("/v1/bulk/enqueue", { body: { jobs: [{ type: "a" }, { type: "a" }] } });
  expect(await db.query("select id from jobforge_claim_jobs('w', 10)")).toHaveLength(1);
  expect((await operator("/v1/limits")).body["items"]).toMatchObject([
    { scope: "tenant", key: "*" },
    { scope: "type", key: "a" },
  ]);
  const remove = () => operator("/v1/limits?scope=type&key=a", { method: "DELETE" });
  expect((await remove()).body).toEqual({ scope: "type", key: "a", removed: true });
  expect((await remove()).body).toMatchObject({ removed: false });
  expect(await put({ scope: "type", key: "a", rate: 10 })).toMatchObject({
    status: 400,
    body: { field: "per" },
  });
  expect((await app("/v1/limits")).status).toBe(403);
});
