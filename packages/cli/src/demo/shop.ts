/** The handlers of the demo's web shops: mails, invoices, pictures, a partner's API, orders and documents. */
import { setTimeout as sleep } from "node:timers/promises";
import { compensate, defineJob, defineWorkflow, type JobHandler, typed } from "@jobforge/sdk-ts";

export const mail = defineJob({
  type: "mail.send",
  input: typed<{ to: string; template: string }>(),
  retry: { baseMs: 1000, maxAttempts: 4 },
});
export const invoice = defineJob({
  type: "invoice.render",
  input: typed<{ order: number; template: string }>(),
  retry: { baseMs: 300, maxAttempts: 2 },
});
export const resize = defineJob({ type: "image.resize", input: typed<{ width: number }>() });
export const sync = defineJob({ type: "partner.sync", input: typed<{ page: number }>() });
export const ledger = defineJob({ type: "ledger.close" });
export const report = defineJob({ type: "report.build" });

const reserve = defineJob({
  type: "order.reserve",
  input: typed<{ order: number }>(),
  output: typed<{ hold: string }>(),
});
const charge = defineJob({
  type: "order.charge",
  input: typed<{ order: number; card: string }>(),
  output: typed<{ payment: string }>(),
});
const ship = defineJob({ type: "order.ship", input: typed<{ hold: string; payment: string }>() });
const release = defineJob({ type: "order.release", input: typed<{ hold: string }>() });

export const placeOrder = defineWorkflow({
  name: "order.place",
  input: typed<{ order: number; card: string }>(),
  steps: (w, input) => {
    const hold = w.step("reserve", reserve, { order: input.order });
    const paid = w.step("charge", charge, { order: input.order, card: input.card }, { needs: [hold] });
    w.step("release", release, { hold: hold.result.hold }, { needs: [compensate(paid)] });
    return w.step("ship", ship, { hold: hold.result.hold, payment: paid.result.payment });
  },
});

const draft = defineJob({
  type: "catalog.draft",
  input: typed<{ season: string }>(),
  output: typed<{ pages: number[] }>(),
});
const render = defineJob({ type: "catalog.render", input: typed<{ page: number }>() });
const publish = defineJob({ type: "catalog.publish", input: typed<{ season: string; by: string }>() });

/** Waits for an approval after its pages are rendered. */
export const publishCatalog = defineWorkflow({
  name: "catalog.publish",
  input: typed<{ season: string }>(),
  steps: (w, input) => {
    const drafted = w.step("draft", draft, { season: input.season });
    const pages = w.map("pages", render, drafted.result.pages, (page) => ({ page }));
    const approval = w.signal("approve", typed<{ by: string }>(), {
      needs: [pages],
      timeoutMs: 3 * 86_400_000,
    });
    return w.step("publish", publish, { season: input.season, by: approval.result.by });
  },
});

/** Work takes a moment, so that the pages show jobs that run. */
const work = (ms: number): Promise<void> => sleep(ms * (0.5 + Math.random()));

export const shopHandlers: readonly JobHandler[] = [
  mail.handle(async ({ to }, { fail, log, cost }) => {
    await work(120);
    cost(1);
    if (to.startsWith("nobody@")) return fail(`550 The mailbox ${to} does not exist`);
    if (Math.random() < 0.08) throw new Error("421 The mail server is busy, try again later");
    log.info({ to }, "The mail server took the message");
    return { accepted: true };
  }),
  invoice.handle(async ({ order, template }) => {
    await work(300);
    if (template === "invoice-v4") throw new Error("The template invoice-v4 was not found");
    return { file: `invoice-${order}.pdf` };
  }),
  resize.handle(({ width }) => ({ width })),
  sync.handle(async ({ page }, { progress }) => {
    await progress({ page, rows: 0 });
    await work(2500);
    await progress({ page, rows: 500 });
  }),
  ledger.handle(() => work(50)),
  report.handle(() => work(50)),
  reserve.handle(async ({ order }) => {
    await work(80);
    return { hold: `hold-${order}` };
  }),
  charge.handle(async ({ card }, { fail }) => {
    await work(80);
    return card === "expired" ? fail("The card has expired") : { payment: "paid" };
  }),
  ship.handle(() => work(80)),
  release.handle(() => work(80)),
  draft.handle(() => ({ pages: [1, 2, 3, 4, 5, 6] })),
  render.handle(() => work(200)),
  publish.handle(() => undefined),
];
