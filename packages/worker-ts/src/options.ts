/** A worker's options, and the checks of their values. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import { type JobHandler, suggest } from "@jobforge/sdk-ts";
import {
  defaultAbortGraceMs,
  defaultBatchSize,
  defaultConcurrency,
  defaultGraceMs,
  defaultHeartbeatMs,
  defaultPollMs,
  defaultPrefetch,
  maxBatchSize,
  maxGraceMs,
  maxHeartbeatMs,
} from "./defaults.ts";
import type { WorkerHooks } from "./reporting/hooks.ts";
import { type Logger, wantsStacks } from "./reporting/log.ts";
import type { Middleware } from "./running/middleware.ts";

const uuidPattern = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const maxIdBytes = 1024;
const hookNames = [
  "onClaim",
  "onStart",
  "onSuccess",
  "onFailure",
  "onDead",
  "onStale",
  "onTrouble",
  "onTroubleOver",
] as const;

export interface WorkerOptions {
  /** The handlers. The worker claims jobs of their types and no others. */
  readonly handlers: readonly JobHandler[];
  /** The number of handler calls at the same time, at most. Default 10. */
  readonly concurrency?: number | undefined;
  /** The same for single types: `{ "video.encode": 2 }`. */
  readonly maxPerType?: Readonly<Record<string, number>> | undefined;
  /** The worker's name, unique among running workers. Default: host, process id and a random part. */
  readonly id?: string | undefined;
  /** Claims jobs of this tenant only. */
  readonly tenantId?: string | undefined;
  /**
   * False: never LISTEN, only poll, as poolers in transaction mode require. Default true, if the transport supports it.
   */
  readonly listen?: boolean | undefined;
  /** The longest sleep of an idle worker before it looks for jobs again, in milliseconds. Default 2000. */
  readonly pollMs?: number | undefined;
  /** Milliseconds between heartbeats. After a minute without one, every lease is lost. Default 10000. */
  readonly heartbeatMs?: number | undefined;
  /** How long a shutdown waits for running handlers, in milliseconds. Default 30000. */
  readonly graceMs?: number | undefined;
  /**
   * How long a handler may continue after its signal was aborted, before its slot goes to another job. Default 5000.
   */
  readonly abortGraceMs?: number | undefined;
  /** The number of jobs in one call to the database, at most: 1 to 1000. Default 500. */
  readonly batchSize?: number | undefined;
  /**
   * The number of jobs claimed before there is a slot for them, at most. The actual number depends on how long jobs
   * take. 0 claims none. Default 1000.
   */
  readonly prefetch?: number | undefined;
  /**
   * Receives the log lines. Default: JSON on standard output, formatted in a terminal, of level `LOG_LEVEL` or above.
   */
  readonly logger?: Logger | undefined;
  /**
   * Whether lines about failed runs have the whole stack, in the field `stack`. All of them name the first frame of the
   * application's code. Default: as `LOG_STACKS` says (`1` or `0`), else true in a terminal.
   */
  readonly logStacks?: boolean | undefined;
  /**
   * What to do when an uncaught error is about to end the process, such as an unhandled rejection. True: the
   * log names the job, the job fails, the other jobs are released, and then the process ends as Node ends it. If the
   * application handles such errors itself, only the log names the job. Default: true for `run()`, otherwise false.
   */
  readonly handleCrashes?: boolean | undefined;
  readonly hooks?: WorkerHooks | undefined;
  /**
   * False: do not bring the policies of the handled types in line with their definitions at start. Default true. If the
   * worker's role may not change policies, a warning names each difference and the command that resolves it.
   */
  readonly sync?: boolean | undefined;
  /**
   * The version of the application, such as `1.4.2` or a commit. The version that JobForge meets last decides about
   * policies: a worker of an earlier version that restarts changes nothing. Default: none, and the worker that starts
   * last decides.
   */
  readonly appVersion?: string | undefined;
  /** Functions around every handler, the first one outermost. */
  readonly middleware?: readonly Middleware[] | undefined;
}

export interface Settings {
  readonly handlers: readonly JobHandler[];
  readonly concurrency: number;
  readonly maxPerType: Readonly<Record<string, number>>;
  readonly id: string;
  readonly tenantId: string | undefined;
  readonly listen: boolean;
  readonly pollMs: number;
  readonly heartbeatMs: number;
  readonly graceMs: number;
  readonly abortGraceMs: number;
  readonly batchSize: number;
  readonly prefetch: number;
  readonly logger: Logger | undefined;
  readonly logStacks: boolean;
  readonly handleCrashes: boolean | undefined;
  readonly hooks: WorkerHooks;
  readonly sync: boolean;
  readonly appVersion: string | undefined;
  readonly middleware: readonly Middleware[];
}

