/**
 * `npm run bench:kernel`: compares the kernel's SQL with plain tables, in one run on one server, and reports ratios.
 * Options: --quick (a quarter of the jobs), --rounds N, --json, --postgres 15|18. DATABASE_URL names another server, on
 * which the benchmark creates a database and drops it at the end.
 */
import { parseArgs } from "node:util";
import { migrate } from "@jobforge/sql";
import pg from "pg";
import { baseline } from "./kernel/baseline.ts";
import type { Contender, Work } from "./kernel/contender.ts";
import { jobforge } from "./kernel/jobforge.ts";
import { type Cost, median, meter, rate } from "./meter.ts";
import { startServer } from "./server.ts";
import { formatTable, number } from "./table.ts";

interface Case extends Omit<Work, "tenants"> {
  readonly name: string;
  readonly kind: "enqueue one" | "enqueue bulk" | "claim+settle";
  readonly jobs: number;
  readonly tenants: number;
  readonly connections: number;
  /** Keeps a transaction open, so that vacuum cannot remove any dead row. */
  readonly pinned?: boolean;
  /** Sets this limit, and compares with JobForge without a limit instead of plain tables. */
  readonly limit?: readonly [scope: string, key: string, maxRunning: number];
}

interface Measured {
  readonly case: Case;
  readonly jobforge: Cost;
  readonly plain: Cost;
}

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
    postgres: { type: "string", default: "18" },
  },
});
const scale = options.quick ? 0.25 : 1;

function cases(): Case[] {
  const usual = { tenants: 10, connections: 1, history: true, batch: 500 };
  const drains: Case[] = [];
  for (const connections of [1, 4]) {
    for (const [batch, jobs] of [
      [1, 3_000],
      [10, 16_000],
      [100, 40_000],
      [500, 60_000],
    ] as const) {
      const name = `claim+settle, batch ${batch}, ${connections} conn`;
      drains.push({ ...usual, name, kind: "claim+settle", jobs, batch, connections });
    }
  }
  const fast = { ...usual, kind: "claim+settle", jobs: 60_000 } as const;
  return [
    { ...usual, name: "enqueue, one by one", kind: "enqueue one", jobs: 3_000 },
    { ...usual, name: "enqueue, 1000 per call", kind: "enqueue bulk", jobs: 60_000, batch: 1000 },
    ...drains,
    { ...fast, name: "  the same, 1 tenant", tenants: 1 },
    { ...fast, name: "  the same, 1,000 tenants", tenants: 1000 },
    { ...fast, name: "  the same, history off", history: false },
    { ...fast, name: "  the same, xmin pinned", pinned: true },
    { ...fast, name: "limit of a type, not reached", limit: ["type", "kept", 10_000] },
    { ...fast, name: "limit of tenants, not reached", limit: ["tenant", "*", 10_000] },
    { ...fast, name: "limit of tenants, always reached", limit: ["tenant", "*", 25] },
  ];
}

async function measure(url: string, each: Case, contender: Contender): Promise<Cost> {
  const count = Math.ceil(each.jobs * scale);
  const tenants = Array.from({ length: each.tenants }, (_, n) => tenant(n));
  const work: Work = { tenants, batch: each.batch, history: each.history };
  const clients = await Promise.all(Array.from({ length: each.connections }, () => connect(url)));
  const [first] = clients;
  if (first === undefined) throw new Error("no connection");
  try {
    if (each.kind === "enqueue one") {
      return await meter(clients, contender.schema, async () => {
        for (let n = 0; n < count; n += 1) await contender.enqueueOne(first, tenant(n % each.tenants));
        return count;
      });
    }
    const enqueue = async (batch: number): Promise<number> => {
      await contender.enqueueBulk(first, count, { ...work, batch });
      return count;
    };
    if (each.kind === "enqueue bulk")
      return await meter(clients, contender.schema, () => enqueue(each.batch));
    // Small batches if there are many tenants, so that every tenant gets its share of the jobs.
    await enqueue(Math.max(1, Math.min(1000, Math.floor(count / each.tenants))));
    return await meter(clients, contender.schema, async () => {
      const done = await Promise.all(clients.map((client) => contender.drain(client, work)));
      return done.reduce((sum, jobs) => sum + jobs, 0);
    });
  } finally {
    await Promise.all(clients.map((client) => client.end()));
  }
}

