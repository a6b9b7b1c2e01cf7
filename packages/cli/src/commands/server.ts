/** `jobforge server`: runs the HTTP server until stopped. */
import { JobForge } from "@jobforge/sdk-ts";
import type { ServerOptions } from "@jobforge/server";
import { createTickHandler, type TickHandler } from "@jobforge/worker-ts";
import type { Command } from "commander";
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
import { CommandError, exitCodes, UsageError } from "../failures.ts";
import { loadArtifacts } from "../handlers/artifacts.ts";
import { loadHandlers } from "../handlers/load.ts";
import { jsonLogger } from "../handlers/log.ts";
import { loadWebhookSecrets } from "../handlers/master-keys.ts";
import { reporting } from "../handlers/report.ts";
import { collect, wholeNumber } from "../output/values.ts";
import { interruption, untilAborted } from "../process.ts";
import { askedPort, listen, portOption, usualPort } from "../server/listen.ts";
import { listTokens, stateOf } from "../server/tokens.ts";

interface ServerCommandOptions extends CommonOptions {
  readonly port?: number;
  readonly host: string;
  readonly poolSize?: number;
  readonly connectionsPerCaller?: number;
  readonly trustProxy?: number | string;
  readonly allowJwtWithoutExp?: boolean;
  readonly corsOrigin?: string[];
  readonly tick?: string;
  readonly basePath?: string;
  readonly environment?: string;
  readonly traceUrl?: string;
  readonly frameOrigin?: string[];
  readonly dashboard: boolean;
}

export function serverCommand(program: Command, cli: Cli): void {
  onDatabase(
    addCommand(program, "server", {
      summary: "Serve JobForge over HTTP until stopped",
      details: [
        "Callers authenticate with a JWT (JOBFORGE_JWT_SECRET or JOBFORGE_JWKS_URL) or a key (jobforge token create).",
        "After SIGTERM or Ctrl-C, open requests may finish. The access log is JSON lines.",
      ].join(" "),
      examples: [
        "jobforge server",
        "jobforge server --host 0.0.0.0 --port 8080 --pool-size 20 --trust-proxy 1",
        "jobforge server --tick ./handlers",
      ],
    }),
  )
    .option(
      "--port <number>",
      `the port (default: PORT, else ${usualPort}); 0 picks a free port`,
      portOption("--port"),
    )
    .option("--host <address>", "the address to listen on; 0.0.0.0 for all interfaces", "127.0.0.1")
    .option(
      "--pool-size <number>",
      "the number of database connections (default: 10)",
      wholeNumber("--pool-size", { min: 1, max: 1000 }),
    )
    .option(
      "--connections-per-caller <number>",
      "the most connections that one caller may hold (default: half of the pool)",
      wholeNumber("--connections-per-caller", { min: 1, max: 1000 }),
    )
    .option(
      "--trust-proxy <proxies>",
      "how many proxies append to X-Forwarded-For, or the name of a header with the client's address",
      proxies,
    )
    .option("--allow-jwt-without-exp", "accept JWTs that never expire")
    .option(
      "--cors-origin <origins>",
      "origins whose pages may call the server, separated by commas",
      collect,
    )
    .option(
      "--tick <path>",
      "run due jobs with the handlers of a file or folder at /api/jobs/tick; needs JOBFORGE_TICK_SECRET or CRON_SECRET",
    )
    .option("--base-path <path>", "the path under which a proxy passes requests on without removing it")
    .option("--environment <name>", "a label of the dashboard, such as production")
    .option("--trace-url <url>", "the address of a trace, with {trace_id} in place of its id")
    .option(
      "--frame-origin <origins>",
      "origins whose pages may show the dashboard in a frame, separated by commas",
      collect,
    )
    .option("--no-dashboard", "serve only the API")
    .action(action(cli, (options: ServerCommandOptions) => serve(cli, options)));
}

