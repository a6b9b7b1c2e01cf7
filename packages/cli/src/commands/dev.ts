/** `jobforge dev`: runs everything on one laptop with one command. Ctrl-C stops everything. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { JobForge } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker, type RunEnded, type RunFailed, type Worker } from "@jobforge/worker-ts";
import type { Command } from "commander";
import { action, addCommand, type Cli, type CommonOptions, outputOf } from "../command.ts";
import { apiSchema } from "../connection.ts";
import { demoHandlers } from "../demo/handlers.ts";
import { enqueueMix, jobsOfMix, mixEnded } from "../demo/mix.ts";
import { openDatabase } from "../dev/database.ts";
import { startServer } from "../dev/server.ts";
import { exitCodes, NotFoundError } from "../failures.ts";
import { jsonLogger } from "../handlers/log.ts";
import { runWatched } from "../handlers/watch.ts";
import { jobColumns } from "../jobs/columns.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { interruption, untilAborted } from "../process.ts";
import { portOption } from "../server/listen.ts";

interface DevOptions extends CommonOptions {
  readonly directory?: string;
  readonly demo?: boolean;
  readonly port?: number;
}

/** The folders that are searched for handlers if no path is given. */
const usualFolders = ["handlers", "jobs"];

export function devCommand(program: Command, cli: Cli): void {
  addCommand(program, "dev [path]", {
    summary: "Run everything on this machine: database, schema, server and worker",
    details: [
      "Without DATABASE_URL, a real PostgreSQL is started, with its data in .jobforge.",
      `The worker runs the handlers of the path (default: ${usualFolders.map((name) => `./${name}`).join(" or ")})`,
      "and restarts when a file changes. Ctrl-C stops everything.",
    ].join(" "),
    examples: ["jobforge dev", "jobforge dev ./src/handlers", "jobforge dev --demo"],
  })
    .option("--database-url <url>", "the database (default: DATABASE_URL, else an embedded database)")
    .option(
      "--api-schema <name>",
      "the schema for JobForge's functions (default: JOBFORGE_API_SCHEMA, else public)",
    )
    .option("--directory <path>", "the directory of the embedded database (default: .jobforge)")
    .option(
      "--port <number>",
      "the server's port (default: PORT, else 4470, or a free port if 4470 is taken)",
      portOption("--port"),
    )
    .option("--demo", "run the demo handlers with a few jobs")
    .action(action(cli, (path: string | undefined, options: DevOptions) => dev(cli, path, options)));
}

async function dev(cli: Cli, path: string | undefined, options: DevOptions): Promise<number> {
  const output = outputOf(cli, options);
  const schema = apiSchema(options, cli.process);
  const cwd = cli.process.cwd?.() ?? process.cwd();
  const folder = options.demo ? undefined : await handlersFolder(path, cwd);
  // Before anything is started, so that Ctrl-C at any moment stops all that was started by then.
  using interrupted = interruption(cli.process);
  const { signal } = interrupted;
  const say = (event: string, text: string, more: object = {}): void =>
    output.line({ event, ...more }, `${output.style("dim", "•")} ${text}`);
  await using database = await openDatabase(options, cli.process, (message) => say("progress", message));
  if (signal.aborted) return exitCodes.ok;
  const { version, refreshed } = await migrate({ database: database.url, apiSchema: schema });
  say("migrated", `Schema of JobForge ${version} ${refreshed ? "installed" : "is already installed"}`, {
    version,
  });
  await using forge = new JobForge({ database: database.url, schema });
  await using server = await startServer(cli.process, database.url, schema, options.port);
  say("ready", `Ready: ${database.name}. In another terminal: jobforge stats`);
  const { url, token } = server;
  say("server", `Server: ${url}/?token=${token} (the token is also the API's bearer token)`, { url, token });
  if (signal.aborted) return exitCodes.ok;
  if (options.demo) await runDemo(cli, forge, output, signal);
  else if (folder === undefined) {
    say("no_handlers", `No handlers: there is no folder ${usualFolders.join(" or ")} here. Pass a path.`);
    await untilAborted(signal);
  } else {
    say("worker", `Running the handlers in ${folder}. The worker restarts when a file changes`);
    await runWatched({
      args: ["worker", folder, "--grace", "5s", "--api-schema", schema, ...(options.json ? ["--json"] : [])],
      env: { LOG_STACKS: "1", ...cli.process.env, DATABASE_URL: database.url },
      cwd,
      path: folder,
      signal,
      onRestart: (file) => say("restart", `${file} has changed: restarting`, { file }),
    });
  }
  say("stopping", "Stopping");
  return exitCodes.ok;
}

async function handlersFolder(path: string | undefined, cwd: string): Promise<string | undefined> {
  const exists = async (name: string): Promise<boolean> =>
    (await stat(resolve(cwd, name)).catch(() => undefined)) !== undefined;
  if (path !== undefined) {
    if (!(await exists(path))) throw new NotFoundError(`There is no file or folder ${resolve(cwd, path)}.`);
    return path;
  }
  for (const name of usualFolders) if (await exists(name)) return name;
  return undefined;
}

/** Runs the demo: a worker in this process and a mix of jobs. Then shows how the jobs finished. */
async function runDemo(cli: Cli, forge: JobForge, output: Output, signal: AbortSignal): Promise<void> {
  await using worker = demoWorker(cli, forge, output);
  const mix = await enqueueMix(forge);
  await worker.start();
  await mixEnded(forge, mix, signal);
  if (signal.aborted) return;
  const jobs = await jobsOfMix(forge, mix);
  output.line({ event: "mix", jobs }, `\n${output.table(jobs, jobColumns)}`);
  output.line({ event: "idle" }, "The worker runs until Ctrl-C. In another terminal: jobforge jobs list");
  await untilAborted(signal);
}

function demoWorker(cli: Cli, forge: JobForge, output: Output): Worker {
  const { style } = output;
  const ended = (run: RunEnded | RunFailed, mark: string, text: string): void =>
    output.line({ event: "run", ...run }, `  ${mark} ${run.type} attempt ${run.attempt}: ${text}`);
  return createWorker(forge, {
    handlers: demoHandlers,
    graceMs: 5000,
    logger: jsonLogger(cli.process.stderr, cli.process.env, { least: "warn", jobs: false }),
    hooks: {
      onSuccess: (run) => ended(run, style("green", "✓"), run.status),
      onFailure: (run) => {
        const then = run.status === "queued" ? "retry" : run.status;
        ended(run, style("red", "✗"), `${plain(run.error.fullMessage)} → ${then}`);
      },
    },
  });
}
