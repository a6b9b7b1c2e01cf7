/** The first contact with Redis: a wrong URL and a wrong password are errors that say so, for clients and workers. */
import { ConnectionError, defineJob, TimeoutError } from "@jobforge/sdk-ts";
import { expect } from "vitest";
import { startRedis } from "../../../test/redis.ts";
import { anotherForge, hasRedis, keptLog, makeWorker, newPrefix, T, test } from "./support/work.ts";

const note = defineJob({ type: "note" });

test("a Redis that does not respond fails the first call, and later ones once it responds", {
  timeout: 60_000,
}, async () => {
  await using server = await startRedis();
  const { url } = server;
  await server.kill();
  const forge = anotherForge({ redis: url, prefix: newPrefix() });
  const refused = await forge.enqueue(note, {}, { tenantId: T }).catch((error: unknown) => error);
  expect(refused).toBeInstanceOf(TimeoutError);
  expect(refused).toMatchObject({
    message: expect.stringMatching(/^Redis did not respond within 10000 ms: connect ECONNREFUSED/),
    hint: "Check the URL, and check that the server is running.",
  });
  await server.restart();
  expect(await forge.enqueue(note, {}, { tenantId: T })).toMatchObject({ outcome: "created" });
});

test("a wrong password and a missing one are errors that say so, and no one is shown the password", async () => {
  if (!hasRedis) return;
  await using server = await startRedis();
  await server.say("CONFIG SET requirepass right");
  const place = server.url.slice("redis://".length);
  for (const [login, word] of [
    [":wrong@", "WRONGPASS"],
    ["nobody:wrong@", "WRONGPASS"],
    ["", "NOAUTH"],
  ] as const) {
    const { logger, lines } = keptLog();
    const forge = anotherForge({ redis: `redis://${login}${place}`, prefix: newPrefix() });
    for (const call of [
      () => forge.enqueue(note, {}, { tenantId: T }),
      () => forge.ready(),
      () => forge.get("0198f000-0000-7000-8000-000000000000", { job: note, tenantId: T }),
    ]) {
      const refused = await call().catch((error: unknown) => error);
      expect(refused, login).toBeInstanceOf(ConnectionError);
      expect(refused, login).toMatchObject({
        message: expect.stringContaining(word),
        hint: "Check the user and the password in the URL, and what the user may do.",
      });
    }
    // It starts when Redis lets it in, and says meanwhile why that does not happen.
    void makeWorker(forge, { handlers: [note.handle(async () => undefined)], logger }).start();
    await expect.poll(() => JSON.stringify(lines)).toContain(word);
    expect(JSON.stringify(lines)).not.toContain("wrong@");
  }
  const right = anotherForge({ redis: `redis://:right@${place}`, prefix: newPrefix() });
  expect(await right.enqueue(note, {}, { tenantId: T })).toMatchObject({ outcome: "created" });
});
