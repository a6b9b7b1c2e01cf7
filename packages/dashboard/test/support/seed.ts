/**
 * Real activity for pictures and tests: an hour of jobs of several tenants, with failures of a few kinds, schedules, a
 * paused type, limits, policies and workers. All of it is made by the kernel's own functions, at moved clocks.
 */
import type { TestConnection } from "@jobforge/testing";

import { type SeededWebhooks, seedWebhooks } from "./webhooks.ts";
import { seedWorkflows } from "./workflows.ts";

type Db = Pick<TestConnection, "query" | "value" | "travel">;

export const tenants = {
  acme: "a0a0a0a0-0000-4000-8000-000000000001",
  globex: "b0b0b0b0-0000-4000-8000-000000000002",
  initech: "c0c0c0c0-0000-4000-8000-000000000003",
  umbrella: "d0d0d0d0-0000-4000-8000-000000000004",
} as const;

const labels: readonly (readonly [string, string, number])[] = [
  [tenants.acme, "Acme", 4],
  [tenants.globex, "Globex", 2],
  [tenants.initech, "Initech", 1],
  [tenants.umbrella, "Umbrella", 1],
];

const workers = ["mailer-1", "mailer-2", "render-1"] as const;

const errors: Readonly<Record<string, readonly string[]>> = {
  "mail.send": ["421 The mail server is busy, try again later", "550 The mailbox does not exist"],
  "invoice.render": ["The template invoice-v3 was not found"],
  "webhook.deliver": ["The endpoint responded with 503"],
  "image.resize": ["The image has 0 bytes"],
};

interface Claimed extends Record<string, unknown> {
  readonly id: string;
  readonly type: string;
  readonly attempts: number;
}

