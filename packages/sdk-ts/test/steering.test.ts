/** Canceling, rescheduling and changing jobs, over every transport. */
import { describe, expect } from "vitest";
import { claim, claimAndFail, complete, T } from "../../../sql/test/support/kernel.ts";
import {
  InvalidArgumentError,
  NotCancelableError,
  NotReschedulableError,
  NotUpdatableError,
} from "../src/index.ts";
import { cleanUp, resize, sendMail } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

const mail = { to: "ada@example.com", subject: "hello" };

describe.each(transports)("over %s", (transport) => {
  const app = { role: "jobforge_app", tenantId: T } as const;

  test("a queued job is canceled at once, a running one when its run ends, a finished one not at all", async ({
    db,
    connect,
  }) => {
    const forge = await connect(transport, app);
    const [queued, running] = await forge.enqueueMany(
      [
        { job: cleanUp, input: {} },
        { job: resize, input: { width: 1 } },
      ],
      { tenantId: T },
    );
    await claim(db, "w1", { types: ["image.resize"] });
    expect(await queued.cancel()).toEqual({ id: queued.id, status: "canceled", cancelRequested: false });
    expect(await forge.cancel(running.id, { tenantId: T })).toMatchObject({
      status: "running",
      cancelRequested: true,
    });
    await complete(db, running.id);
    expect((await running.get())?.status).toBe("canceled");
    await expect(queued.cancel()).rejects.toThrow(NotCancelableError);
  });

  test("jobs are canceled and rescheduled by filters, and never without a filter", async ({ connect }) => {
    const forge = await connect(transport, app);
    const runAt = new Date("2099-01-01");
    await forge.enqueueMany(
      [
        { job: cleanUp, input: {}, tags: ["a"] },
        { job: cleanUp, input: {}, tags: ["a"] },
        { job: cleanUp, input: {}, tags: ["b"], runAt },
      ],
      { tenantId: T },
    );
    expect(await forge.rescheduleMany({ tenantId: T, tags: "b" })).toEqual({ matched: 1, changed: 1 });
    expect(await forge.cancelMany({ tenantId: T, tags: ["a"], limit: 1 })).toEqual({
      matched: 1,
      changed: 1,
    });
    expect(await forge.cancelMany({ tenantId: T, type: cleanUp.type })).toEqual({ matched: 2, changed: 2 });
    await expect(forge.cancelMany({ tenantId: T })).rejects.toThrow(InvalidArgumentError);
  });

  test("reschedule moves a queued job, and brings a finished one back with a new budget", async ({
    db,
    connect,
  }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(cleanUp, {}, { tenantId: T, maxAttempts: 1 });
    await claimAndFail(db);
    const runAt = new Date("2099-01-01T00:00:00.000Z");
    expect(await handle.reschedule({ runAt, maxAttempts: 3 })).toEqual({
      id: handle.id,
      status: "queued",
      runAt,
      maxAttempts: 4,
    });
    await handle.reschedule();
    await claim(db);
    await complete(db, handle.id);
    await expect(handle.reschedule()).rejects.toThrow(NotReschedulableError);
    expect(
      (await forge.attempts(handle.id, { tenantId: T })).map(({ attemptNo, status }) => [attemptNo, status]),
    ).toEqual([
      [1, "failed"],
      [2, "succeeded"],
    ]);
  });

  test("a queued job is changed, and its schema checks the new payload", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const handle = await forge.enqueue(sendMail, mail, { tenantId: T });
    const changed = await handle.update({ payload: { ...mail, subject: "new" }, priority: 4, tags: ["t"] });
    expect(changed).toMatchObject({
      payload: { subject: "new" },
      priority: 4,
      tags: ["t"],
      status: "queued",
    });
    await expect(handle.update({ payload: { ...mail, to: "nobody" } })).rejects.toMatchObject({
      field: "payload.to",
    });
    await claim(db);
    await expect(handle.update({ priority: 1 })).rejects.toThrow(NotUpdatableError);
  });
});
