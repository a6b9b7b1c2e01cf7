/**
 * `npm run attack`: attacks JobForge on a real Postgres as every kind of caller, and checks that each attack fails.
 * Options: --seed N, --tours a,b (default: all), --count N (steps of each tour), --minutes M (of all tours together),
 * --postgres 15|18, --json, --list. Exits with 0 if every attack failed, otherwise with 1.
 */
import { parseArgs } from "node:util";
import { startTestServer } from "@jobforge/testing";
import { printResult } from "./report.ts";
import { run } from "./run.ts";
import { tours, toursNamed } from "./tours/index.ts";

const { values: options } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    tours: { type: "string" },
    count: { type: "string" },
    minutes: { type: "string" },
    postgres: { type: "string", default: "18" },
    json: { type: "boolean", default: false },
    list: { type: "boolean", default: false },
  },
});

const defaultMinutes = 5;

if (options.list) {
  for (const { name, about } of tours) console.log(`${name.padEnd(16)}${about}`);
} else {
  const chosen = options.tours === undefined ? tours : toursNamed(options.tours.split(","));
  const count = numberOf("count", 1, 10_000_000);
  const minutes = numberOf("minutes", 0, 1_440) ?? (count === undefined ? defaultMinutes : undefined);
  const seed = numberOf("seed", 0, 1_000_000_000) ?? 0;
  const version = numberOf("postgres", 15, 18) === 15 ? 15 : 18;
  process.stderr.write(`seed ${seed} · starting a server and creating a database\n`);
  await using server = await startTestServer({ version });
  const result = await run({
    ...{ server, tours: chosen, seed, count, minutes },
    onProgress: (message) => process.stderr.write(`${message}\n`),
  });
  if (options.json) console.log(JSON.stringify(result, null, 2));
  else printResult(result, version);
  process.exitCode = result.violations.length > 0 ? 1 : 0;
}

function numberOf(
  name: "seed" | "count" | "minutes" | "postgres",
  min: number,
  max: number,
): number | undefined {
  const text = options[name];
  if (text === undefined) return undefined;
  const value = Number(text);
  if (text === "" || Number.isNaN(value) || value < min || value > max) {
    throw new RangeError(`--${name} must be a number from ${min} to ${max}, not ${text}`);
  }
  return value;
}
