/** Enqueues wake idle workers: the first at once, those that follow together. */
import { describe, expect } from "vitest";
import { T, workerHeartbeat } from "../../../sql/test/support/kernel.ts";
import { listen } from "../../../sql/test/support/listen.ts";
import { Waker } from "../src/enqueue/wake.ts";
import { JobForge } from "../src/index.ts";
import { cleanUp } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

describe.each(transports)("over %s", (transport) => {
  const app = { role: "jobforge_app", tenantId: T } as const;

  test("a single enqueue has notified when it resolves", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    await workerHeartbeat(db, "w1", { types: [cleanUp.type], idle: true });
    const ear = await listen(db);
    await forge.enqueue(cleanUp, {}, { tenantId: T });
    expect(await ear.heard()).toContain("jobforge_wake: clean.up");
  });

  test("of many enqueues at once, one notifies, and one wake-up for the others follows after their commit", async ({
    db,
    connect,
  }) => {
    const { transport: through } = await connect(transport, app);
    const sent: string[] = [];
    const forge = new JobForge({
      gather: false,
      transport: {
        call: (name, args, options) => {
          sent.push(`${name} ${args["p_notify"] ?? true}`);
          return through.call(name, args, options);
        },
        close: async () => undefined,
      },
    });
    await workerHeartbeat(db, "w1", { types: [cleanUp.type], idle: true });
    const ear = await listen(db);
    await Promise.all(Array.from({ length: 50 }, () => forge.enqueue(cleanUp, {}, { tenantId: T })));
    await forge.close();
    const count = (call: string): number => sent.filter((each) => each === call).length;
    expect([count("jobforge_enqueue_job true"), count("jobforge_enqueue_job false")]).toEqual([1, 49]);
    expect(sent.at(-1)).toBe("jobforge_wake_workers true");
    expect(await ear.heard()).toHaveLength(1 + count("jobforge_wake_workers true"));
  });

  test("no notification is sent if no worker is idle", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const ear = await listen(db);
    await Promise.all(Array.from({ length: 20 }, () => forge.enqueue(cleanUp, {}, { tenantId: T })));
    await forge.close();
    expect(await ear.heard()).toEqual([]);
  });
});

test("enqueues that follow share one wake-up, each type with its earliest time", async ({ connect, db }) => {
  const forge = await connect("Postgres", { role: "jobforge_app" });
  await workerHeartbeat(db, "w1", { idle: true });
  const ear = await listen(db);
  const waker = new Waker(forge.transport);
  const [soon, later] = [new Date("2098-01-01T00:00:00Z"), new Date("2099-01-01T00:00:00Z")];
  expect([waker.leads("a"), waker.leads("a"), waker.leads("b"), waker.leads("c")]).toEqual([
    true,
    false,
    true,
    true,
  ]);
  waker.follow("a", later);
  waker.follow("a", soon);
  waker.follow("a", later);
  waker.follow("b", later);
  waker.follow("b", undefined);
  waker.follow("b", soon);
  await waker.flush();
  expect((await ear.heard()).sort()).toEqual([
    "jobforge_wake: a\n2098-01-01T00:00:00.000000Z",
    "jobforge_wake: b",
  ]);
  expect(waker.leads("a")).toBe(true);
  await waker.flush();
  expect(await ear.heard()).toEqual([]);
});
