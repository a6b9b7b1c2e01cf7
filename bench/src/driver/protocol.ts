/** What the driver and a contestant say to each other: one JSON line each way. bench/README.md has the contract. */

export interface EnqueueRequest {
  readonly do: "enqueue";
  readonly jobs: number;
  /** `one`: a call per job, `concurrency` at a time. `bulk`: the contestant's best way for many. */
  readonly how: "one" | "bulk";
  readonly concurrency: number;
  readonly payloadBytes: number;
  readonly delaySeconds: number;
  readonly tenants: number;
  readonly tenantFrom: number;
  readonly failShare: number;
  /** It stops after so long, however many are left. */
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
  /** Null: what the contestant's settings say. */
  readonly concurrency: number | null;
  /** Runs at once over all processes, at most. Null: no limit. */
  readonly limit: number | null;
  /** Workers to start in this process. A contestant that can start one only answers without `workers`. */
  readonly workers?: number;
  /** Some jobs will fail: a contestant whose batches end as a whole has to settle each by itself then. */
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
  /** What is kept of finished jobs. */
  readonly keeps: string;
  /** Batch, pool, concurrency, and what matters for durability. */
  readonly settings: string;
}

export interface Sent {
  readonly jobs: number;
  readonly seconds: number;
}

export interface Count {
  readonly done: number;
  /** When the first execution began and the last one ended; epoch milliseconds, 0 before there was one. */
  readonly first: number;
  readonly last: number;
}

export interface Waits {
  readonly n: number;
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
  readonly max: number;
}

export interface Answers {
  readonly prepare: Prepared;
  readonly enqueue: Sent;
  readonly produce: Sent;
  readonly work: { readonly workers?: number };
  readonly count: Count;
  readonly waits: Waits;
  readonly stop: object;
}

export type AnswerTo<R extends Request> = Answers[R["do"]];

/** A contestant has no notion of what it was asked for. That is a result, not a failure. */
export class Unsupported extends Error {
  override readonly name = "Unsupported";
}

/** A contestant answered that something went wrong, or not at all. */
export class ContestantError extends Error {
  override readonly name = "ContestantError";
}

const numbers: Readonly<Partial<Record<Request["do"], readonly string[]>>> = {
  enqueue: ["jobs", "seconds"],
  produce: ["jobs", "seconds"],
  count: ["done"],
  waits: ["n"],
};

/** Reads the line that answers a request. Fails with what the contestant said, or with what is wrong with it. */
export function readAnswer<R extends Request>(request: R, line: string): AnswerTo<R> {
  let answer: unknown;
  try {
    answer = JSON.parse(line);
  } catch {
    throw new ContestantError(`the answer to "${request.do}" is no JSON: ${line.slice(0, 200)}`);
  }
  if (typeof answer !== "object" || answer === null || Array.isArray(answer)) {
    throw new ContestantError(`the answer to "${request.do}" is no object: ${line.slice(0, 200)}`);
  }
  const fields: Readonly<Record<string, unknown>> = { ...answer };
  if (typeof fields["unsupported"] === "string") throw new Unsupported(fields["unsupported"]);
  if (typeof fields["error"] === "string") throw new ContestantError(fields["error"]);
  for (const name of numbers[request.do] ?? []) {
    if (typeof fields[name] !== "number") {
      throw new ContestantError(
        `the answer to "${request.do}" lacks the number ${name}: ${line.slice(0, 200)}`,
      );
    }
  }
  return answer as AnswerTo<R>;
}
