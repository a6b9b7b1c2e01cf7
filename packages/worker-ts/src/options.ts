/** A worker's options, their defaults and limits. */
import { randomBytes } from "node:crypto";
import { hostname } from "node:os";
import type { JobHandler } from "@jobforge/sdk-ts";
import type { Middleware, WorkerHooks } from "./hooks.ts";
import type { Logger } from "./log.ts";

export interface WorkerOptions {
  /** What it can run; it claims these types and no others. */
  readonly handlers: readonly JobHandler[];
  /** Handler calls at once, at most. Default 10. */
  readonly concurrency?: number | undefined;
  /** Handler calls at once of one type, at most: `{ "video.encode": 2 }`. */
  readonly maxPerType?: Readonly<Record<string, number>> | undefined;
  /** The worker's name, unique among those that run. Default: host, process and a random part. */
  readonly id?: string | undefined;
  /** Claims the jobs of this tenant only. */
  readonly tenantId?: string | undefined;
  /** False: never LISTEN, only poll. Poolers in transaction mode need that. Default true, where the transport can. */
  readonly listen?: boolean | undefined;
  /** How long it sleeps at most before it looks again, in milliseconds. Default 2000. */
  readonly pollMs?: number | undefined;
  /** Milliseconds between signs of life. A minute without one loses every lease. Default 10000. */
  readonly heartbeatMs?: number | undefined;
  /** How long a shutdown waits for running handlers. Default 30000. */
  readonly graceMs?: number | undefined;
  /** How long a handler may go on after its signal was aborted, before its slot is given to another job. Default 5000. */
  readonly abortGraceMs?: number | undefined;
  /** Jobs in one call to the database, at most: 1 to 1000. Default 500. */
  readonly batchSize?: number | undefined;
  /** Jobs claimed before they can start, at most; the actual number follows from how long jobs take. 0 is none. Default 1000. */
  readonly prefetch?: number | undefined;
  /** Where log lines go. Default: JSON to standard output, pretty in a terminal, from `LOG_LEVEL` on. */
  readonly logger?: Logger | undefined;
  readonly hooks?: WorkerHooks | undefined;
  /** Wraps every handler, the first one outermost. */
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
  readonly hooks: WorkerHooks;
  readonly middleware: readonly Middleware[];
}

/** The options with their defaults. Fails with a TypeError or RangeError that names the option. */
export function settingsOf(options: WorkerOptions): Settings {
  const { handlers, maxPerType = {} } = options;
  requireHandlers(handlers);
  for (const [type, cap] of Object.entries(maxPerType)) {
    requireWhole(`maxPerType["${type}"]`, cap, 1, 100_000);
    if (!handlers.some((handler) => handler.definition.type === type)) {
      throw new TypeError(`maxPerType names the type "${type}", which has no handler`);
    }
  }
  return {
    handlers,
    maxPerType,
    concurrency: requireWhole("concurrency", options.concurrency ?? 10, 1, 100_000),
    id: options.id ?? `${hostname()}-${process.pid}-${randomBytes(4).toString("hex")}`,
    tenantId: options.tenantId,
    listen: options.listen ?? true,
    pollMs: requireWhole("pollMs", options.pollMs ?? 2_000, 10, 60_000),
    heartbeatMs: requireWhole("heartbeatMs", options.heartbeatMs ?? 10_000, 100, 30_000),
    graceMs: requireWhole("graceMs", options.graceMs ?? 30_000, 0, 86_400_000),
    abortGraceMs: requireWhole("abortGraceMs", options.abortGraceMs ?? 5_000, 0, 86_400_000),
    batchSize: requireWhole("batchSize", options.batchSize ?? 500, 1, 1_000),
    prefetch: requireWhole("prefetch", options.prefetch ?? 1_000, 0, 100_000),
    logger: options.logger,
    hooks: options.hooks ?? {},
    middleware: options.middleware ?? [],
  };
}

function requireHandlers(handlers: readonly JobHandler[]): void {
  if (!Array.isArray(handlers) || handlers.length === 0) {
    throw new TypeError("handlers must name at least one handler: a worker runs nothing else");
  }
  const seen = new Set<string>();
  for (const { definition } of handlers) {
    if (seen.has(definition.type)) throw new TypeError(`Two handlers are for the type "${definition.type}"`);
    seen.add(definition.type);
  }
}

export function requireWhole(name: string, value: number, least: number, most: number): number {
  if (!Number.isInteger(value) || value < least || value > most) {
    throw new RangeError(`${name} must be a whole number from ${least} to ${most}, not ${value}`);
  }
  return value;
}
