/**
 * The messages between the driver and a contestant: one line of JSON in each direction. See the contract in
 * bench/README.md.
 */

export interface EnqueueRequest {
  readonly do: "enqueue";
  readonly jobs: number;
  /**
   * `one`: one call per job, `concurrency` calls at a time. `bulk`: the contestant's fastest way to enqueue many jobs.
   */
  readonly how: "one" | "bulk";
  readonly concurrency: number;
  readonly payloadBytes: number;
  readonly delaySeconds: number;
  readonly tenants: number;
  readonly tenantFrom: number;
  readonly failShare: number;
  /** The contestant stops after this time, even if jobs are left. */
  readonly seconds: number;
}

export interface ProduceRequest {
  readonly do: "produce";
  readonly rate: number;
  readonly seconds: number;
  readonly tenants: number;
  readonly tenantFrom: number;
}

export interface WorkRequest {
  readonly do: "work";
  readonly sleepMs: number;
  /** Null: the contestant uses its own settings. */
  readonly concurrency: number | null;
  /** The maximum number of concurrent runs over all processes. Null: no limit. */
  readonly limit: number | null;
  /** The number of workers to start in this process. A contestant that can start only one replies without `workers`. */
  readonly workers?: number;
  /**
   * Some jobs will fail. A contestant whose batches succeed or fail as a whole must then settle each job separately.
   */
  readonly failing?: boolean;
}

export interface WaitsRequest {
  readonly do: "waits";
  readonly tenantFrom?: number;
  readonly tenantTo?: number;
}

export type Request =
  | { readonly do: "prepare" }
  | EnqueueRequest
  | ProduceRequest
  | WorkRequest
  | { readonly do: "count" }
  | WaitsRequest
  | { readonly do: "stop" };

export interface Prepared {
  readonly version: string;
  /** What the contestant keeps of finished jobs. */
  readonly keeps: string;
  /** Batch size, pool size, concurrency, and settings that affect durability. */
  readonly settings: string;
}

export interface Sent {
  readonly jobs: number;
  readonly seconds: number;
}

export interface Count {
  readonly done: number;
  /** When the first execution began, in epoch milliseconds; 0 before the first. */
  readonly first: number;
  /** When the last execution ended, in epoch milliseconds; 0 before the first. */
  readonly last: number;
}

export interface Waits {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface Replies {
  readonly prepare: Prepared;
  readonly enqueue: Sent;
  readonly produce: Sent;
  readonly work: { readonly workers?: number };
  readonly count: Count;
  readonly waits: Waits;
  readonly stop: object;
}

export type ReplyTo<R extends Request> = Replies[R["do"]];

/** A contestant does not have the requested feature. This is a result, not a failure. */
export class Unsupported extends Error {
  override readonly name = "Unsupported";
}

/** A contestant replied with an error, or did not reply. */
export class ContestantError extends Error {
  override readonly name = "ContestantError";
}

const numbers: Readonly<Partial<Record<Request["do"], readonly string[]>>> = {
  enqueue: ["jobs", "seconds"],
  produce: ["jobs", "seconds"],
  count: ["done"],
  waits: ["n"],
};

/** Reads the reply to a request. Throws the contestant's own error, or an error that says why the reply is invalid. */
export function readReply<R extends Request>(request: R, line: string): ReplyTo<R> {
  let reply: unknown;
  try {
    reply = JSON.parse(line);
  } catch {
    throw new ContestantError(`the reply to "${request.do}" is not JSON: ${line.slice(0, 200)}`);
  }
  if (typeof reply !== "object" || reply === null || Array.isArray(reply)) {
    throw new ContestantError(`the reply to "${request.do}" is not an object: ${line.slice(0, 200)}`);
  }
  const fields: Readonly<Record<string, unknown>> = { ...reply };
  if (typeof fields["unsupported"] === "string") throw new Unsupported(fields["unsupported"]);
  if (typeof fields["error"] === "string") throw new ContestantError(fields["error"]);
  for (const name of numbers[request.do] ?? []) {
    if (typeof fields[name] !== "number") {
      throw new ContestantError(
        `the reply to "${request.do}" has no number "${name}": ${line.slice(0, 200)}`,
      );
    }
  }
  return reply as ReplyTo<R>;
}
