/** Usage, live counts, quotas and explanations, over every transport. */
import { describe, expect } from "vitest";
import { claim, complete, T, U } from "../../../sql/test/support/kernel.ts";
import { defineJob, InvalidArgumentError, JobLimitExceededError } from "../src/index.ts";
import { sendMail } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

const mail = { to: "ada@example.com", subject: "Hello" };

describe.each(transports)("over %s", (transport) => {
  const operator = { role: "jobforge_operator" } as const;

  test("usage and counts are numbers and Dates", async ({ db, connect }) => {
    const forge = await connect(transport, operator);
    const { id } = await forge.enqueue(sendMail, mail, { tenantId: T });
    expect(await forge.usage.live()).toEqual([
      {
        tenantId: undefined,
        type: sendMail.type,
        queued: 1,
        scheduled: 0,
        running: 0,
        oldestRunAt: expect.any(Date),
        oldestMs: expect.any(Number),
        exact: true,
        dueSchedules: 0,
        oldestScheduleAt: undefined,
      },
    ]);
    await claim(db);
    await complete(db, id, { cost_cents: 7 });
    await forge.installation.maintain();
    const [row, ...others] = await forge.usage.report({
      tenantId: T,
      bucket: "day",
      by: ["tenant", "type"],
      timezone: "Europe/Berlin",
    });
    expect(others).toEqual([]);
    expect(row).toMatchObject({
      tenantId: T,
      type: sendMail.type,
      runs: 1,
      succeeded: 1,
      costCents: 7,
      runP99Ms: expect.any(Number),
    });
    expect(row?.startAt).toBeInstanceOf(Date);
    const from = new Date(Date.now() - 3_600_000);
    expect(await forge.usage.report({ from, to: new Date(), by: [], bucket: "total" })).toMatchObject([
      { runs: 1, tenantId: undefined },
    ]);
    expect(await forge.usage.report({ types: ["other"] })).toEqual([]);
    expect(await forge.usage.live({ tenantId: T, by: [], cap: 10 })).toEqual([]);
  });

  test("a quota rejects further jobs, and enqueueFitting enqueues those that fit", async ({ connect }) => {
    const forge = await connect(transport, operator);
    expect(await forge.tenants.set(T, { maxPending: 2, maxSchedules: 7, weight: 3 })).toMatchObject({
      maxPending: 2,
      weight: 3,
    });
    const jobs = [1, 2, 3].map((n) => ({ job: sendMail, input: { ...mail, subject: `${n}` } }));
    await expect(forge.enqueueMany(jobs, { tenantId: T })).rejects.toThrow(JobLimitExceededError);
    const [first, second, third] = await forge.enqueueFitting(jobs, { tenantId: T });
    expect([first?.outcome, second?.outcome, third]).toEqual(["created", "created", undefined]);
    expect(await forge.tenants.get(T)).toEqual({
      tenantId: T,
      maxPending: 2,
      pending: 2,
      maxTypes: 1000,
      types: 1,
      maxSchedules: 7,
      weight: 3,
    });
    await expect(forge.enqueue(sendMail, mail, { tenantId: T })).rejects.toMatchObject({
      code: "JF007",
      retryable: true,
    });
    expect((await forge.enqueue(sendMail, mail, { tenantId: U })).outcome).toBe("created");
    await forge.tenants.set(T, { maxPending: null, maxTypes: 1 });
    const other = defineJob({ type: "other" });
    await expect(forge.enqueue(other, {}, { tenantId: T })).rejects.toMatchObject({
      code: "JF007",
      field: "type",
      retryable: false,
    });
    expect(await forge.tenants.set(T, { maxTypes: null })).toMatchObject({ maxTypes: 1000 });
    expect(await forge.tenants.set(T, { maxPending: null })).toMatchObject({
      maxPending: undefined,
      weight: 3,
    });
  });

  test("a handle explains its job", async ({ connect }) => {
    const forge = await connect(transport, operator);
    const job = await forge.enqueue(sendMail, mail, { tenantId: T });
    await forge.gates.pause({ type: sendMail.type }, { reason: "maintenance" });
    const reasons = await job.explain();
    expect(reasons?.map(({ code }) => code)).toEqual(["paused", "no_worker", "next"]);
    expect(reasons?.[0]).toMatchObject({
      message: expect.stringMatching(/maintenance$/),
      details: { scope: "type" },
    });
    expect(await forge.explain(job.id, { tenantId: U })).toBeUndefined();
  });

  test("invalid options are refused before the call", async ({ connect }) => {
    const forge = await connect(transport, operator);
    const by = ["status"] as unknown as readonly "type"[];
    const calls = [
      () => forge.usage.report({ tenantId: "nobody" }),
      () => forge.usage.report({ from: new Date(Number.NaN) }),
      () => forge.usage.report({ types: [""] }),
      () => forge.usage.report({ by }),
      () => forge.usage.live({ by }),
      () => forge.usage.live({ cap: -1 }),
      () => forge.tenants.set(T, { maxPending: 1.5 }),
      () => forge.tenants.set(T, { maxTypes: 0 }),
      () => forge.tenants.set(T, { weight: 0 }),
      () => forge.tenants.set(T, { maxSchedules: -1 }),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(InvalidArgumentError);
  });
});
