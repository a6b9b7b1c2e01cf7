/** enqueueStream: any number of jobs from an iterable, in parts, two at a time. */
import { describe, expect } from "vitest";
import { countJobs, T, U } from "../../../sql/test/support/kernel.ts";
import {
  type BulkCounts,
  InvalidArgumentError,
  JobForge,
  type NewJob,
  type Transport,
} from "../src/index.ts";
import { cleanUp } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

function* jobs(count: number, options: Partial<NewJob> = {}): Generator<NewJob> {
  for (let n = 0; n < count; n++) yield { job: cleanUp, input: {}, subject: `s${n}`, ...options } as NewJob;
}

describe.each(transports)("over %s", (name) => {
  test("parts are committed one after the other, and progress counts them", async ({ db, connect }) => {
    const forge = await connect(name, { role: "jobforge_operator" });
    const seen: BulkCounts[] = [];
    const counts = await forge.enqueueStream(jobs(10_001), {
      tenantId: T,
      onProgress: (so) => seen.push(so),
    });
    expect(counts).toEqual({ enqueued: 10_001, created: 10_001, existing: 0, replaced: 0 });
    expect(seen).toHaveLength(3);
    expect(seen.at(-1)).toEqual(counts);
    expect(await countJobs(db)).toBe(10_001);
  });

  test("an invalid job stops the stream, and its place is named", async ({ db, connect }) => {
    const forge = await connect(name, { role: "jobforge_operator" });
    let read = 0;
    async function* source(): AsyncGenerator<NewJob> {
      for (const each of jobs(20_000)) {
        read++;
        yield read === 7001 ? { ...each, priority: 0.5 } : each;
      }
    }
    const error = await forge.enqueueStream(source(), { tenantId: T }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ field: "jobs[7000].priority" });
    expect(read).toBe(7001);
    expect(await countJobs(db)).toBe(5000);
  });
});

test("a job that the kernel refuses is named by its place in the stream", async ({ db, connect }) => {
  const forge = await connect("Postgres", { role: "jobforge_operator" });
  const late = [...jobs(5003), ...jobs(1, { expiresAt: new Date(0) }), ...jobs(3)];
  await expect(forge.enqueueStream(late, { tenantId: T })).rejects.toMatchObject({
    field: "jobs[5003].expiresAt",
  });
  expect(await countJobs(db)).toBe(5000);
});

test("two parts are under way at once, and no further part is read meanwhile", async ({ connect }) => {
  const { transport: through } = await connect("Postgres", { role: "jobforge_operator" });
  let read = 0;
  let underWay = 0;
  let most = 0;
  const readAtEnd: number[] = [];
  const transport: Transport = {
    call: async (name, args, options) => {
      most = Math.max(most, ++underWay);
      try {
        return await through.call(name, args, options);
      } finally {
        underWay--;
        readAtEnd.push(read);
      }
    },
    close: () => through.close(),
  };
  function* source(): Generator<NewJob> {
    for (const each of jobs(30_000)) {
      read++;
      yield each;
    }
  }
  await new JobForge({ transport }).enqueueStream(source(), { tenantId: T });
  expect(most).toBe(2);
  // Two parts under way, the next one complete, and the job that begins the part after it.
  expect(readAtEnd[0]).toBeLessThanOrEqual(15_001);
});

test("jobs of several tenants, keys that exist, and a transaction", async ({ db, connect }) => {
  const forge = await connect("Postgres", { role: "jobforge_app" });
  const mixed = [
    ...jobs(2, { tenantId: T, idempotencyKey: "k" }),
    ...jobs(2, { tenantId: U, dedupeKey: "d", dedupeMode: "replace" }),
  ];
  expect(await forge.enqueueStream(mixed)).toEqual({ enqueued: 4, created: 2, existing: 1, replaced: 1 });
  const { client } = await db.connect();
  await client.query("begin");
  await forge.with(client).enqueueStream(jobs(5001), { tenantId: T });
  expect(await countJobs(db)).toBe(2);
  await client.query("rollback");
  expect(await countJobs(db)).toBe(2);
});

test("misuse names the argument", async ({ connect }) => {
  const forge = await connect("Postgres", { role: "jobforge_app" });
  // @ts-expect-error: plain JavaScript may pass anything.
  await expect(forge.enqueueStream(5)).rejects.toMatchObject({ field: "jobs" });
  // @ts-expect-error: plain JavaScript may pass anything.
  await expect(forge.enqueueStream([], { onProgress: 5 })).rejects.toMatchObject({ field: "onProgress" });
  expect(await forge.enqueueStream([])).toEqual({ enqueued: 0, created: 0, existing: 0, replaced: 0 });
});
