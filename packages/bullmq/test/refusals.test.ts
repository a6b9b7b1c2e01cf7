/** What Redis cannot do is refused where it would be silently wrong. */
import { readFile } from "node:fs/promises";
import { ConnectionError, defineJob, InvalidArgumentError, NotSupportedError } from "@jobforge/sdk-ts";
import { Cluster } from "ioredis";
import { expect, onTestFinished } from "vitest";
import { startRedisCluster } from "../../../test/redis.ts";
import { BullForge, createBullWorker } from "../src/index.ts";
import { anotherForge, newPrefix, startWorker, T, test } from "./support/work.ts";

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

test("the guide names all that is refused", async () => {
  const page = await readFile(new URL("../../../docs/guides/redis.md", import.meta.url), "utf8");
  const options = [
    "concurrencyKey",
    "notify",
    "offload",
    "keepLogs",
    "auditAction",
    "tenantId",
    "sync",
    "appVersion",
  ];
  const members = ["step", "stepIn", "sleep", "waitFor", "run", "all", "version", "saga"];
  const calls = ["transaction", "holdKey", "nextRun", "results", "step"].map((name) => `job.${name}()`);
  for (const name of [...options, ...members.slice(1), ...calls]) expect(page, name).toContain(`\`${name}\``);
});

test("a client of a cluster gets as many groups as a list of URLs", async () => {
  const client = new Cluster([{ host: "127.0.0.1", port: 1 }], { lazyConnect: true });
  onTestFinished(() => client.disconnect());
  expect(new BullForge({ redis: client }).queues.layout.groups).toBe(16);
});

test("the URL of one node of a cluster is refused", { timeout: 120_000 }, async () => {
  await using cluster = await startRedisCluster();
  // One of three nodes has the slot of this prefix.
  const prefix = newPrefix();
  const results = await Promise.allSettled(
    cluster.masters.map(({ url }) => anotherForge({ redis: url, prefix }).ready()),
  );
  const refused = results.filter(({ status }) => status === "rejected");
  expect(refused).toHaveLength(2);
  for (const each of refused)
    expect(each).toMatchObject({
      reason: { field: "redis", hint: expect.stringContaining("several nodes") },
    });
});

test("a Redis whose memory is full refuses the enqueue, and keeps no part of a job", async ({
  redis,
  forge,
}) => {
  await forge.ready();
  const { client } = forge.connection;
  await client.config("SET", "maxmemory", "1");
  const many = Array.from({ length: 3 }, () => ({ job: plain, input: {} }));
  try {
    await expect(forge.enqueueMany(many, { tenantId: T })).rejects.toThrow(ConnectionError);
    await expect(forge.enqueue(plain, {}, { tenantId: T })).rejects.toThrow("OOM");
  } finally {
    await client.config("SET", "maxmemory", "0");
  }
  expect(await redis.say(`EXISTS ${forge.queues.of("plain", T).store.toKey("prioritized")}`)).toBe(":0");
  expect(await (await forge.enqueue(plain, {}, { tenantId: T })).get()).toMatchObject({ status: "queued" });
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