/** The options with their defaults. Throws a TypeError or RangeError that names the invalid option. */
export function settingsOf(options: WorkerOptions): Settings {
  if (!isObject(options)) throw new TypeError("options must be an object with handlers");
  requireKnown(options, optionNames, { what: "an option of a worker", at: "", others: aliases });
  const { handlers, maxPerType = {} } = options;
  requireHandlers(handlers);
  requireMaxPerType(maxPerType, handlers);
  return {
    handlers,
    maxPerType,
    concurrency: requireWhole("concurrency", options.concurrency ?? defaultConcurrency, 1, 100_000),
    id: requireId(options.id ?? `${hostname()}-${process.pid}-${randomBytes(4).toString("hex")}`),
    tenantId: requireTenant(options.tenantId),
    listen: requireBoolean("listen", options.listen ?? true),
    pollMs: requireWhole("pollMs", options.pollMs ?? defaultPollMs, 10, 60_000),
    heartbeatMs: requireWhole("heartbeatMs", options.heartbeatMs ?? defaultHeartbeatMs, 100, maxHeartbeatMs),
    graceMs: requireWhole("graceMs", options.graceMs ?? defaultGraceMs, 0, maxGraceMs),
    abortGraceMs: requireWhole("abortGraceMs", options.abortGraceMs ?? defaultAbortGraceMs, 0, maxGraceMs),
    batchSize: requireWhole("batchSize", options.batchSize ?? defaultBatchSize, 1, maxBatchSize),
    prefetch: requireWhole("prefetch", options.prefetch ?? defaultPrefetch, 0, 100_000),
    logger: options.logger === undefined ? undefined : requireLogger(options.logger),
    logStacks: requireBoolean("logStacks", options.logStacks ?? wantsStacks(options.logger)),
    handleCrashes:
      options.handleCrashes === undefined
        ? undefined
        : requireBoolean("handleCrashes", options.handleCrashes),
    hooks: requireHooks(options.hooks ?? {}),
    sync: requireBoolean("sync", options.sync ?? true),
    appVersion: requireVersion(options.appVersion),
    middleware: requireMiddleware(options.middleware ?? []),
  };
}

/** Every option. The type makes sure that none is missing. */
const optionNames = Object.keys({
  handlers: true,
  concurrency: true,
  maxPerType: true,
  id: true,
  tenantId: true,
  listen: true,
  pollMs: true,
  heartbeatMs: true,
  graceMs: true,
  abortGraceMs: true,
  batchSize: true,
  prefetch: true,
  logger: true,
  logStacks: true,
  handleCrashes: true,
  hooks: true,
  sync: true,
  appVersion: true,
  middleware: true,
} satisfies Record<keyof WorkerOptions, true>);

/** What other libraries call these options. */
const aliases: Readonly<Record<string, string>> = {
  handler: "handlers",
  jobs: "handlers",
  tasklist: "handlers",
  parallelism: "concurrency",
  maxconcurrency: "concurrency",
  teamsize: "concurrency",
  pollinterval: "pollMs",
  pollingintervalseconds: "Did you mean pollMs? It counts milliseconds.",
  graceperiod: "graceMs",
  shutdowntimeout: "graceMs",
  name: "id",
  workerid: "id",
  tenant: "tenantId",
  log: "logger",
  types: "A worker claims the types of its handlers, and no others.",
  timeoutms: "The timeout is in the definition: defineJob({ timeoutMs }).",
  timeout: "The timeout is in the definition: defineJob({ timeoutMs }).",
  retry: "Retries are in the definition: defineJob({ retry }).",
  database:
    "The database is an option of the JobForge: createWorker(new JobForge({ database }), { handlers }).",
};

/** What other libraries call the hooks. */
const hookAliases: Readonly<Record<string, string>> = {
  ondeath: "onDead",
  onerror: "Did you mean onFailure (a run failed), or onTrouble (a call to the database failed)?",
  onfail: "onFailure",
  onfailed: "onFailure",
  oncomplete: "onSuccess",
  oncompleted: "onSuccess",
  onactive: "onStart",
};

interface Known {
  readonly what: string;
  readonly at: string;
  readonly others: Readonly<Record<string, string>>;
}

