/**
 * The activity of the demo: four web shops as tenants, with schedules, a paused type, a limit, failures, workflows,
 * webhooks, and new jobs all the time, so that each page of the dashboard has something to show.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { JobForge } from "@jobforge/sdk-ts";
import { createToken, listTokens } from "../server/tokens.ts";
import type { Receivers } from "./receiver.ts";
import { invoice, ledger, mail, placeOrder, publishCatalog, report, resize, sync } from "./shop.ts";

interface Shop {
  readonly tenantId: string;
  readonly label: string;
  readonly weight: number;
  /** How many mails it sends in each round. */
  readonly mails: number;
}

const shops: readonly Shop[] = [
  { tenantId: "5a0b0000-0000-4000-8000-000000000001", label: "Acme", weight: 4, mails: 4 },
  { tenantId: "5a0b0000-0000-4000-8000-000000000002", label: "Globex", weight: 2, mails: 2 },
  { tenantId: "5a0b0000-0000-4000-8000-000000000003", label: "Initech", weight: 1, mails: 1 },
  { tenantId: "5a0b0000-0000-4000-8000-000000000004", label: "Umbrella", weight: 1, mails: 1 },
];
const [acme, globex, initech] = shops as readonly [Shop, Shop, Shop];

const roundMs = 2000;

/** Sets everything up. A second start of the demo changes nothing that the first one has left. */
export async function openShops(forge: JobForge, receivers: Receivers): Promise<void> {
  for (const { tenantId, label, weight } of shops)
    await forge.tenants.set(tenantId, { label, weight, maxPending: 10_000 });
  await forge.limits.set({ type: sync.type }, { maxRunning: 2 });
  await forge.limits.set({ type: mail.type }, { rate: 600, per: "1 minute", burst: 100 });
  await forge.gates.pause({ type: resize.type }, { reason: "The pictures move to another store" });
  await forge.schedules.ensure(report, "daily", {
    tenantId: acme.tenantId,
    cron: "0 9 * * mon-fri",
    timezone: "Europe/Berlin",
  });
  await forge.schedules.ensure(report, "weekly", {
    tenantId: globex.tenantId,
    cron: "30 6 * * mon",
    timezone: "America/New_York",
  });
  await forge.schedules.ensure(ledger, "hourly", { tenantId: initech.tenantId, every: "1h" });
  await forge.schedules.run(ledger, "hourly", { tenantId: initech.tenantId });
  if ((await listTokens(forge)).length === 0)
    await createToken(forge, {
      name: "Acme's web shop",
      role: "jobforge_app",
      tenantId: acme.tenantId,
      expiresAt: undefined,
    });
  await receivers.announce(forge, acme.tenantId);
  await firstJobs(forge);
  await sendEvents(forge, 1);
}

/** The shop takes both events. The customer database wants to hear of invoices, and is down. */
async function sendEvents(forge: JobForge, order: number): Promise<void> {
  for (const type of ["order.paid", "invoice.created"])
    await forge.webhooks.send(acme.tenantId, { type, data: { order } });
}

async function firstJobs(forge: JobForge): Promise<void> {
  for (const [index, { tenantId, label }] of shops.entries()) {
    await forge.enqueueMany(
      [100, 200, 400].map((width) => ({ job: resize, input: { width } })),
      { tenantId },
    );
    const to = `nobody@${label.toLowerCase()}.example`;
    await forge.enqueue(mail, { to, template: "receipt" }, { tenantId, subject: `order-${index + 1}` });
    await forge.enqueue(invoice, { order: index + 1, template: "invoice-v4" }, { tenantId });
    await forge.start(
      placeOrder,
      { order: index + 1, card: index === 2 ? "expired" : "valid" },
      { tenantId },
    );
  }
  const { tenantId } = acme;
  for (let page = 1; page <= 12; page += 1) await forge.enqueue(sync, { page }, { tenantId });
  // One waits at any time, however often the demo is started.
  await forge.start(
    publishCatalog,
    { season: "winter" },
    { tenantId, dedupeKey: "winter", subject: "winter" },
  );
}

/** Enqueues a few jobs again and again, until the demo ends. */
export async function keepSelling(forge: JobForge, signal: AbortSignal): Promise<void> {
  for (let round = 1; !signal.aborted; round += 1) {
    await sellOnce(forge, round);
    await sleep(roundMs, undefined, { signal }).catch(() => undefined);
  }
}

async function sellOnce(forge: JobForge, round: number): Promise<void> {
  for (const { tenantId, label, mails } of shops) {
    const order = 1000 + round;
    await forge.enqueueMany(
      Array.from({ length: mails }, (_, index) => ({
        job: mail,
        input: { to: `customer-${index}@${label.toLowerCase()}.example`, template: "receipt" },
      })),
      { tenantId, subject: `order-${order}`, tags: ["checkout"] },
    );
    if (round % 3 === 0)
      await forge.enqueue(
        invoice,
        { order, template: "invoice-v3" },
        { tenantId, subject: `order-${order}` },
      );
  }
  if (round % 5 === 0) await forge.enqueue(sync, { page: round }, { tenantId: acme.tenantId });
  if (round % 15 === 0) await sendEvents(forge, 1000 + round);
  if (round % 10 === 0)
    await forge.start(placeOrder, { order: 1000 + round, card: "valid" }, { tenantId: globex.tenantId });
}
