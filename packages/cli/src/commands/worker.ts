/** `jobforge worker` and `jobforge tick`: run the handlers of a file or folder, continuously or once. */
import { JobForge, type JobHandler } from "@jobforge/sdk-ts";
import { createWorker, type TickSummary, type Worker, type WorkerOptions } from "@jobforge/worker-ts";
import type { Command } from "commander";
import { checkConnection } from "../client.ts";
import {
  action,
  addCommand,
  type Cli,
  type CommonOptions,
  connected,
  onDatabase,
  outputOf,
} from "../command.ts";
import { apiSchema, databaseUrl } from "../connection.ts";
import { exitCodes, UsageError } from "../failures.ts";
import { isShared, loadArtifacts } from "../handlers/artifacts.ts";
import { loadConnectors } from "../handlers/connectors.ts";
import { loadHandlers, ofTypes } from "../handlers/load.ts";
import { jsonLogger } from "../handlers/log.ts";
import { reporting } from "../handlers/report.ts";
import { describeEnd, endWithParent, runWatched, watchedLoad } from "../handlers/watch.ts";
import { onShellGone } from "../orphan.ts";
import { collect, count, readSpan, readTenant, wholeNumber } from "../output/values.ts";
import { interruption } from "../process.ts";
import { askedPort, opened, portOption } from "../server/listen.ts";
import { appVersionOf, withVersion } from "./sync.ts";

interface HandlerOptions extends CommonOptions {
  readonly concurrency?: number;
  readonly types?: string[];
  readonly tenant?: string;
  readonly id?: string;
  readonly sync: boolean;
  readonly appVersion?: string;
}

interface WorkerCommandOptions extends HandlerOptions {
  readonly watch?: boolean;
  readonly connectors?: boolean;
  readonly skipBroken?: boolean;
  readonly grace?: number;
  readonly listen: boolean;
  readonly metricsPort?: number;
  readonly metricsHost: string;
}

interface TickOptions extends HandlerOptions {
  readonly limit: number;
}

export function workerCommand(program: Command, cli: Cli): void {
  withHandlers(
    addCommand(program, "worker [path]", {
      summary: "Run the handlers of a file or folder until stopped",
      details: [
        "Runs every exported definition.handle(…).",
        "First writes their definitions to the policies of their types, if its login may (see jobforge sync).",
        "After SIGTERM or Ctrl-C, running jobs may finish; a second signal stops at once.",
        "Logs are JSON lines, or readable text in a terminal.",
      ].join(" "),
      examples: [
        "jobforge worker ./handlers",
        "jobforge worker ./handlers --concurrency 50 --types mail.send,report.build",
        "jobforge worker ./handlers/mail.ts --watch",
        "jobforge worker --connectors",
      ],
    }),
  )
    .option("--connectors", "also run the connectors: HTTP requests, webhooks and reports")
    .option("--watch", "restart when a file changes; implies --skip-broken")
    .option("--skip-broken", "run the other handlers if a file cannot be loaded (default: do not start)")
    .option("--grace <span>", "how long running jobs may continue after a signal (default: 30s)", readSpan)
    .option("--no-listen", "only poll, for poolers in transaction mode")
    .option(
      "--metrics-port <number>",
      "serve /healthz, /readyz and /metrics of this worker (default: METRICS_PORT, else off); 0 picks a free port",
      portOption("--metrics-port"),
    )
    .option(
      "--metrics-host <address>",
      "the address for --metrics-port; 0.0.0.0 for all interfaces. Callers need no token",
      "127.0.0.1",
    )
    .action(
      action(cli, (path: string | undefined, options: WorkerCommandOptions) => work(cli, path, options)),
    );
}

export function tickCommand(program: Command, cli: Cli): void {
  withHandlers(
    addCommand(program, "tick <path>", {
      summary: "Run the jobs that are due now with the handlers of a file or folder, then exit",
      details: "For cron, instead of a permanent worker.",
      examples: ["jobforge tick ./handlers", "jobforge tick ./handlers --limit 20 --json"],
    }),
  )
    .option(
      "--limit <number>",
      "the maximum number of jobs",
      wholeNumber("--limit", { min: 1, max: 1_000_000 }),
      100,
    )
    .action(action(cli, (path: string, options: TickOptions) => tick(cli, path, options)));
}

function withHandlers(command: Command): Command {
  return withVersion(onDatabase(command))
    .option(
      "--concurrency <number>",
      "the number of handlers that run at once (default: 10)",
      wholeNumber("--concurrency", { min: 1, max: 100_000 }),
    )
    .option("--types <types>", "run only these types, separated by commas", collect)
    .option("--tenant <id>", "run only the jobs of this tenant", readTenant)
    .option("--id <name>", "the worker's name (default: host, process and a random part)")
    .option("--no-sync", "do not write the definitions to the policies of their types at start");
}

