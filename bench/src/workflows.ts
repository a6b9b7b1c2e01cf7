/**
 * `npm run bench:workflows`: what steps of workflows cost next to plain jobs, and what plain jobs pay for them, in one
 * run on one server. See `--help` for options and bench/README.md for the rest.
 */
import { parseArgs } from "node:util";
import { machine } from "./driver/machine.ts";
import { startServer } from "./server.ts";
import { measureAll } from "./workflows/cells.ts";
import { jsonOf, type Report, textOf, writeReport } from "./workflows/report.ts";

const usage = `npm run bench:workflows -- [options]

Compares steps of workflows with plain jobs, in turns on one server. Compare ratios, not absolute numbers, and run
nothing else on the machine meanwhile. It takes about ten minutes.

  --quick       a tenth of the steps: about a minute
  --rounds N    rounds of each cell, at least 1 (default: 3)
  --postgres N  15 or 18 (default); the variable DATABASE_URL names another server
  --json        print one JSON document to standard output
  --write       write the results into docs/benchmarks.md`;

const args = process.argv.slice(2);

interface Options {
  readonly quick: boolean;
  readonly json: boolean;
  readonly write: boolean;
  readonly rounds: number;
  readonly version: 15 | 18;
}

function readOptions(): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", default: false },
      rounds: { type: "string", default: "3" },
      postgres: { type: "string", default: "18" },
    },
  });
  if (values.help) return "help";
  const rounds = Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds must be a whole number, at least 1");
  if (values.postgres !== "15" && values.postgres !== "18") throw new Error("--postgres must be 15 or 18");
  const { quick, json, write } = values;
  return { quick, json, write, rounds, version: values.postgres === "15" ? 15 : 18 };
}

async function bench({ quick, json, write, rounds, version }: Options): Promise<void> {
  const startedAt = new Date();
  const server = await startServer({ version });
  try {
    const context = { server, pid: await server.pid(), rounds, onProgress: progress };
    const rows = await measureAll(context, quick ? 0.1 : 1);
    progress("");
    const report: Report = {
      rows,
      command: ["npm run bench:workflows", ...(args.length > 0 ? ["--", ...args] : [])].join(" "),
      startedAt: startedAt.toISOString(),
      seconds: (Date.now() - startedAt.getTime()) / 1000,
      rounds,
      machine: machine(),
      postgres: await server.version(),
      durability: await server.durability(),
    };
    if (write) progress(`written: ${writeReport(report)}\n`);
    console.log(json ? JSON.stringify(jsonOf(report), null, 2) : textOf(report));
  } finally {
    await server.stop();
  }
}

/** Writes to standard error, so that standard output contains only the report. */
function progress(message: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${message}`);
  else if (message !== "") process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${message}\n`);
}

let options: Options | "help";
try {
  options = readOptions();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
if (options === "help") console.log(usage);
else await bench(options);