async function serve(cli: Cli, options: ServerCommandOptions): Promise<number> {
  const output = outputOf(cli, options);
  const { stdout, env } = cli.process;
  const database = await databaseUrl(options, cli.process);
  const schema = apiSchema(options, cli.process);
  const port = askedPort(options.port, cli.process) ?? usualPort;
  const proofs = proofsOf(cli);
  using interrupted = interruption(cli.process);
  const checksTokens = proofs.jwtSecret !== undefined || proofs.jwksUrl !== undefined;
  await connected(cli, options, async ({ forge, pool }) => {
    // A wrong address fails at once. Later the server waits for the database by itself.
    await pool.query("select 1");
    if (!checksTokens) await requireKey(forge);
  });
  await using forge = new JobForge({ database, schema });
  const { createLogger, createServer } = await import("@jobforge/server");
  const server = createServer({
    ...proofs,
    database,
    apiSchema: schema,
    poolSize: options.poolSize,
    connectionsPerCaller: options.connectionsPerCaller,
    trustProxy: options.trustProxy,
    allowJwtWithoutExp: options.allowJwtWithoutExp,
    corsOrigins: options.corsOrigin,
    artifacts: env["JOBFORGE_ARTIFACTS"] ? await loadArtifacts(cli.process) : undefined,
    webhookSecrets: await loadWebhookSecrets(env),
    metrics: { secret: nonEmpty(env["JOBFORGE_METRICS_SECRET"]) },
    tick: await tickOf(cli, options, forge),
    basePath: options.basePath,
    dashboard: options.dashboard && {
      environment: options.environment,
      traceUrl: options.traceUrl,
      frameOrigins: options.frameOrigin,
    },
    logger: createLogger({ level: env["LOG_LEVEL"], write: (line) => void stdout.write(line) }),
  });
  await using _closed = server;
  const url = await listen(server, port, options.host);
  output.line({ event: "listening", url }, `Listening on ${url}`);
  const ready = await server.fetch(new Request(`${url}/readyz`));
  if (!ready.ok) {
    const { reason } = (await ready.json()) as { reason: string };
    output.line({ event: "not_ready", reason }, `Not ready yet: ${reason}`);
  }
  await untilAborted(interrupted.signal);
  output.line({ event: "stopping" }, "Stopping");
  return exitCodes.ok;
}

/** Reads the value of --trust-proxy: a number of proxies, or the name of a header. */
function proxies(given: string): number | string {
  if (/^[a-z][a-z0-9-]*$/i.test(given)) return given;
  return wholeNumber("--trust-proxy", { min: 1, max: 100 })(given);
}

/** Returns how tokens are verified. Invalid settings are reported before anything is opened. */
function proofsOf({ process: { env } }: Cli): Pick<ServerOptions, "jwtSecret" | "jwksUrl"> {
  const jwtSecret = nonEmpty(env["JOBFORGE_JWT_SECRET"]);
  const jwksUrl = nonEmpty(env["JOBFORGE_JWKS_URL"]);
  if (jwtSecret !== undefined && Buffer.byteLength(jwtSecret) < 32)
    throw new UsageError(
      "JOBFORGE_JWT_SECRET must have at least 32 bytes. Create one with: openssl rand -base64 48",
    );
  if (jwksUrl !== undefined && !/^https?:\/\//.test(jwksUrl))
    throw new UsageError("JOBFORGE_JWKS_URL must be an http or https URL.");
  return { jwtSecret, jwksUrl };
}

/** Without JWTs there must be a valid key, because otherwise no caller could authenticate. */
async function requireKey(forge: JobForge): Promise<void> {
  const keys = await listTokens(forge);
  if (!keys.some((key) => stateOf(key) === "valid"))
    throw new CommandError(
      "no_authentication",
      "No caller could authenticate: neither JWT verification nor a valid key is configured.",
      "Set JOBFORGE_JWT_SECRET or JOBFORGE_JWKS_URL, or run jobforge token create NAME --role jobforge_operator.",
    );
}

async function tickOf(
  cli: Cli,
  options: ServerCommandOptions,
  forge: JobForge,
): Promise<TickHandler | undefined> {
  const { tick: path } = options;
  const { env, stderr, cwd } = cli.process;
  if (path === undefined) return undefined;
  const secret = nonEmpty(env["JOBFORGE_TICK_SECRET"]) ?? nonEmpty(env["CRON_SECRET"]);
  if (secret === undefined)
    throw new UsageError(
      "--tick needs JOBFORGE_TICK_SECRET or CRON_SECRET, which callers of /api/jobs/tick must send.",
    );
  const handlers = await loadHandlers(path, cwd?.() ?? process.cwd(), {
    report: reporting(cli, outputOf(cli, options)),
  });
  return createTickHandler({ forge, handlers, secret, logger: jsonLogger(stderr, env, { least: "warn" }) });
}

function nonEmpty(text: string | undefined): string | undefined {
  return text === "" ? undefined : text;
}
