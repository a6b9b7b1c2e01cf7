/** `jobforge dev`: runs everything on one laptop with one command. Ctrl-C stops everything. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { JobForge, type JobHandler } from "@jobforge/sdk-ts";
import { migrate } from "@jobforge/sql";
import { createWorker, type RunEnded, type RunFailed, type Worker } from "@jobforge/worker-ts";
import type { Command } from "commander";
import { withClient } from "../client.ts";
import { action, addCommand, type Cli, type CommonOptions, outputOf } from "../command.ts";
import { apiSchema } from "../connection.ts";
import { keepSelling, openShops } from "../demo/activity.ts";
import { demoHandlers } from "../demo/handlers.ts";
import { enqueueMix, jobsOfMix, type Mix, mixEnded } from "../demo/mix.ts";
import { openReceivers } from "../demo/receiver.ts";
import { shopHandlers } from "../demo/shop.ts";
import { type DevDatabase, openDatabase } from "../dev/database.ts";
import { type DevServer, startServer } from "../dev/server.ts";
import { exitCodes, NotFoundError } from "../failures.ts";
import { defaultStore, loadArtifacts } from "../handlers/artifacts.ts";
import { loadConnectors } from "../handlers/connectors.ts";
import { jsonLogger } from "../handlers/log.ts";
import { loadWebhookSecrets, withMasterKey } from "../handlers/master-keys.ts";
import { describeEnd, runWatched } from "../handlers/watch.ts";
import { asTyped } from "../invocation.ts";
import { jobColumns } from "../jobs/columns.ts";
import type { Output } from "../output/output.ts";
import { plain } from "../output/terminal.ts";
import { interruption, untilAborted } from "../process.ts";
import { portOption } from "../server/listen.ts";

interface DevOptions extends CommonOptions {
  readonly directory?: string;
  readonly demo?: boolean;
  readonly port?: number;
  readonly allowRemote?: boolean;
}

/** Writes an event: a document with --json, else its text. */
type Say = (event: string, text: string, more?: object) => void;

/** The folders that are searched for handlers if no path is given. */
const usualFolders = ["handlers", "jobs"];

