/**
 * The contestant's side of the contract for those that run on Node: reads requests, keeps count, and leaves to each what differs. Plain
 * Node runs it for the peers, which have their own node_modules: no dependencies, and only types that can be stripped.
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
  /** When the call that enqueued it began: epoch milliseconds with fraction. */
  readonly t: number;
  readonly tenant: number;
  readonly fail?: true;
  readonly pad?: string;
}

export interface Job {
  readonly payload: Payload;
  readonly delaySeconds: number;
}

/** Runs one execution, the first being number 1. Throws when the job is to fail. */
export type Run = (payload: Payload, execution: number) => Promise<void> | void;

export interface WorkOrder extends Pick<WorkRequest, "concurrency" | "limit"> {
  readonly failing: boolean;
  readonly run: Run;
}

/** What differs between contestants. */
export interface Contestant {
  prepare(): Promise<Prepared>;
  send(job: Job): Promise<unknown>;
  sendMany(jobs: readonly Job[]): Promise<unknown>;
  /** Jobs in a call of `sendMany`, and how many such calls are made at a time (1). */
  readonly manySize: number;
  readonly manyAtOnce?: number;
  /** Starts a worker; answers, once it is ready, how to stop it with all ends written. */
  work(order: WorkOrder): Promise<() => Promise<unknown>>;
  /** Closes what sending opened. */
  close(): Promise<unknown>;
}

/** What a contestant throws that has no notion of what it was asked for. */
export class UnsupportedRequest extends Error {
  override readonly name = "UnsupportedRequest";
}

/** No call carries more than this: large payloads come in smaller batches. */
const mostBytesACall = 8 * 1024 * 1024;

const now = (): number => performance.timeOrigin + performance.now();

/** Serves requests from standard input until it is closed. */
export async function serve(contestant: Contestant): Promise<void> {
  const tally = new Tally();
  const stops: (() => Promise<unknown>)[] = [];
  const stop = async (): Promise<object> => {
    await Promise.all(stops.splice(0).map((each) => each()));
    return {};
  };
  const answer = async (request: Request): Promise<object> => {
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
    const said = await answer(JSON.parse(line) as Request).catch(excuse);
    process.stdout.write(`${JSON.stringify(said)}\n`);
  }
  await stop();
  await contestant.close();
  // A pool or timer that a peer leaves behind is no reason to stay.
  process.exit(0);
}

function excuse(error: unknown): object {
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
      // Spread evenly: every tenth for a tenth.
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
  const size = Math.max(1, Math.min(contestant.manySize, Math.floor(mostBytesACall / (pad.length + 100))));
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

/** Open loop: a call is made when its time has come, whether or not the ones before it were answered. */
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

/** What happened in this process. */
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
        if (payload.fail === true) throw new Error("fails on its first execution, as it was told to");
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
