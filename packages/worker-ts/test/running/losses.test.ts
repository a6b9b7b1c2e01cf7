/** Results and progress that JSON would lose are refused with their path, and a schema checks the JSON form. */
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { expect, onTestFinished } from "vitest";
import { z } from "zod";
import { test } from "../../../../test/database.ts";
import { createWorker } from "../../src/index.ts";
import { keptLog, T } from "../support/work.ts";

test("a result that JSON would lose fails the job with its path, and functions are dropped", async ({
  db,
}) => {
  await using forge = new JobForge({ database: db.url });
  const returned: Record<string, unknown> = {
    map: { scores: new Map([["a", 1]]) },
    nan: { average: Number.NaN },
    big: { cents: 5n },
    late: { at: new Date(0) },
    driver: { rows: [1], parse: () => 1 },
  };
  const job = defineJob({ type: "any" });
  const dated = defineJob({ type: "dated", output: z.object({ at: z.date() }) });
  const handlers = [job.handle((name) => returned[String(name)]), dated.handle(() => ({ at: new Date(0) }))];
  const worker = createWorker(forge, { handlers, logger: keptLog().logger });
  for (const name of Object.keys(returned)) await forge.enqueue(job, name, { tenantId: T, subject: name });
  await forge.enqueue(dated, {}, { tenantId: T, subject: "dated" });
  await worker.tick();
  const ends: Record<string, unknown> = {};
  for await (const { subject, status, lastError, id } of forge.list({ tenantId: T }))
    ends[subject ?? ""] = status === "failed" ? lastError : await forge.result(id, { tenantId: T });
  expect(ends).toMatchObject({
    map: expect.stringMatching(/^result\.scores cannot .* a Map/),
    nan: expect.stringMatching(/^result\.average cannot .* NaN/),
    big: expect.stringMatching(/^result\.cents cannot/),
    dated: expect.stringMatching(/^output\.at: /),
    late: { at: "1970-01-01T00:00:00.000Z" },
    driver: { rows: [1] },
  });
});

test("progress that JSON would lose is refused, and the run goes on", async ({ db }) => {
  const forge = new JobForge({ database: db.url });
  onTestFinished(() => forge.close());
  const job = defineJob({ type: "any" });
  const errors: unknown[] = [];
  const handler = job.handle(async (_, { progress }) => {
    await progress({ share: 0 / 0 }).catch((error: unknown) => errors.push(error));
    await progress({ share: 0.5 });
  });
  const worker = createWorker(forge, { handlers: [handler], logger: keptLog().logger });
  await forge.enqueue(job, {}, { tenantId: T });
  expect((await worker.tick()).succeeded).toBe(1);
  expect(errors).toMatchObject([{ field: "progress.share", hint: expect.stringContaining("finite number") }]);
});
