/**
 * The contestant's side of the contract, shared by all contestants on Node: reads requests and counts executions. Each
 * contestant implements only what differs. Plain Node runs this file for the peers, which have their own node_modules,
 * so it has no dependencies and uses only types that Node can strip.
 */
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import type {
  Count,
  EnqueueRequest,
  Prepared,
  ProduceRequest,
  Request,
  Sent,
  Waits,
  WaitsRequest,
  WorkRequest,
} from "../driver/protocol.ts";

export interface Payload {
  /** The time when the call that enqueued the job began, in epoch milliseconds with a fraction. */
  readonly t: number;
  readonly tenant: number;
  readonly fail?: true;
  readonly pad?: string;
}

export interface Job {
  readonly payload: Payload;
  readonly delaySeconds: number;
}

/** Runs one execution of a job. `execution` counts from 1. Throws if the job is meant to fail. */
export type Run = (payload: Payload, execution: number) => Promise<void> | void;

export interface WorkOrder extends Pick<WorkRequest, "concurrency" | "limit"> {
  readonly failing: boolean;
  readonly run: Run;
}

/** The part that differs between contestants. */
export interface Contestant {
  prepare(): Promise<Prepared>;
  send(job: Job): Promise<unknown>;
  sendMany(jobs: readonly Job[]): Promise<unknown>;
  /** The number of jobs in one call of `sendMany`. */
  readonly manySize: number;
  /** The number of concurrent calls of `sendMany`. Default: 1. */
  readonly manyAtOnce?: number;
  /**
   * Starts a worker. Resolves when the worker is ready, to a function that stops it after the ends of all its runs are
   * written.
   */
  work(order: WorkOrder): Promise<() => Promise<unknown>>;
  /** Closes the connections used for sending. */
  close(): Promise<unknown>;
}

/** Thrown by a contestant that does not have the requested feature. */
export class UnsupportedRequest extends Error {
  override readonly name = "UnsupportedRequest";
}

/** The size limit of one bulk call: large payloads are sent in smaller batches. */
const maxBytesPerCall = 8 * 1024 * 1024;

const now = (): number => performance.timeOrigin + performance.now();

/** Serves requests from standard input until standard input is closed. */
export async function serve(contestant: Contestant): Promise<void> {
  const tally = new Tally();
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<object> => {
    await Promise.all(stops.splice(0).map((each) => each()));
    return {};
  };
  const handle = async (request: Request): Promise<object> => {
    switch (request.do) {
      case "prepare":
        return await contestant.prepare();
      case "enqueue":
        return await enqueue(contestant, request);
      case "produce":
        return await produce(contestant, request);
      case "work": {
        const { workers = 1, concurrency, limit, failing = false, sleepMs } = request;
        const order = { concurrency, limit, failing, run: tally.runner(sleepMs) };
        for (let n = 0; n < workers; n += 1) stops.push(await contestant.work(order));
        return { workers };
      }
      case "count":
        return tally.count();
      case "waits":
        return tally.waits(request);
      case "stop":
        return await stop();
    }
  };
  for await (const line of createInterface({ input: process.stdin })) {
    const reply = await handle(JSON.parse(line) as Request).catch(errorReply);
    process.stdout.write(`${JSON.stringify(reply)}\n`);
  }
  await stop();
  await contestant.close();
  // A pool or timer that a peer leaves open must not keep the process alive.
  process.exit(0);
}

function errorReply(error: unknown): object {
  if (error instanceof UnsupportedRequest) return { unsupported: error.message };
  return { error: error instanceof Error ? `${error.message}` : String(error) };
}

async function enqueue(contestant: Contestant, request: EnqueueRequest): Promise<Sent> {
  const pad = "x".repeat(request.payloadBytes);
  const started = performance.now();
  const end = started + request.seconds * 1000;
  let taken = 0;
  let jobs = 0;
  const next = (): Job => {
    const n = taken;
    taken += 1;
    const share = request.failShare;
    const payload = {
      t: now(),
      tenant: request.tenantFrom + (n % request.tenants),
      // Failing jobs are spread evenly: with a share of 0.1, every tenth job fails.
      ...(share > 0 && Math.floor((n + 1) * share) > Math.floor(n * share) ? { fail: true as const } : {}),
      ...(pad === "" ? {} : { pad }),
    };
    return { payload, delaySeconds: request.delaySeconds };
  };
  const more = (): boolean => taken < request.jobs && performance.now() < end;
  const ones = async (): Promise<void> => {
    while (more()) {
      await contestant.send(next());
      jobs += 1;
    }
  };
  const size = Math.max(1, Math.min(contestant.manySize, Math.floor(maxBytesPerCall / (pad.length + 100))));
  const many = async (): Promise<void> => {
    while (more()) {
      const batch = Array.from({ length: Math.min(size, request.jobs - taken) }, next);
      await contestant.sendMany(batch);
      jobs += batch.length;
    }
  };
  const calls = request.how === "one" ? request.concurrency : (contestant.manyAtOnce ?? 1);
  await Promise.all(Array.from({ length: calls }, request.how === "one" ? ones : many));
  return { jobs, seconds: (performance.now() - started) / 1000 };
}

/** Open loop: each call is made at its scheduled time, even if earlier calls are still pending. */
async function produce(contestant: Contestant, request: ProduceRequest): Promise<Sent> {
  const { rate, seconds, tenants, tenantFrom } = request;
  const total = Math.round(rate * seconds);
  const started = performance.now();
  const calls: Promise<unknown>[] = [];
  let failure: unknown;
  while (calls.length < total) {
    const due = Math.floor(((performance.now() - started) * rate) / 1000) + 1;
    while (calls.length < Math.min(due, total)) {
      const payload = { t: now(), tenant: tenantFrom + (calls.length % tenants) };
      const sent = contestant.send({ payload, delaySeconds: 0 });
      calls.push(
        sent.catch((error: unknown) => {
          failure ??= error;
        }),
      );
    }
    await sleep(Math.max(1, started + (calls.length * 1000) / rate - performance.now()));
  }
  await Promise.all(calls);
  if (failure !== undefined) throw failure;
  return { jobs: total, seconds: (performance.now() - started) / 1000 };
}

/** Counts the executions of this process and their waits. */
class Tally {
  #done = 0;
  #first = 0;
  #last = 0;
  #waits: number[] = [];
  #tenants: number[] = [];

  runner(sleepMs: number): Run {
    const ended = (): void => {
      this.#done += 1;
      this.#last = now();
    };
    return (payload, execution) => {
      const started = now();
      if (this.#first === 0) this.#first = started;
      if (execution === 1) {
        this.#waits.push(started - payload.t);
        this.#tenants.push(payload.tenant);
        if (payload.fail === true) throw new Error("this job is meant to fail on its first execution");
      }
      if (sleepMs > 0) return sleep(sleepMs).then(ended);
      ended();
    };
  }

  count(): Count {
    return { done: this.#done, first: this.#first, last: this.#last };
  }

  waits({ tenantFrom = 0, tenantTo = Number.MAX_SAFE_INTEGER }: WaitsRequest): Waits {
    const tenants = this.#tenants;
    const waits = this.#waits
      .filter((_, n) => (tenants[n] ?? 0) >= tenantFrom && (tenants[n] ?? 0) <= tenantTo)
      .sort((a, b) => a - b);
    this.#waits = [];
    this.#tenants = [];
    const at = (share: number): number =>
      waits[Math.min(waits.length - 1, Math.floor(waits.length * share))] ?? 0;
    return { n: waits.length, p50: at(0.5), p95: at(0.95), p99: at(0.99), max: at(1) };
  }
}
