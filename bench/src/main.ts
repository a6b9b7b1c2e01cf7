/**
 * `npm run bench`: JobForge and its peers on the same work, in turn, on one server: throughput of jobs that do nothing, and the
 * time from enqueue to start on an idle worker. Ratios count, not absolutes. And how late JobForge fires a schedule on an idle system.
 * Options: --quick, --rounds N, --json.
 */
import { execFile } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { peersFolder, preparePeers } from "./peers.ts";
import { startServer } from "./server.ts";
import { formatTable, number } from "./table.ts";

interface Drained {
  readonly jobs: number;
  readonly enqueueSeconds: number;
  readonly seconds: number;
}

interface Latency {
  readonly median: number;
  readonly p95: number;
}

interface Result {
  readonly name: string;
  readonly enqueued: number;
  readonly drained: number;
  readonly latency: Latency;
}

const { values: options } = parseArgs({
  options: {
    quick: { type: "boolean", default: false },
    rounds: { type: "string", default: "3" },
    json: { type: "boolean", default: false },
  },
});
const jobs = options.quick ? 30_000 : 100_000;
const samples = options.quick ? 100 : 300;
const here = fileURLToPath(new URL(".", import.meta.url));
const contenders = {
  jobforge: join(here, "contenders/jobforge.ts"),
  "graphile-worker": join(peersFolder, "graphile-worker.js"),
};

const node = preparePeers(progress);
const server = await startServer();
const drains = new Map<string, Drained[]>();
const latencies = new Map<string, Latency[]>();
let firing: Latency;
try {
  for (let round = 1; round <= Number(options.rounds); round += 1) {
    for (const [name, module] of Object.entries(contenders)) {
      progress(`${name} · drain ${number(jobs)} jobs · round ${round}`);
      collect(drains, name, await measure<Drained>(module, "drain", jobs));
      progress(`${name} · latency of ${samples} jobs · round ${round}`);
      collect(latencies, name, await measure<Latency>(module, "latency", samples));
    }
  }
  progress(`jobforge · ${samples} runs of a schedule`);
  firing = await inOwnDatabase<Latency>("firing.ts", samples);
} finally {
  await server.stop();
}
report(
  Object.keys(contenders).map((name) => {
    const all = drains.get(name) ?? [];
    return {
      name,
      enqueued: median(all.map((each) => each.jobs / each.enqueueSeconds)),
      drained: median(all.map((each) => each.jobs / each.seconds)),
      latency: {
        median: median((latencies.get(name) ?? []).map((each) => each.median)),
        p95: median((latencies.get(name) ?? []).map((each) => each.p95)),
      },
    };
  }),
);

function measure<T>(module: string, mode: string, count: number): Promise<T> {
  return inOwnDatabase<T>("contenders/child.ts", module, mode, count);
}

/** Runs a program of this folder, which prints its answer in one line, on a database of its own. */
async function inOwnDatabase<T>(program: string, ...args: readonly (string | number)[]): Promise<T> {
  await using database = await server.createDatabase();
  const { stdout } = await promisify(execFile)(
    node,
    ["--import", "tsx", join(here, program), ...args.map(String)],
    {
      cwd: join(here, "../.."),
      env: { ...process.env, DATABASE_URL: database.url, LOG_LEVEL: "silent", NODE_ENV: "production" },
    },
  );
  return JSON.parse(stdout.trim().split("\n").at(-1) ?? "") as T;
}

function report(results: readonly Result[]): void {
  if (options.json) {
    console.log(JSON.stringify({ items: results, firing }, null, 2));
    return;
  }
  const [ours] = results;
  const rows = results.map((each) => [
    each.name,
    number(each.enqueued),
    number(each.drained),
    ours ? `${(ours.drained / each.drained).toFixed(2)}×` : "",
    `${each.latency.median.toFixed(2)} ms`,
    `${each.latency.p95.toFixed(2)} ms`,
    ours ? `${(ours.latency.median / each.latency.median).toFixed(2)}×` : "",
  ]);
  const head = ["", "enqueued/s", "run/s", "jobforge is", "start, median", "p95", "jobforge is"];
  console.log(`\n${formatTable(head, rows)}`);
  console.log(
    `\na schedule fires ${firing.median} ms after its due time (median; p95 ${firing.p95} ms), on an idle system`,
  );
}

function collect<T>(all: Map<string, T[]>, name: string, one: T): void {
  all.set(name, [...(all.get(name) ?? []), one]);
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
}

function progress(message: string): void {
  if (!options.json) process.stderr.write(process.stderr.isTTY ? `\r\x1b[K${message}` : `${message}\n`);
}
