/**
 * An application: enqueues in its own transaction, runs a worker, waits for the result, and tests itself. It is
 * compiled as an ES module, as CommonJS and into a bundle, and must print one line each time.
 */
import {
  createWorker,
  defineJob,
  JobForge,
  type JobHandle,
  type Logger,
  NotInstalledError,
  typed,
} from "jobforge";
import { assertEnqueued, assertNotEnqueued, cloneDatabase, drain, type TestDatabase } from "jobforge/testing";

const tenantId = "11111111-1111-4111-8111-111111111111";
const square = defineJob({
  type: "math.square",
  input: typed<{ n: number }>(),
  output: typed<{ squared: number }>(),
});
const handlers = [square.handle(({ n }) => ({ squared: n * n }))];
const logger: Logger = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};

/** The worker in the background runs a job that was enqueued in a transaction. */
async function work(db: TestDatabase, forge: JobForge): Promise<number> {
  const { client } = await db.connect();
  await client.query("begin");
  const job: JobHandle<typeof square> = await forge.with(client).enqueue(square, { n: 6 }, { tenantId });
  await client.query("commit");
  const worker = createWorker(forge, { handlers, logger });
  await worker.start();
  const { squared } = await job.result();
  await worker.stop();
  return squared;
}

/** A run inside a test, which must not log anything. */
async function run(forge: JobForge): Promise<number> {
  await forge.enqueue(square, { n: 7 }, { tenantId });
  await assertEnqueued(forge, { job: square, payload: { n: 7 }, status: "queued", count: 1 });
  const { succeeded } = await drain(forge, handlers);
  await assertNotEnqueued(forge, { job: square, status: "queued" });
  return succeeded;
}

/** The error of a database without JobForge. */
async function fail(url: string): Promise<unknown> {
  const db = await cloneDatabase({ url, template: "template0" });
  const forge = new JobForge({ database: db.url });
  const refusal: unknown = await forge
    .enqueue(square, { n: 1 }, { tenantId })
    .catch((error: unknown) => error);
  await forge.close();
  await db.drop();
  return refusal;
}

async function main(): Promise<void> {
  const [url = "", template = ""] = process.argv.slice(2);
  const db = await cloneDatabase({ url, template });
  const forge = new JobForge({ database: db.url });
  const squared = await work(db, forge);
  const succeeded = await run(forge);
  await forge.close();
  await db.drop();
  console.log(squared, succeeded, (await fail(url)) instanceof NotInstalledError);
}

main().catch((error: unknown) => {
  console.error(error);
  process.exitCode = 1;
});
