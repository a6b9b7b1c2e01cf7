/** The database stops and starts again. */
import { expect } from "vitest";
import { test } from "../../worker-ts/test/support/own-server.ts";
import { openEvents } from "./support/events.ts";
import { appToken, startServer, T } from "./support/server.ts";

test("requests get 503 with Retry-After, and streams continue where they were", async ({
  server,
  ownDb: db,
}) => {
  await using http = await startServer(db);
  const token = await appToken(T);
  const enqueue = async (type: string): Promise<number> =>
    (await http.request("/v1/jobs", { token, body: { type } })).status;
  expect(await enqueue("before")).toBe(201);
  await using events = await openEvents(`${http.url}/v1/stream`, token);
  await events.next(({ event, data }) => event === "changed" && data["queued"] === 1);

  await server.stop();
  const refused = await http.request("/v1/jobs", { token, body: { type: "lost" } });
  expect([refused.status, await refused.json()]).toMatchObject([503, { name: "unavailable" }]);
  expect(refused.headers.get("retry-after")).toBe("1");
  expect([(await http.request("/healthz")).status, (await http.request("/readyz")).status]).toEqual([
    200, 503,
  ]);

  await server.start();
  await using connection = await db.connect();
  await connection.query("select jobforge_complete_job(id, 'w', 'succeeded') from jobforge_claim_jobs('w')");
  const { data } = await events.next(({ event }) => event === "finished");
  expect(data).toMatchObject({ type: "before", status: "succeeded" });
  expect(await enqueue("after")).toBe(201);
  expect(events.ended).toBe(false);
});
