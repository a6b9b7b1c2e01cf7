/**
 * `npm run bench`: runs JobForge and its peers on the same work. See `--help` for options and bench/README.md for the
 * rest.
 */
import { run } from "./driver/run.ts";
import { type Options, readOptions, usage } from "./options.ts";
import { jsonReport } from "./report/json.ts";
import { textReport } from "./report/text.ts";
import { writeDocs } from "./report/write.ts";
import { startServer } from "./server.ts";
import { full, quick } from "./workloads/index.ts";

const args = process.argv.slice(2);
let options: Options | "help";
try {
  options = readOptions(args);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exit(2);
}
if (options === "help") console.log(usage);
else await bench(options);

async function bench({ peers, workloads, rounds, json, databaseUrl, ...chosen }: Options): Promise<void> {
  const server = await startServer({ url: databaseUrl });
  try {
    const size = chosen.quick ? quick : full;
    const results = await run(server, {
      peers,
      workloads,
      rounds,
      size,
      quick: chosen.quick,
      onProgress: progress,
    });
    progress("");
    const command = ["npm run bench", ...(args.length > 0 ? ["--", ...args] : [])].join(" ");
    if (chosen.write) {
      const { files, keptScaling } = writeDocs(results, command);
      progress(`written: ${files.join(", ")}\n`);
      if (keptScaling !== undefined) progress(`docs/scaling.md keeps its figures: ${keptScaling}\n`);
    }
    console.log(json ? JSON.stringify(jsonReport(results, command), null, 2) : textReport(results));
    // A peer may fail in a workload that it was not made for. If JobForge fails, the exit code is 1.
    const broken = results.cells.some((cell) =>
      cell.results.some(({ contestant, failed }) => contestant === "jobforge" && failed !== undefined),
    );
    if (broken || results.missing.some(({ name }) => name === "jobforge")) process.exitCode = 1;
  } finally {
    await server.stop();
  }
}

/** Writes to standard error, so that standard output contains only the report. */
function progress(message: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${message}`);
  else if (message !== "") process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${message}\n`);
}