function requireKnown(given: object, names: readonly string[], { what, at, others }: Known): void {
  for (const [name, value] of Object.entries(given)) {
    if (!names.includes(name) && value !== undefined) {
      throw new TypeError(`${at}${name} is not ${what}. ${suggest(name, names, others)}`);
    }
  }
}

const handlersExample = "such as [sendMail.handle(async (input) => { … })]";

function requireHandlers(handlers: readonly JobHandler[]): void {
  if (!Array.isArray(handlers)) {
    throw new TypeError(`handlers must be an array of handlers, ${handlersExample}`);
  }
  if (handlers.length === 0) {
    throw new TypeError("handlers must contain at least one handler: a worker runs nothing else");
  }
  const seen = new Set<string>();
  for (const [place, handler] of handlers.entries()) {
    if (typeof handler === "function") {
      throw new TypeError(
        `handlers[${place}] is a function without a definition: bind it with definition.handle(…), ${handlersExample}`,
      );
    }
    if (!isHandler(handler)) {
      throw new TypeError(`handlers[${place}] must be a handler, as returned by a definition's handle()`);
    }
    const { definition } = handler;
    if (seen.has(definition.type)) throw new TypeError(`Two handlers have the type "${definition.type}"`);
    seen.add(definition.type);
  }
}

function isHandler(handler: unknown): handler is JobHandler {
  if (!isObject(handler)) return false;
  const { definition, run } = handler;
  return isObject(definition) && typeof definition["type"] === "string" && typeof run === "function";
}

function requireMaxPerType(
  maxPerType: Readonly<Record<string, number>>,
  handlers: readonly JobHandler[],
): void {
  if (!isObject(maxPerType))
    throw new TypeError('maxPerType must be an object such as { "video.encode": 2 }');
  for (const [type, cap] of Object.entries(maxPerType)) {
    requireWhole(`maxPerType["${type}"]`, cap, 1, 100_000);
    if (!handlers.some((handler) => handler.definition.type === type)) {
      throw new TypeError(`maxPerType contains the type "${type}", which has no handler`);
    }
  }
}

function requireId(id: string): string {
  if (typeof id !== "string" || id.trim() === "" || id.includes("\u0000")) {
    throw new TypeError("id must be a string that is not empty and contains no NUL character");
  }
  if (Buffer.byteLength(id) > maxIdBytes)
    throw new RangeError(`id must not be longer than ${maxIdBytes} bytes`);
  return id;
}

function requireTenant(tenantId: string | undefined): string | undefined {
  if (tenantId !== undefined && (typeof tenantId !== "string" || !uuidPattern.test(tenantId))) {
    throw new TypeError(
      'tenantId must be a UUID. For ids of another form, pass tenantId("org_123") of @jobforge/sdk-ts',
    );
  }
  return tenantId;
}

function requireVersion(version: string | undefined): string | undefined {
  if (version !== undefined && (typeof version !== "string" || version === "" || version.length > 200)) {
    throw new TypeError("appVersion must be a string of 1 to 200 characters");
  }
  return version;
}

function requireBoolean(name: string, value: boolean): boolean {
  if (typeof value !== "boolean") throw new TypeError(`${name} must be true or false`);
  return value;
}

function requireLogger(logger: Logger): Logger {
  // A logger may be a function with methods.
  const methods = Object(logger) as Readonly<Record<string, unknown>>;
  for (const level of ["debug", "info", "warn", "error"]) {
    if (typeof methods[level] !== "function") throw new TypeError(`logger must have a method ${level}()`);
  }
  return logger;
}

function requireHooks(hooks: WorkerHooks): WorkerHooks {
  if (!isObject(hooks)) throw new TypeError("hooks must be an object of functions such as onFailure");
  requireKnown(hooks, hookNames, { what: "a hook of a worker", at: "hooks.", others: hookAliases });
  for (const name of hookNames) {
    const hook: unknown = hooks[name];
    if (hook !== undefined && typeof hook !== "function") {
      throw new TypeError(`hooks.${name} must be a function`);
    }
  }
  return hooks;
}

function requireMiddleware(middleware: readonly Middleware[]): readonly Middleware[] {
  if (!Array.isArray(middleware)) throw new TypeError("middleware must be an array of functions");
  for (const [place, layer] of middleware.entries()) {
    if (typeof layer !== "function") throw new TypeError(`middleware[${place}] must be a function`);
  }
  return middleware;
}

/** JavaScript without types may pass any value. */
function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

export function requireWhole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
  }
  return value;
}

/** Checks the number of jobs that one tick may run. */
export function requireTickLimit(limit: number): number {
  return requireWhole("limit", limit, 1, 1_000_000);
}
