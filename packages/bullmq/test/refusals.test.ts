/** What Redis cannot do is refused where it would be silently wrong. */
import { defineJob, InvalidArgumentError, NotSupportedError } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { BullForge, createBullWorker } from "../src/index.ts";
import { anotherForge, startWorker, T, test } from "./support/work.ts";

const plain = defineJob({ type: "plain" });
const handlers = [plain.handle(async () => 1)];

test("a concurrency key and an audit action are refused at the enqueue, and create no job", async ({
  forge,
}) => {
  const audited = defineJob({ type: "audited", auditAction: "DONE" });
  await expect(forge.enqueue(plain, {}, { tenantId: T, concurrencyKey: "k" })).rejects.toThrow(
    NotSupportedError,
  );
  await expect(forge.enqueue(audited, {}, { tenantId: T })).rejects.toMatchObject({ field: "auditAction" });
  await expect(
    forge.enqueueMany([{ job: plain, input: {}, concurrencyKey: "k" }], { tenantId: T }),
  ).rejects.toThrow(NotSupportedError);
  const [queue] = forge.queues.all(["plain"]);
  expect(await queue?.store.getCounts(["wait", "prioritized", "delayed"])).toEqual([0, 0, 0]);
});

test.for(["tenantId", "sync", "appVersion"])("a worker with the option %s is refused", (name, { forge }) => {
  expect(() => createBullWorker(forge, { handlers, [name]: T } as never)).toThrow(NotSupportedError);
});

test("a worker whose definition has an audit action is refused", ({ forge }) => {
  const audited = defineJob({ type: "audited", auditAction: "DONE" });
  expect(() => createBullWorker(forge, { handlers: [audited.handle(async () => 1)] })).toThrow(
    NotSupportedError,
  );
});

test("transaction() in a handler is a NotSupportedError", async ({ forge }) => {
  const job = await forge.enqueue(defineJob({ type: "tx", retry: { maxAttempts: 1 } }), {}, { tenantId: T });
  const tx = defineJob({ type: "tx" });
  await startWorker(forge, {
    handlers: [tx.handle(async (_input, { transaction }) => transaction(async () => 1))],
  });
  await expect(job.result({ timeoutMs: 40_000 })).rejects.toMatchObject({
    failure: { name: "NotSupportedError" },
  });
});

test("another number of groups than the stored one is refused", async ({ redis, forge }) => {
  await forge.ready();
  const { prefix } = forge.queues.layout;
  await expect(anotherForge({ redis: redis.url, prefix, groups: 4 }).ready()).rejects.toMatchObject({
    field: "groups",
  });
});

test.for([
  ["redis", { redis: undefined }],
  ["redis", { redis: "http://localhost" }],
  ["groups", { redis: "redis://localhost", groups: 0 }],
  ["prefix", { redis: "redis://localhost", prefix: "a{b}" }],
  ["url", { redis: "redis://localhost", url: "x" }],
] as const)("an invalid option is refused by its name: %s", ([field, options]) => {
  expect(() => new BullForge(options as never)).toThrow(InvalidArgumentError);
  expect(() => new BullForge(options as never)).toThrow(field);
});

test("secrets in errors are not stored", async ({ forge }) => {
  const leaky = defineJob({ type: "leaky", retry: { maxAttempts: 1 }, redact: ["iban"] });
  await startWorker(forge, {
    handlers: [
      leaky.handle(async () => {
        throw new Error("password=hunter2 iban: DE12");
      }),
    ],
  });
  const job = await forge.enqueue(leaky, {}, { tenantId: T });
  await expect(job.result({ timeoutMs: 40_000 })).rejects.toThrow("[redacted]");
  const [queue] = forge.queues.all(["leaky"]);
  const stored = JSON.stringify(await forge.connection.client.hgetall(queue?.jobKey(job.id) ?? ""));
  expect(stored).not.toMatch(/hunter2|DE12/);
});
