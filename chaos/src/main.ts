/**
 * `npm run chaos`: runs real workers and producers on a real Postgres, injects faults of every kind, and checks every
 * promise. Options: --seed N, --minutes M, --faults a,b (default: all), --workers N, --producers N, --pairs SHARE,
 * --postgres 15|18, --plain (no limits and no schedules, so that jobs are handed to idle workers), --json, --write
 * (writes the figures into docs/reliability.md), --list. With --store redis: workers on Redis, of which --seed,
 * --minutes and --workers apply. Exits with 0 if every promise was kept, otherwise with 1.
 */
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { faultKinds, faultsNamed, usualFaults } from "./faults/index.ts";
import { runOnRedis } from "./redis/run.ts";
import { printResult, writeFigures } from "./report.ts";
import { type RunOptions, run } from "./run.ts";

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    minutes: { type: "string", default: "5" },
    faults: { type: "string" },
    workers: { type: "string", default: "3" },
    producers: { type: "string", default: "2" },
    pairs: { type: "string", default: "0.25" },
    postgres: { type: "string", default: "18" },
    store: { type: "string", default: "postgres" },
    plain: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    write: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

if (options.list) {
  for (const { name, about } of faultKinds) console.log(`${name.padEnd(24)}${about}`);
} else if (options.store === "redis") {
  const { folder, seed, workers, minutes } = chosen();
  const onProgress = (message: string): void => void process.stderr.write(`${message}\n`);
  // A fault takes about two seconds.
  const faults = Math.max(4, Math.round(minutes * 30));
  const result = await runOnRedis({ folder, seed, workers, faults, onProgress });
  console.log(JSON.stringify(result, null, 2));
  process.exitCode = result.violations.length > 0 ? 1 : 0;
} else {
  const result = await run({ ...chosen(), onProgress: (message) => process.stderr.write(`${message}\n`) });
  if (options.json) console.log(JSON.stringify(result, null, 2));
  else printResult(result, command());
  if (options.write) writeFigures(result, command());
  process.exitCode = result.violations.length > 0 ? 1 : 0;
}

function chosen(): Omit<RunOptions, "onProgress"> {
  return {
    folder: mkdtempSync(join(tmpdir(), "jobforge-chaos-")),
    seed: numberOf("seed", 0, 1_000_000_000),
    minutes: numberOf("minutes", 0, 1_440),
    workers: numberOf("workers", 1, 20),
    producers: numberOf("producers", 1, 10),
    pairs: numberOf("pairs", 0, 1),
    version: numberOf("postgres", 15, 18) === 15 ? 15 : 18,
    isPlain: options.plain,
    kinds: options.faults === undefined ? usualFaults(options.plain) : faultsNamed(options.faults.split(",")),
  };
}

function numberOf(
  name: "seed" | "minutes" | "workers" | "producers" | "pairs" | "postgres",
  min: number,
  max: number,
): number {
  const value = Number(options[name]);
  if (Number.isNaN(value) || value < min || value > max) {
    throw new RangeError(`--${name} must be a number from ${min} to ${max}, not ${options[name]}`);
  }
  return value;
}

/** The command that repeats this run. */
function command(): string {
  const given = (["minutes", "workers", "producers", "pairs", "postgres"] as const).map(
    (name) => `--${name} ${options[name]}`,
  );
  const faults = options.faults === undefined ? "" : ` --faults ${options.faults}`;
  return `npm run chaos -- --seed ${options.seed} ${given.join(" ")}${options.plain ? " --plain" : ""}${faults}`;
}
