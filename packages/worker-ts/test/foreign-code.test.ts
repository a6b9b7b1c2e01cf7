/** The statements of the client and the worker use no name that the search path of the application could redirect. */
import { defineJob, JobForge, typed } from "@jobforge/sdk-ts";
import { drain } from "@jobforge/testing";
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { plantTraps } from "../../../test/planting.ts";
import { callSamples } from "../../../test/samples.ts";
import { createWorker } from "../src/index.ts";

const tenantId = "11111111-1111-4111-8111-111111111111";

test("every function of the API is called without running into a trap", async ({ db }) => {
  const traps = await plantTraps(db);
  const { url } = await db.createLogin("jobforge_operator", "jobforge_worker");
  const { role } = await db.createLogin("jobforge_worker");
  await using forge = new JobForge({ database: url });
  await callSamples((name, args) => forge.transport.call(name, args), role);
  expect(await traps.caught()).toBeUndefined();
});

test("a login that names its tenant and a worker run into none", async ({ db }) => {
  const traps = await plantTraps(db);
  const job = defineJob({ type: "mail", input: typed<{ n: number }>() });
  const [app, worker] = [await db.createLogin("jobforge_app"), await db.createLogin("jobforge_worker")];
  await using forge = new JobForge({ database: app.url });
  const seen: number[] = [];
  const handler = job.handle(async ({ n }, context) => {
    await context.progress({ n });
    seen.push(n);
    if (n === 2) throw new Error("no");
  });
  const many = await forge.enqueueMany([1, 2].map((n) => ({ job, input: { n }, tenantId })));
  expect(many).toHaveLength(2);
  const { client } = await db.connect(app.url);
  await client.query("begin");
  await forge.with(client).enqueue(job, { n: 3 }, { tenantId });
  await client.query("commit");
  await using workers = new JobForge({ database: worker.url });
  await drain(workers, [handler]);
  expect(seen.toSorted()).toEqual([1, 2, 3]);
  // A worker that listens.
  const running = createWorker(workers, { handlers: [handler] });
  await running.start();
  const last = await forge.enqueue(job, { n: 4 }, { tenantId });
  await last.result();
  await running.stop();
  expect(await traps.caught()).toBeUndefined();
});

test("a time is the same time whatever the zone of the session calls Z", async ({ db }) => {
  const client = await db.connect();
  await client.query("set timezone = '<Z>5'");
  await using forge = new JobForge({ database: client.client });
  const runAt = new Date("2035-01-02T03:04:05.678Z");
  const { id } = await forge.enqueue(defineJob({ type: "mail" }), {}, { tenantId, runAt });
  expect((await forge.get(id, { tenantId }))?.runAt).toEqual(runAt);
});
