/** Endpoints of webhooks, events, and the egress policy, over every transport. */
import { describe, expect } from "vitest";
import { claim, complete, T, U } from "../../../sql/test/support/kernel.ts";
import { deliver } from "../../../sql/test/webhooks/support/webhooks.ts";
import { EndpointNotFoundError, ForbiddenError, InvalidArgumentError, type JobForge } from "../src/index.ts";
import { cleanUp } from "./support/jobs.ts";
import { test, transports } from "./support/transports.ts";

const url = "https://example.com/hooks";
const day = 86_400_000;

async function typesOf(forge: JobForge, id: string): Promise<(readonly string[])[]> {
  const { items } = await forge.webhooks.deliveries({ tenantId: T, id }).page();
  return items.map(({ tags }) => tags);
}

describe.each(transports)("over %s", (transport) => {
  const app = { role: "jobforge_app", tenantId: T } as const;

  test("an endpoint is created, changed, read, listed and deleted", async ({ connect }) => {
    const forge = await connect(transport, app);
    const made = await forge.webhooks.create(T, {
      url,
      description: "Billing",
      events: ["job.*"],
      jobTypes: ["mail.*"],
      tags: ["vip"],
      include: ["result"],
      headers: { authorization: { $secret: "HOOK" }, "x-a": "b" },
      retrySchedule: [5, 60],
      masterKey: "m2",
    });
    const reference = { tenantId: T, id: made.id };
    expect(made).toEqual({
      ...reference,
      url,
      description: "Billing",
      events: ["job.*"],
      jobTypes: ["mail.*"],
      tags: ["vip"],
      include: ["result"],
      format: "standard",
      signature: "standard",
      headers: { authorization: { $secret: "HOOK" }, "x-a": "b" },
      ordered: false,
      retrySchedule: [5, 60],
      keys: [{ version: 1, masterKey: "m2" }],
      state: "enabled",
      reason: undefined,
      disabledAt: undefined,
      failingSince: undefined,
      heldUntil: undefined,
      createdAt: expect.any(Date),
      updatedAt: expect.any(Date),
    });
    expect(await forge.webhooks.get(reference)).toEqual(made);
    const changed = await forge.webhooks.update(reference, { format: "cloudevents", events: null });
    expect(changed).toMatchObject({ format: "cloudevents", jobTypes: ["mail.*"], description: "Billing" });
    expect(changed.events).toEqual(["job.succeeded", "job.failed", "job.dead", "job.canceled"]);
    expect(await forge.webhooks.list(T)).toEqual([changed]);
    expect(await forge.webhooks.delete(reference)).toEqual({ canceled: 0 });
    expect(await forge.webhooks.list(T)).toEqual([]);
    await expect(forge.webhooks.get(reference)).rejects.toThrow(EndpointNotFoundError);
  });

  test("a disabled endpoint says why, and a rotation keeps the key before", async ({ connect }) => {
    const forge = await connect(transport, app);
    const { id } = await forge.webhooks.create(T, { url });
    const reference = { tenantId: T, id };
    expect(await forge.webhooks.disable(reference, { reason: "moving" })).toMatchObject({
      state: "disabled",
      reason: "moving",
      disabledAt: expect.any(Date),
    });
    expect(await forge.webhooks.enable(reference)).toMatchObject({ state: "enabled", reason: undefined });
    const { keys } = await forge.webhooks.rotate(reference, { keepMs: 2 * day, masterKey: "next" });
    expect(keys).toEqual([
      { version: 2, masterKey: "next" },
      { version: 1, masterKey: "default", until: expect.any(Date) },
    ]);
    expect((await forge.webhooks.rotate(reference, { keepMs: 0 })).keys).toEqual([
      { version: 3, masterKey: "next" },
    ]);
  });

  test("deliveries of events, tests and ends of jobs are listed and replayed", async ({ db, connect }) => {
    const forge = await connect(transport, app);
    const { id } = await forge.webhooks.create(T, { url, events: ["job.*", "invoice.*"] });
    const reference = { tenantId: T, id };
    const timestamp = new Date("2026-01-02T03:04:05.678Z");
    const sent = await forge.webhooks.send(T, {
      type: "invoice.paid",
      id: "inv-1",
      data: { n: 1 },
      timestamp,
    });
    expect(sent).toEqual({ id: "inv-1", deliveries: [expect.any(String)] });
    const [delivery] = (await forge.webhooks.deliveries(reference).page()).items;
    expect(delivery).toMatchObject({ id: sent.deliveries[0], type: deliver, subject: id });
    expect(delivery?.payload).toMatchObject({
      event: { id: "inv-1", type: "invoice.paid", timestamp: timestamp.toISOString(), data: { n: 1 } },
    });
    const tested = await forge.webhooks.test(reference);
    expect(tested).toEqual({ id: expect.any(String), jobId: expect.any(String) });
    await forge.cancel((await forge.enqueue(cleanUp, {}, { tenantId: T })).id, { tenantId: T });
    expect(await typesOf(forge, id)).toEqual([["job.canceled"], ["webhook.test"], ["invoice.paid"]]);
    for (const { id: job } of await claim(db, "w1", { types: [deliver] })) await complete(db, job);
    const options = { status: "succeeded", tags: ["invoice.paid"], limit: 5 } as const;
    expect(await forge.webhooks.replay(reference, options)).toEqual({ matched: 1, replayed: 1 });
    expect(await forge.webhooks.replay(reference)).toEqual({ matched: 0, replayed: 0 });
    expect(await typesOf(forge, id)).toHaveLength(4);
  });

  test("an enqueue says whom to notify, in every way of enqueueing", async ({ connect }) => {
    const forge = await connect(transport, app);
    const { id: endpointId } = await forge.webhooks.create(T, { url, events: ["invoice.paid"] });
    const options = { tenantId: T, notify: { endpointId, on: ["canceled"] } } as const;
    const one = await forge.enqueue(cleanUp, {}, options);
    const [two] = await forge.enqueueMany([{ job: cleanUp, input: {} }], options);
    const to = { url: "https://example.com/done", secret: { $secret: "DONE" } };
    const three = await forge.enqueue(cleanUp, {}, { tenantId: T, notify: to });
    for (const { id } of [one, two, three]) await forge.cancel(id, { tenantId: T });
    expect(await typesOf(forge, endpointId)).toEqual([["job.canceled"], ["job.canceled"]]);
    const { items } = await forge.list({ tenantId: T, type: deliver }).page();
    expect(items[0]?.payload).toMatchObject({ ...to, event: { data: { id: three.id } } });
  });

  test("the policy of connectors is set by operators and read by workers", async ({ connect }) => {
    const operator = await connect(transport, { role: "jobforge_operator" });
    await operator.egress.set({ allow_http: true });
    await operator.egress.set({ allow_cidrs: ["10.0.0.0/8"] }, { tenantId: T });
    const worker = await connect(transport, { role: "jobforge_worker" });
    expect(await worker.egress.get({ tenantId: T })).toEqual({
      all: { allow_http: true },
      tenant: { allow_cidrs: ["10.0.0.0/8"] },
    });
    await operator.egress.set(null, { tenantId: T });
    expect(await operator.egress.get()).toEqual({ all: { allow_http: true }, tenant: undefined });
    expect((await operator.egress.get({ tenantId: T })).tenant).toBeUndefined();
    await expect(operator.egress.set({ allow_everything: true })).rejects.toThrow(
      "unknown key allow_everything",
    );
    await expect(worker.egress.set({})).rejects.toThrow(ForbiddenError);
    const { items } = await operator.audit.list({ entityType: "egress_policy" }).page();
    expect(items.map(({ action }) => action)).toEqual(Array(3).fill("EGRESS_POLICY_SET"));
  });

  test("another tenant finds no endpoint, and cannot steer one", async ({ connect }) => {
    const forge = await connect(transport, app);
    const { id } = await forge.webhooks.create(T, { url });
    const other = await connect(transport, { role: "jobforge_app", tenantId: U });
    const foreign = { tenantId: U, id };
    expect(await other.webhooks.list(U)).toEqual([]);
    const { webhooks } = other;
    for (const name of ["get", "enable", "disable", "rotate", "test", "delete", "replay"] as const)
      await expect(webhooks[name](foreign)).rejects.toThrow(EndpointNotFoundError);
    const notify = { endpointId: id };
    await expect(other.enqueue(cleanUp, {}, { tenantId: U, notify })).rejects.toThrow(EndpointNotFoundError);
  });
});

