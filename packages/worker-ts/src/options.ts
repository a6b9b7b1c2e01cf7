/** A worker's options, and their defaults. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { JobHandler } from "@jobforge/sdk-ts";
import {
  defaultAbortGraceMs,
  defaultBatchSize,
  defaultConcurrency,
  defaultGraceMs,
  defaultHeartbeatMs,
  defaultPollMs,
  defaultPrefetch,
  longestPollMs,
  maxBatchSize,
  maxGraceMs,
  maxHeartbeatMs,
} from "./defaults.ts";
import {
  requireBoolean,
  requireHandlers,
  requireHooks,
  requireId,
  requireKnown,
  requireLogger,
  requireMaxPerType,
  requireMiddleware,
  requireOptions,
  requireTenant,
  requireVersion,
  requireWhole,
} from "./option-checks.ts";
import { optionAliases, optionNames } from "./option-names.ts";
import type { WorkerHooks } from "./reporting/hooks.ts";
import { type Logger, wantsStacks } from "./reporting/log.ts";
import type { Middleware } from "./running/middleware.ts";

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
  /**
   * False: enqueues hand no jobs to this worker while it is idle. Default true, if it listens and claims the jobs of
   * all tenants.
   */
  readonly handOff?: boolean | undefined;
  /**
   * The longest sleep of an idle worker before it looks for jobs again, in milliseconds. Default 2000; if the worker is
   * notified of new jobs, two minutes after the first such sleep, because its heartbeats look for jobs as well.
   */
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
  /**
   * Stores results of more than 512 KiB, up to 64 MiB, in the artifact store of the `JobForge`. Readers get them as
   * usual. Default false: a result over 1 MiB fails the job.
   */
  readonly offload?: boolean | undefined;
}

export interface Settings {
  readonly handlers: readonly JobHandler[];
  readonly concurrency: number;
  readonly maxPerType: Readonly<Record<string, number>>;
  readonly id: string;
  readonly tenantId: string | undefined;
  readonly listen: boolean;
  readonly handOff: boolean;
  readonly pollMs: number;
  readonly notifiedPollMs: number;
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
  readonly offload: boolean;
}

/** The options with their defaults. Throws an InvalidArgumentError that names the invalid option. */
export function settingsOf(options: WorkerOptions): Settings {
  requireOptions(options);
  requireKnown(options, optionNames, { what: "an option of a worker", aliases: optionAliases });
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
    handOff: requireBoolean("handOff", options.handOff ?? true),
    pollMs: requireWhole("pollMs", options.pollMs ?? defaultPollMs, 10, 60_000),
    notifiedPollMs: options.pollMs ?? longestPollMs,
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
    offload: requireBoolean("offload", options.offload ?? false),
  };
}
