/**
 * The figures of docs/scaling.md, between marker comments: what a job costs, and what follows from it for 100, 10,000
 * and 1,000,000 jobs a second. They are calculated from the tables of docs/benchmarks.md, so both pages always show the
 * same run.
 */
import { listItem, number, wrapped } from "../table.ts";
import { type Cells, type Costs, costsIn, originIn, readCells } from "./cells.ts";

/** The text of each marked section, by its name. Throws an error that names the cell if one is missing. */
export function scalingSections(benchmarks: string): Readonly<Record<string, string>> {
  const cells = readCells(benchmarks);
  const costs = costsIn(cells);
  return {
    origin: origin(benchmarks),
    costs: costTable(costs),
    consequences: consequences(costs, cells),
    limits: limits(costs, cells),
    "100 jobs": hundred(costs),
    "10,000 jobs": tenThousand(costs, cells),
    "1,000,000 jobs": million(costs),
    redis: redis(costs, cells),
  };
}

/** Replaces the sections of the page. Throws an error if one of them is not on it. */
export function replaceSections(page: string, sections: Readonly<Record<string, string>>): string {
  let text = page;
  for (const [name, section] of Object.entries(sections)) {
    const [begin, end] = [`<!-- figures: ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [text.indexOf(begin), text.indexOf(end)];
    if (from < 0 || to < from) throw new Error(`the page must contain the lines "${begin}" and "${end}"`);
    text = `${text.slice(0, from + begin.length)}\n\n${section === "" ? "" : `${section}\n\n`}${text.slice(to)}`;
  }
  return text;
}

function origin(benchmarks: string): string {
  const { date, cores, postgres } = originIn(benchmarks);
  return wrapped(
    `Every measured figure is from [the benchmarks](benchmarks.md), in the run of ${date} on ${cores} cores with Postgres ${postgres}, and names its cell. Everything else on this page is calculated from these figures and marked as such. Your machine has other numbers: run \`npm run bench\`, and calculate again.`,
  );
}

function costTable(costs: Costs): string {
  const rows = [
    ["Enqueue, one call after the other", costs.enqueue],
    ["Enqueue, 50 callers", costs.enqueueTogether],
    ["Enqueue, 10,000 in a call", costs.enqueueBulk],
    ["Run, a backlog of jobs without work", costs.run],
    ["Run, payloads of 1 kB", costs.runPayload],
    ["Run, 100 handlers of 10 ms", costs.runSlow],
    ["Enqueue and run, 500 a second", costs.steady],
  ] as const;
  return padded(
    ["What", "Server, µs a job", "Worker or client, µs", "WAL, bytes", "Commits a job", "Cell"],
    rows.map(([what, { server, worker, wal, commits, cell }]) => [
      what,
      ...[server, worker, wal, commits].map(number),
      cell,
    ]),
  );
}

/** Enqueued in bulk and run in batches. */
function batched({ enqueueBulk, run }: Costs) {
  return {
    server: enqueueBulk.server + run.server,
    worker: enqueueBulk.worker + run.worker,
    wal: enqueueBulk.wal + run.wal,
  };
}

function consequences(costs: Costs, cells: Cells): string {
  const { steady, enqueueBulk, run } = costs;
  const { server } = batched(costs);
  const rates = [1, 2, 8].map((processes) =>
    number(cells.figure(burnDown(processes), "jobforge", "rate, jobs/s")),
  );
  return [
    `**Batches are what makes jobs cheap.** A job that is enqueued and run on its own, at 500 a second, costs ${number(steady.server)} µs of the server. In batches it is ${number(enqueueBulk.server)} + ${number(run.server)} = ${number(server)} µs. One core of the server can do about ${round(1_000_000 / steady.server)} a second the first way, and ${round(1_000_000 / server)} a second the second way (calculated: 1 s divided by the cost). Workers batch on their own as soon as jobs wait; enqueues batch if you use \`enqueueMany\`, or call \`enqueue\` many times at once outside of a transaction.`,
    `**The worker is cheap.** ${number(run.worker)} µs a job is ${round(1_000_000 / run.worker)} jobs a second per core (calculated), before your handler does anything.`,
    `**The server is the limit,** so more worker processes help only as long as it has cores to spare. One process ran ${rates[0]} jobs a second, two ran ${rates[1]}, and eight ran ${rates[2]}, on cores that they share with the server.`,
  ]
    .map(listItem)
    .join("\n");
}

function limits(costs: Costs, cells: Cells): string {
  const { run, runPayload, steady } = costs;
  const { wal } = batched(costs);
  const rate = (title: string): number => cells.figure(title, "jobforge", "rate, jobs/s");
  const open = rate("With a transaction left open") / rate("The same without a transaction left open");
  const limited = rate("With a concurrency limit that is not reached");
  const clean = rate(burnDown(1));
  const idle = cells.figure("Idle cost of 100 workers", "jobforge", "commits/second");
  return padded(
    ["Limit", "What it is", "How you see it", "What to do"],
    [
      [
        "Commits",
        `A commit waits for the disk. Commits at the same time share a flush. At 500 jobs a second, a job costs ${number(steady.commits)} of them`,
        "Many sessions in `WALSync`; enqueues are slow, runs are not",
        "Enqueue in bulk. A worker settles and claims up to 500 jobs in one commit by itself",
      ],
      [
        "WAL",
        `${number(wal / 1000)} kB a job from enqueue to end, one stream per database server, sent to each replica`,
        "Checkpoints that are too frequent, replicas that lag",
        `Small payloads: with 1 kB of payload, a run writes ${number(runPayload.wal / run.wal)} times as much. \`keepHistory: false\` for types that need no history. Then several databases`,
      ],
      [
        "Vacuum",
        `${number(run.deadRows)} dead rows a job. Claims do not read them: with a transaction left open the rate is ${open.toFixed(2)} of the rate without`,
        "`jobforge doctor`: vacuum, xmin",
        "End long transactions, drop forgotten replication slots. Leave autovacuum on",
      ],
      [
        "Storage",
        `${number(run.table)} bytes of table and ${number(run.index)} of index a job, for 30 days`,
        "Disk",
        "`retentionDays`; old partitions are dropped, not deleted row by row",
      ],
      [
        "Connections",
        `A worker has a pool of 10 and one to listen. Postgres pays for each, and a hundred idle workers cost ${number(idle)} commits a second (idle cost of 100 workers)`,
        "`max_connections`, memory of the server",
        "Fewer processes with more `concurrency`; a smaller pool; [a pooler](guides/production.md)",
      ],
      [
        "NOTIFY",
        "A commit with a NOTIFY takes a lock of the whole server. JobForge sends one only if a worker is idle for the type",
        "Commits wait although the disk is idle",
        "Nothing at high rates, because workers are not idle then. In transaction mode of a pooler workers poll instead",
      ],
      [
        "One type",
        `Turns, limits and gates are decided at the claim. With a limit that is not reached, the rate is ${(limited / clean).toFixed(2)} of the rate without (${number(limited)} against ${number(clean)})`,
        "`server µs/job` in your own run",
        "Set limits only on types that need one",
      ],
    ],
  );
}

function hundred({ steady }: Costs): string {
  const stored = steady.table + steady.index;
  const gigabytesADay = (100 * stored * daySeconds) / 1e9;
  return wrapped(
    `Calculated for **100 jobs a second**, each enqueued and run on its own: 100 × ${number(steady.server)} µs is ${number((100 * steady.server) / 1e6)} cores of the server. 100 × ${number(steady.wal)} bytes of WAL are ${number((100 * steady.wal) / 1000)} kB a second, or ${number((100 * steady.wal * daySeconds) / 1e9)} GB a day. Tables and indexes grow by 100 × ${number(stored)} bytes a second, which is ${number(gigabytesADay)} GB a day and ${number(gigabytesADay * 30)} GB in 30 days. So the first thing to think of is not speed but \`retentionDays\`. With seven days it is ${number(gigabytesADay * 7)} GB. One worker process is enough. Nothing is given up.`,
  );
}

function tenThousand(costs: Costs, cells: Cells): string {
  const { enqueue, enqueueTogether, run } = costs;
  const { server, worker, wal } = batched(costs);
  const together = cells.figure(enqueueTogether.cell, "jobforge", "rate, jobs/s");
  return [
    "Calculated for **10,000 jobs a second**:",
    [
      `Enqueued in bulk and run in batches: 10,000 × ${number(server)} µs is ${cores(10_000, server)} cores of the server, and 10,000 × ${number(worker)} µs is ${cores(10_000, worker)} cores of clients and workers, without the handlers.`,
      `Enqueued one call after the other: 10,000 × ${number(enqueue.server)} µs is ${cores(10_000, enqueue.server)} cores of the server for the enqueues alone, and ${number(10_000 * enqueue.commits)} commits a second. By 50 callers at the same time: ${cores(10_000, enqueueTogether.server)} cores and ${number(10_000 * enqueueTogether.commits)} commits; on our machine they reached ${number(together)} jobs a second.`,
      `WAL: 10,000 × ${number(wal)} bytes is ${number((10_000 * wal) / 1e6)} MB a second, or ${number((10_000 * wal * daySeconds) / 1e12)} TB a day, for every replica and every archive.`,
      `History: 10,000 × ${number(run.table + run.index)} bytes is ${number((10_000 * (run.table + run.index) * daySeconds) / 1e9)} GB a day. Keep it for a day, or not at all.`,
    ]
      .map(listItem)
      .join("\n"),
  ].join("\n\n");
}

/** The jobs a second that one database is planned for. */
const perDatabase = 20_000;

function million(costs: Costs): string {
  const { server, worker, wal } = batched(costs);
  return wrapped(
    `Calculated for **1,000,000 jobs a second**, all enqueued in bulk: 1,000,000 × ${number(server)} µs is ${cores(1_000_000, server)} cores of servers, ${cores(1_000_000, worker)} cores of workers and clients without the handlers, and ${number((1_000_000 * wal) / 1e9)} GB of WAL a second. No single server writes that. With ${number(perDatabase)} jobs a second per database, which is ${cores(perDatabase, server)} cores and ${number((perDatabase * wal) / 1e6)} MB of WAL a second each, it is ${1_000_000 / perDatabase} databases. We have measured one database. We have not measured ${1_000_000 / perDatabase}.`,
  );
}

function redis(costs: Costs, cells: Cells): string {
  const server = (title: string): number => cells.figure(title, "bullmq on redis", "server µs/job");
  const enqueue = server(costs.enqueue.cell);
  const [bulk, run] = [server(costs.enqueueBulk.cell), server(costs.run.cell)];
  const ours = batched(costs).server;
  const perMaster = 1_000_000 / (bulk + run);
  const wait = (contestant: string): string =>
    number(cells.figure(costs.steady.cell, contestant, "median, ms"));
  const onRedis = cells.find(costs.run.cell, "jobforge on redis", "rate, jobs/s");
  const plain = cells.figure(costs.run.cell, "bullmq on redis", "rate, jobs/s");
  const handlers =
    onRedis === undefined
      ? "The run has plain BullMQ only; the contestant `jobforge on redis` is to have at least 0.85 of its rate."
      : `JobForge's handlers on BullMQ run at ${(onRedis / plain).toFixed(2)} of the rate of plain BullMQ (${number(onRedis)} against ${number(plain)}, ${costs.run.cell}).`;
  return wrapped(
    `BullMQ on Redis costs ${number(enqueue)} µs of the server for an enqueue one by one, where JobForge costs ${number(costs.enqueue.server)}. In bulk and for runs it is ${number(bulk)} + ${number(run)} = ${number(bulk + run)} µs, against ${number(ours)} (cells: enqueue one by one, 1 at a time; enqueue in bulk; burn-down, 1 process). ${handlers} A Redis server runs its commands on one core, so this is about ${round(perMaster)} jobs a second for each master, and ${Math.ceil(1_000_000 / perMaster)} masters of a Redis Cluster for **1,000,000 jobs a second** (calculated). At 500 jobs a second, the median wait is ${wait("bullmq on redis")} ms on BullMQ and ${wait("jobforge")} ms on JobForge. Choose Redis for many small enqueues that need no transaction.`,
  );
}

const daySeconds = 86_400;

function burnDown(processes: number): string {
  return `Burn-down of jobs that do nothing, ${processes === 1 ? "1 process" : `${processes} processes`}`;
}

function cores(jobs: number, microseconds: number): string {
  return number((jobs * microseconds) / 1e6);
}

/** Three significant digits, because the result of a calculation is not more exact. */
function round(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString("en-US");
}

/** A table whose columns are aligned, as in all pages that are read as text. */
function padded(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (texts: readonly string[]): string =>
    `| ${texts.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(head), `| ${widths.map((width) => "-".repeat(width)).join(" | ")} |`, ...rows.map(line)].join(
    "\n",
  );
}