test("mistakes are refused before any call", async ({ connect }) => {
  const forge = await connect("Postgres", { role: "jobforge_app" });
  const reference = { tenantId: T, id: U };
  const refused = async (call: Promise<unknown>, field: string): Promise<void> => {
    await expect(call).rejects.toThrow(InvalidArgumentError);
    await expect(call).rejects.toMatchObject({ field });
  };
  await refused(forge.webhooks.create(T, { url, uri: "x" } as never), "uri");
  await refused(forge.webhooks.update(reference, { masterKey: "x" } as never), "masterKey");
  await refused(forge.webhooks.get({ tenantId: T, id: "x" }), "id");
  await refused(forge.webhooks.rotate(reference, { keepMs: -1 }), "keepMs");
  await refused(forge.webhooks.replay(reference, { limit: 0 }), "limit");
  await refused(forge.webhooks.send(T, { type: "a", payload: {} } as never), "payload");
  await refused(forge.webhooks.send(T, { type: "a", data: 1n }), "data");
  expect(() => forge.webhooks.deliveries(reference, { type: "a" } as never)).toThrow("type");
  const enqueue = (notify: object): Promise<unknown> =>
    forge.enqueue(cleanUp, {}, { tenantId: T, notify: notify as never });
  await refused(enqueue({}), "notify");
  await refused(enqueue({ url, endpointId: U }), "notify");
  await refused(enqueue({ url, onn: [] }), "notify.onn");
  await refused(enqueue({ url, on: ["ended"] }), "notify.on");
  await refused(enqueue({ endpointId: "x" }), "notify.endpointId");
});