async function work(cli: Cli, path: string | undefined, options: WorkerCommandOptions): Promise<number> {
  if (path === undefined && !options.connectors)
    throw new UsageError("Pass the path of the handlers, or --connectors to run only the connectors.");
  const output = outputOf(cli, options);
  const cwd = cli.process.cwd?.() ?? process.cwd();
  const url = await databaseUrl(options, cli.process);
  if (options.watch && path !== undefined) {
    using interrupted = interruption(cli.process);
    await runWatched({
      args: ["worker", path, "--skip-broken", ...argumentsOf(options)],
      env: { ...cli.process.env, DATABASE_URL: url },
      cwd,
      path,
      signal: interrupted.signal,
      onRestart: (file) => output.remark(`${file} has changed: restarting`),
      onEnd: (end) => output.remark(describeEnd(end)),
    });
    return exitCodes.ok;
  }
  endWithParent();
  const loading = { report: reporting(cli, output), skipBroken: options.skipBroken };
  const artifacts = await loadArtifacts(cli.process);
  await using forge = new JobForge({ database: url, schema: apiSchema(options, cli.process), artifacts });
  const handlers = await watchedLoad(async () => {
    const own = path === undefined ? [] : await loadHandlers(path, cwd, loading);
    return ofTypes(
      options.connectors ? [...own, ...(await loadConnectors(forge, cli.process.env, cwd))] : own,
      options.types,
    );
  });
  await requireDatabase(url, forge);
  const worker = createWorker(forge, {
    ...workerOptions(cli, options, handlers),
    listen: options.listen,
    graceMs: options.grace,
    offload: isShared(cli.process),
    logger: options.json ? jsonLogger(cli.process.stdout, cli.process.env) : undefined,
  });
  await using _monitor = await monitored(cli, worker, options);
  using _shell = onShellGone(cli.process.env, () => void worker.stop());
  await worker.run();
  return exitCodes.ok;
}

/** A wrong address or a database without JobForge fails at once. Later the worker waits for the database by itself. */
async function requireDatabase(url: string, forge: JobForge): Promise<void> {
  await checkConnection(url);
  await forge.transport.call("jobforge_get_policy", { p_type: "*" });
}

/** Opens the worker's own port, if one is configured. */
async function monitored(
  cli: Cli,
  worker: Worker,
  options: WorkerCommandOptions,
): Promise<AsyncDisposable | undefined> {
  const { metricsHost: host } = options;
  const port = askedPort(options.metricsPort, cli.process, "METRICS_PORT");
  if (port === undefined) return undefined;
  const { monitorWorker } = await import("@jobforge/server");
  const monitor = await opened(() => monitorWorker(worker, { port, host }), "--metrics-port", port, host);
  const output = outputOf(cli, options);
  if (output.json) output.line({ event: "monitoring", url: monitor.url }, "");
  else output.remark(`Health and metrics: ${monitor.url}`);
  return monitor;
}

function workerOptions(cli: Cli, options: HandlerOptions, handlers: readonly JobHandler[]): WorkerOptions {
  const { concurrency, tenant: tenantId, id, sync } = options;
  return { handlers, concurrency, tenantId, id, sync, appVersion: appVersionOf(options, cli.process) };
}

/** Returns the arguments for the watched process: all but --watch and the database, which is in its environment. */
function argumentsOf(options: WorkerCommandOptions): string[] {
  const { concurrency, types, tenant, id, appVersion, grace, apiSchema: schema } = options;
  const { metricsPort, metricsHost } = options;
  const given: readonly (readonly [flag: string, value: string | number | undefined])[] = [
    ["--concurrency", concurrency],
    ["--types", types?.join(",")],
    ["--tenant", tenant],
    ["--id", id],
    ["--app-version", appVersion],
    ["--grace", grace === undefined ? undefined : `${grace}ms`],
    ["--api-schema", schema],
    ["--metrics-port", metricsPort],
    ["--metrics-host", metricsHost],
  ];
  return [
    ...given.flatMap(([flag, value]) => (value === undefined ? [] : [flag, String(value)])),
    ...(options.sync ? [] : ["--no-sync"]),
    ...(options.connectors ? ["--connectors"] : []),
    ...(options.json ? ["--json"] : []),
    ...(options.listen ? [] : ["--no-listen"]),
  ];
}

async function tick(cli: Cli, path: string, options: TickOptions): Promise<number> {
  const cwd = cli.process.cwd?.() ?? process.cwd();
  const report = reporting(cli, outputOf(cli, options));
  const handlers = ofTypes(await loadHandlers(path, cwd, { report }), options.types);
  return await connected(cli, options, async ({ url }, output) => {
    const artifacts = await loadArtifacts(cli.process);
    await using forge = new JobForge({ database: url, schema: apiSchema(options, cli.process), artifacts });
    await requireDatabase(url, forge);
    const worker = createWorker(forge, {
      ...workerOptions(cli, options, handlers),
      handleCrashes: true,
      offload: isShared(cli.process),
      // Standard output is for the result.
      logger: jsonLogger(cli.process.stderr, cli.process.env, { least: "warn" }),
    });
    const summary = await worker.tick({ limit: options.limit });
    output.result(summary, () => describe(summary));
    return exitCodes.ok;
  });
}

function describe(summary: TickSummary): string {
  const { claimed, ...ends } = summary;
  if (claimed === 0) return "No jobs were due.\n";
  const parts = Object.entries(ends).flatMap(([name, value]) => (value === 0 ? [] : [`${value} ${name}`]));
  return `${count(claimed, "run")}: ${parts.join(", ")}\n`;
}