export function devCommand(program: Command, cli: Cli): void {
  addCommand(program, "dev [path]", {
    summary: "Run everything on this machine: database, schema, server and worker",
    details: [
      "Without DATABASE_URL, a real PostgreSQL is started, with its data in .jobforge.",
      `The worker runs the handlers of the path (default: ${usualFolders.map((name) => `./${name}`).join(" or ")})`,
      "and restarts when a file changes. It also runs the connectors, which may reach this machine.",
      "The embedded database keeps the logs of all runs.",
      "Ctrl-C stops everything.",
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
    .option("--demo", "run the demo: a few jobs, and web shops that keep the dashboard busy")
    .option("--allow-remote", "use a database on another machine without asking")
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
  const say: Say = (event, text, more = {}) =>
    output.line({ event, ...more }, `${output.style("dim", "•")} ${text}`);
  await using database = await openDatabase(options, cli.process, (message) => say("progress", message));
  if (signal.aborted) return exitCodes.ok;
  const { version, refreshed } = await withClient(
    database.url,
    (client) => migrate({ database: client, apiSchema: schema }),
    "jobforge-migrate",
  );
  say("migrated", `Schema of JobForge ${version} ${refreshed ? "installed" : "is already installed"}`, {
    version,
  });
  const artifacts = await loadArtifacts(cli.process);
  const env = await withMasterKey(withLoopback(cli.process.env), cwd);
  await using forge = new JobForge({ database: database.url, schema, artifacts });
  if (database.isEmbedded) await keepLogs(forge);
  await using server = await startServer(
    cli.process,
    {
      ...{ database: database.url, apiSchema: schema, artifacts },
      webhookSecrets: await loadWebhookSecrets(env),
    },
    options.port,
  );
  introduce(cli, database, server, say);
  if (signal.aborted) return exitCodes.ok;
  sayConnectors(env, say);
  if (options.demo) await runDemo(cli, forge, await loadConnectors(forge, env, cwd), output, signal);
  else if (folder === undefined) {
    say("no_handlers", `No handlers: there is no folder ${usualFolders.join(" or ")} here. Pass a path.`);
    await runConnectors(cli, forge, await loadConnectors(forge, env, cwd), signal);
  } else {
    say("worker", `Running the handlers in ${folder}. The worker restarts when a file changes`);
    await runWatched({
      args: [
        ...["worker", folder, "--connectors", "--skip-broken", "--grace", "5s", "--api-schema", schema],
        ...(options.json ? ["--json"] : []),
      ],
      env: { LOG_STACKS: "1", JOBFORGE_ARTIFACTS: defaultStore, ...env, DATABASE_URL: database.url },
      cwd,
      path: folder,
      signal,
      onRestart: (file) => say("restart", `${file} has changed: restarting`, { file }),
      onEnd: (end) => say("worker_ended", describeEnd(end), end),
    });
  }
  say("stopping", "Stopping");
  return exitCodes.ok;
}

/**
 * Keeps what handlers log, unless the user has set something else. Types that have a policy of their own keep theirs. A
 * database that the user has given is left as it is.
 */
async function keepLogs(forge: JobForge): Promise<void> {
  const { byHand } = await forge.policies.get("*");
  if (!byHand.includes("keepLogs")) await forge.policies.set("*", { keepLogs: "all" });
}

type Environment = Cli["process"]["env"];

/** The other system of a developer usually runs on the same machine. */
function withLoopback(env: Environment): Environment {
  return { ...env, JOBFORGE_EGRESS: env["JOBFORGE_EGRESS"] || "loopback" };
}

function sayConnectors(env: Environment, say: Say): void {
  const egress = env["JOBFORGE_EGRESS"];
  const reach =
    egress === "loopback"
      ? "they may also call this machine (JOBFORGE_EGRESS=public forbids it)"
      : "they reach public addresses only";
  say("connectors", `Running the connectors: ${reach}`, { egress });
}

/** Says where everything is, and what the user can do next. A given URL is not shown, because of its password. */
function introduce(cli: Cli, database: DevDatabase, { url, token }: DevServer, say: Say): void {
  if (database.isEmbedded)
    say("ready", `Ready: ${database.name}\n  DATABASE_URL=${database.url}`, { databaseUrl: database.url });
  else say("ready", `Ready: ${database.name}`);
  const open = `Open ${url}/?token=${token} in a browser. The API accepts the token, too`;
  const next = asTyped("jobforge stats", cli.process);
  say("server", `${open}\n  In another terminal: ${next}`, { url, token });
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

/**
 * Runs the demo: a worker in this process, a mix of jobs, and web shops that go on until the end. Shows how the jobs of
 * the mix finished.
 */
async function runDemo(
  cli: Cli,
  forge: JobForge,
  connectors: readonly JobHandler[],
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  await using receivers = await openReceivers();
  await using worker = demoWorker(cli, forge, connectors, output);
  const mix = await enqueueMix(forge);
  await worker.start();
  await openShops(forge, receivers);
  await Promise.all([keepSelling(forge, signal), showMix(cli, forge, mix, output, signal)]);
}

async function showMix(
  cli: Cli,
  forge: JobForge,
  mix: Mix,
  output: Output,
  signal: AbortSignal,
): Promise<void> {
  await mixEnded(forge, mix, signal);
  if (signal.aborted) return;
  const jobs = await jobsOfMix(forge, mix);
  output.line({ event: "mix", jobs }, `\n${output.table(jobs, jobColumns)}`);
  const next = asTyped("jobforge jobs list", cli.process);
  output.line({ event: "idle" }, `The worker runs until Ctrl-C. In another terminal: ${next}`);
}

/** A project without handlers can still enqueue jobs of the connectors. */
async function runConnectors(
  cli: Cli,
  forge: JobForge,
  handlers: readonly JobHandler[],
  signal: AbortSignal,
): Promise<void> {
  const logger = jsonLogger(cli.process.stderr, cli.process.env, { least: "warn" });
  await using worker = createWorker(forge, { handlers, graceMs: 5000, logger, offload: true });
  await worker.start();
  await untilAborted(signal);
}

function demoWorker(cli: Cli, forge: JobForge, connectors: readonly JobHandler[], output: Output): Worker {
  const { style } = output;
  const ended = (run: RunEnded | RunFailed, mark: string, text: string): void => {
    // The runs of the shops never end. The dashboard shows them.
    if (!demoHandlers.some(({ definition }) => definition.type === run.type)) return;
    output.line({ event: "run", ...run }, `  ${mark} ${run.type} attempt ${run.attempt}: ${text}`);
  };
  return createWorker(forge, {
    handlers: [...demoHandlers, ...shopHandlers, ...connectors],
    graceMs: 5000,
    offload: true,
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