/** Runs both contenders in turn, so that a slow minute of the machine affects both. Round 0 is a warm-up. */
async function compare(url: string, each: Case): Promise<Measured> {
  const ours = each.limit === undefined ? jobforge : limited(each.limit);
  const others = each.limit === undefined ? baseline : jobforge;
  const costs = new Map<Contender, Cost[]>([
    [ours, []],
    [others, []],
  ]);
  const pin = each.pinned ? await connect(url) : undefined;
  if (pin) await pin.query("begin isolation level repeatable read; select 1 from jobforge.installation");
  for (let round = 0; round <= Number(options.rounds); round += 1) {
    for (const [contender, all] of costs) {
      progress(`${each.name.trim()} · ${contender.name} · round ${round}`);
      const cost = await measure(url, each, contender);
      if (round > 0) all.push(cost);
      // Remove the jobs that an enqueue case leaves behind, so that the next case starts with an empty queue as well.
      if (each.kind !== "claim+settle") await clear(url, contender);
    }
  }
  await pin?.end();
  return {
    case: each,
    jobforge: median(costs.get(ours) ?? []),
    plain: median(costs.get(others) ?? []),
  };
}

/** JobForge with a limit that is set during each drain. */
function limited(limit: NonNullable<Case["limit"]>): Contender {
  return {
    ...jobforge,
    name: "jobforge with a limit",
    drain: async (client, work) => {
      await client.query("select jobforge_set_limit($1, $2, $3)", [...limit]);
      const done = await jobforge.drain(client, work);
      await client.query("select jobforge_remove_limit($1, $2)", limit.slice(0, 2));
      return done;
    },
  };
}

async function clear(url: string, contender: Contender): Promise<void> {
  const client = await connect(url);
  await contender.drain(client, { tenants: [], batch: 500, history: true });
  await client.end();
}

function report(all: readonly Measured[]): void {
  if (options.json) {
    const items = all.map((each) => ({ ...each, ratio: rate(each.jobforge) / rate(each.plain) }));
    console.log(JSON.stringify({ items }, null, 2));
    return;
  }
  const head = [
    "",
    "jobs/s",
    "plain",
    "ratio",
    "WAL B/job",
    "plain",
    "commits/job",
    "plain",
    "buffers/job",
    "plain",
    "dead/job",
    "plain",
  ];
  const rows = all.map(({ case: each, jobforge: ours, plain }) => [
    each.name,
    number(rate(ours)),
    number(rate(plain)),
    (rate(ours) / rate(plain)).toFixed(2),
    ...(["walBytes", "commits", "buffers", "deadRows"] as const).flatMap((what) => [
      number(ours[what] / ours.jobs),
      number(plain[what] / plain.jobs),
    ]),
  ]);
  console.log(`\n${formatTable(head, rows)}`);
}

function tenant(n: number): string {
  return `00000000-0000-4000-8000-${String(n + 1).padStart(12, "0")}`;
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  return client;
}

function progress(message: string): void {
  if (!options.json) process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${message}` : `${message}\n`);
}

const server = await startServer({ version: options.postgres === "15" ? 15 : 18 });
try {
  await using database = await server.createDatabase();
  await migrate({ database: database.url });
  const admin = await connect(database.url);
  for (const contender of [jobforge, baseline]) await contender.setUp(admin);
  await admin.end();
  const all: Measured[] = [];
  for (const each of cases()) all.push(await compare(database.url, each));
  report(all);
} finally {
  await server.stop();
}
