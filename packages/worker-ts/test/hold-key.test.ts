/** What a handler does for a server that asks to wait: `holdKey`, and `retryAfter` with `atLeast`. */
import { defineJob, InvalidArgumentError } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { makeWorker, T, test } from "./support/work.ts";

const hour = 3_600_000;
const call = defineJob({ type: "call", retry: { baseMs: 4 * hour, capMs: null, maxAttempts: 9 } });

test("no other job of the key starts before the time, and jobs of other keys do", async ({ forge }) => {
  const ran: (string | undefined)[] = [];
  const handler = call.handle(async (_input, { holdKey, subject }) => {
    ran.push(subject);
    if (ran.length === 1) await holdKey(hour, "The server asked to wait.");
  });
  const worker = makeWorker(forge, { handlers: [handler], sync: false });
  const enqueue = (subject: string, concurrencyKey?: string): Promise<unknown> =>
    forge.enqueue(call, {}, { tenantId: T, subject, concurrencyKey });
  await enqueue("first", "k");
  await worker.tick();
  await enqueue("held", "k");
  await enqueue("other", "l");
  await enqueue("none");
  await worker.tick();
  expect(ran.toSorted()).toEqual(["first", "none", "other"]);
});

test("without a key it does nothing, and a time more than a day ahead is refused", async ({ forge }) => {
  const errors: unknown[] = [];
  const handler = call.handle(async (_input, { holdKey }) => {
    await holdKey(hour);
    await holdKey(48 * hour).catch((error: unknown) => errors.push(error));
  });
  const worker = makeWorker(forge, { handlers: [handler], sync: false });
  const { id } = await forge.enqueue(call, {}, { tenantId: T });
  await worker.tick();
  expect(errors).toEqual([expect.any(InvalidArgumentError)]);
  expect(await forge.get(id, { tenantId: T })).toMatchObject({ status: "succeeded" });
});

test.for([
  [1, 4],
  [8, 8],
])(
  "with atLeast, a wait of %s hours is %s hours, because the policy's is four",
  async ([asked, waited], { forge }) => {
    await forge.sync([call]);
    const handler = call.handle(async (_input, { retryAfter }) =>
      retryAfter((asked ?? 0) * hour, "busy", { atLeast: true }),
    );
    const worker = makeWorker(forge, { handlers: [handler], sync: false });
    const { id } = await forge.enqueue(call, {}, { tenantId: T });
    await worker.tick();
    const job = await forge.get(id, { tenantId: T });
    expect(job).toMatchObject({ status: "queued", lastError: "busy" });
    expect(Math.round(((job?.runAt.getTime() ?? 0) - Date.now()) / hour)).toBe(waited);
  },
);