/** The same numbers at each run, so that pictures do not differ. */
function random(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** `moment`: what pictures show as now. Default: the real time. */
export async function seed(db: Db, options: SeedOptions = {}): Promise<Seeded> {
  const { minutes = 60, every = 2, moment, isEmpty = false } = options;
  if (isEmpty) return nothing;
  const next = random(42);
  const at = (ago: string): Promise<void> => db.travel(offsetTo(moment, ago));
  await at(`-${minutes + 1} minutes`);
  await settings(db);
  for (let minute = minutes; minute > 0; minute -= every) {
    await at(`-${minute} minutes`);
    await enqueueRound(db, next, minute);
    await runRound(db, next, at, minute);
  }
  await at("-90 seconds");
  const workflows = await seedWorkflows(db, tenants.acme);
  await at("-20 seconds");
  await afterwards(db);
  const webhooks = await seedWebhooks(db, tenants.acme);
  await at("0");
  return { workflows, webhooks };
}

export interface SeedOptions {
  readonly minutes?: number;
  /** Minutes between two rounds of jobs. */
  readonly every?: number;
  readonly moment?: Date | undefined;
  /** Nothing at all, as after an installation. */
  readonly isEmpty?: boolean;
}

/** How far a time before the moment is from the real time, as an interval of Postgres. */
export function offsetTo(moment: Date | undefined, ago = "0"): string {
  if (moment === undefined) return ago;
  const hours = `${((moment.getTime() - Date.now()) / 3_600_000).toFixed(6)} hours`;
  return ago === "0" ? hours : `${hours} ${ago}`;
}

export interface Seeded {
  readonly workflows: Readonly<Record<"succeeded" | "failed" | "waiting", string>>;
  readonly webhooks: SeededWebhooks;
}

const nothing: Seeded = {
  workflows: { succeeded: "", failed: "", waiting: "" },
  webhooks: { working: "", failing: "", disabled: "" },
};

async function settings(db: Db): Promise<void> {
  for (const [id, label, weight] of labels)
    await db.query("select jobforge_set_tenant($1, $2)", [id, { label, weight, max_pending: 5000 }]);
  await db.query("select jobforge_set_policy('mail.send', $1)", [
    { max_attempts: 4, base_ms: 1000, cap_ms: 60000 },
  ]);
  await db.query("select jobforge_set_policy('invoice.render', $1)", [{ max_attempts: 2 }]);
  await db.query("select jobforge_set_policy('image.resize', $1)", [{ max_attempts: 1 }]);
  await db.query("select jobforge_set_limit('type', 'webhook.deliver', 2)");
  await db.query(
    "select jobforge_set_limit('type', 'mail.send', p_rate => 600, p_per => '1 minute', p_burst => 50)",
  );
  const schedules: readonly (readonly [string, string, string, object])[] = [
    [tenants.acme, "report.build", "daily", { cron: "0 9 * * mon-fri", timezone: "Europe/Berlin" }],
    [tenants.globex, "report.build", "weekly", { cron: "30 6 * * mon", timezone: "America/New_York" }],
    [tenants.acme, "search.index", "all", { every: "15m" }],
    [tenants.initech, "ledger.sync", "bank", { every: "5m" }],
  ];
  for (const each of schedules) await db.query("select jobforge_ensure_schedule($1, $2, $3, $4)", [...each]);
  await db.query("select jobforge_create_token('deploy pipeline', 'jobforge_operator')");
  await db.query("select jobforge_create_token('Acme web shop', 'jobforge_app', $1)", [tenants.acme]);
  await db.query("select jobforge_create_token('Grafana', 'jobforge_reader')");
}

async function enqueueRound(db: Db, next: () => number, minute: number): Promise<void> {
  for (const [n, [tenant, label]] of labels.entries()) {
    const mails = Math.ceil((4 - n) * (0.5 + next()));
    const jobs = [
      ...Array.from({ length: mails }, (_, mail) => ({
        type: "mail.send",
        payload: { to: `customer-${minute}-${mail}@${label.toLowerCase()}.example`, template: "receipt" },
        subject: `order-${1000 + minute * 10 + mail}`,
        tags: ["checkout"],
      })),
      {
        type: "invoice.render",
        payload: { order: 1000 + minute, version: 3 },
        subject: `order-${1000 + minute}`,
      },
      ...(next() > 0.5 ? [{ type: "webhook.deliver", payload: { event: "order.paid" } }] : []),
      ...(next() > 0.7 ? [{ type: "image.resize", payload: { width: 800 } }] : []),
    ];
    await db.query("select jobforge_enqueue_jobs($1, $2)", [tenant, JSON.stringify(jobs)]);
  }
}

async function runRound(
  db: Db,
  next: () => number,
  at: (ago: string) => Promise<void>,
  minute: number,
): Promise<void> {
  await beatAll(db);
  for (const [place, worker] of workers.entries()) {
    await at(`-${minute} minutes ${place * 4} seconds`);
    const jobs = await db.query<Claimed>("select id, type, attempts from jobforge_claim_jobs($1, 12)", [
      worker,
    ]);
    // A sample of each minute, while jobs run, is what charts are drawn from. It has the ends of the minute before.
    if (place === 0) await db.query("select jobforge_maintain()");
    for (const job of jobs) {
      await at(`-${minute} minutes ${(place * 4 + 0.2 + next() * 3).toFixed(3)} seconds`);
      await end(db, worker, job, next);
    }
  }
}

async function end(db: Db, worker: string, { id, type }: Claimed, next: () => number): Promise<void> {
  const kinds = errors[type] ?? [];
  const share = type === "invoice.render" ? 0.12 : 0.09;
  const failed = kinds.length > 0 && next() < share;
  const message = kinds[Math.floor(next() * kinds.length)] ?? "";
  const error = {
    name: "Error",
    message,
    stack: `Error: ${message}\n    at run (/app/handlers/${type}.ts:42:11)`,
  };
  if (failed) await db.query("select jobforge_complete_job($1, $2, 'failed', $3)", [id, worker, error]);
  else
    await db.query("select jobforge_complete_job($1, $2, 'succeeded', p_result => $3, p_cost_cents => $4)", [
      id,
      worker,
      { ok: true },
      Math.floor(next() * 3),
    ]);
}

/** The workers say that they are alive. Pictures repeat it, because a worker is gone after a minute. */
export async function beatAll(db: Db): Promise<void> {
  for (const worker of workers) await beat(db, worker);
}

async function beat(db: Db, worker: string): Promise<void> {
  const info = {
    types: worker.startsWith("mailer") ? ["mail.send", "webhook.deliver"] : null,
    concurrency: 10,
    host: `${worker}.internal`,
    pid: 4200,
    version: "2.14.0",
  };
  await db.query("select jobforge_heartbeat_worker($1, $2)", [worker, info]);
}

/** What is the case now: a pause, jobs that wait behind it and elsewhere, and jobs that run. */
async function afterwards(db: Db): Promise<void> {
  await db.query(
    "select jobforge_set_gate('type', 'image.resize', true, 'The object store is being moved', jobforge.now() + interval '2 hours')",
  );
  const later = await db.value<Date>("select jobforge.now() + interval '1 hour'");
  const waiting = [
    ...Array.from({ length: 9 }, (_, n) => ({ type: "image.resize", payload: { width: 100 * (n + 1) } })),
    { type: "search.index", payload: { shard: 7 }, run_at: later.toISOString() },
    ...Array.from({ length: 6 }, () => ({ type: "webhook.deliver", payload: { event: "order.shipped" } })),
  ];
  await db.query("select jobforge_enqueue_jobs($1, $2)", [tenants.acme, JSON.stringify(waiting)]);
  await db.query("select jobforge_enqueue_job($1, 'ledger.sync', $2)", [
    tenants.initech,
    '{"account": 9007199254740993}',
  ]);
  await beatAll(db);
  const running = await db.query<Claimed>("select id from jobforge_claim_jobs('mailer-1', 4)");
  // Their limit has no room, which the kernel finds out when a worker asks.
  await db.query("select jobforge_claim_jobs('mailer-2', 4, array['webhook.deliver'])");
  await db.query("select jobforge_maintain()");
  for (const { id } of running.slice(0, 2))
    await db.query("select jobforge_progress_job($1, 'mailer-1', $2)", [id, { step: 2, of: 5 }]);
}
