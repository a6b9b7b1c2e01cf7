/** One measurement of one contestant, with new processes and a new store. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Command, ContestantProcess } from "./contestant-process.ts";
import { type Counters, divided } from "./costs.ts";
import { cpuSeconds } from "./cpu.ts";
import type { EnqueueRequest, ProduceRequest, ReplyTo, Request, Sent, WorkRequest } from "./protocol.ts";
import { rateOf, type Sample, together } from "./sampling.ts";
import type { Store } from "./store.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Processes of one contestant that get the same requests. */
export class Crew implements AsyncDisposable {
  readonly #processes: readonly ContestantProcess[];

  constructor(processes: readonly ContestantProcess[]) {
    this.#processes = processes;
  }

  /** Sends a request to all processes concurrently. */
  async ask<R extends Request>(request: R): Promise<ReplyTo<R>[]> {
    return await Promise.all(this.#processes.map((process) => process.ask(request)));
  }

  cpuSeconds(): number | undefined {
    return cpuSeconds(this.#processes.flatMap(({ pid }) => pid ?? []));
  }

  async close(): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.close()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}

export interface Metered<T> {
  readonly result: T;
  /** The cost per unit, where the work returns the number of units. */
  readonly cost: Counters;
}

export interface Burned {
  readonly rate: number;
  readonly done: number;
}

export interface Burn extends Partial<Omit<WorkRequest, "do">> {
  /** The number of waiting jobs. The measurement ends when all of them are done. */
  readonly jobs: number;
  readonly seconds: number;
}

export class Session implements AsyncDisposable {
  readonly store: Store;
  readonly #command: Command;
  readonly #env: NodeJS.ProcessEnv;
  readonly #crews: Crew[] = [];

  constructor(command: Command, settings: "best" | "default", store: Store) {
    this.store = store;
    this.#command = command;
    const { DATABASE_URL: _database, REDIS_URL: _redis, ...inherited } = process.env;
    this.#env = {
      ...inherited,
      ...store.env,
      BENCH_SETTINGS: settings,
      NODE_ENV: "production",
      LOG_LEVEL: "silent",
    };
  }

  /** Starts processes and waits until each has replied. */
  async start(processes = 1): Promise<Crew> {
    const all = Array.from(
      { length: processes },
      () => new ContestantProcess(this.#command, this.#env, root),
    );
    const crew = new Crew(all);
    this.#crews.push(crew);
    await crew.ask({ do: "count" });
    return crew;
  }

  /**
   * Measures the cost of work that runs in these processes. Closes them afterwards, because a Postgres backend reports
   * all its counters only when it exits. The work returns its result and the number of jobs or seconds to divide the
   * cost by.
   */
  async metered<T>(
    crew: Crew,
    work: () => Promise<readonly [result: T, units: number]>,
  ): Promise<Metered<T>> {
    const before = await this.#read(crew.cpuSeconds());
    const [result, units] = await work();
    const workers = crew.cpuSeconds();
    await crew.close();
    await this.store.quiet();
    return { result, cost: divided(before, await this.#read(workers), units) };
  }

  /**
   * Measures the cost per second while these processes are left alone. The processes keep running, so counters that
   * backends report late are missing at both ends.
   */
  async watched(crew: Crew, seconds: number): Promise<Counters> {
    const before = await this.#read(crew.cpuSeconds());
    const started = performance.now();
    await sleep(seconds * 1000);
    const after = await this.#read(crew.cpuSeconds());
    return divided(before, after, (performance.now() - started) / 1000);
  }

  async #read(workers: number | undefined): Promise<Counters> {
    const counters = await this.store.counters();
    return workers === undefined ? counters : { ...counters, workerCpuSeconds: workers };
  }

  /**
   * Enqueues jobs from a process that is closed afterwards. The first `warmUp` jobs are not measured: they open the
   * connections.
   */
  async fill(
    what: Partial<EnqueueRequest> & Pick<EnqueueRequest, "jobs">,
    warmUp = 0,
  ): Promise<Metered<Sent>> {
    const crew = await this.start();
    if (warmUp > 0) await crew.ask(enqueueing({ ...what, jobs: warmUp }));
    return await this.metered(crew, async () => {
      const [sent = { jobs: 0, seconds: 0 }] = await crew.ask(enqueueing(what));
      return [sent, sent.jobs];
    });
  }

  /** Starts a worker in each process and lets them run until all jobs are done or the time is over. */
  async burn(crew: Crew, { jobs, seconds, ...work }: Burn): Promise<readonly [Burned, units: number]> {
    await crew.ask(working(work));
    const end = performance.now() + seconds * 1000;
    const samples: Sample[] = [];
    let first = 0;
    for (;;) {
      const counts = await crew.ask({ do: "count" });
      samples.push(together(counts));
      first = Math.min(...counts.map((count) => count.first).filter((time) => time > 0));
      if ((samples.at(-1)?.done ?? 0) >= jobs || performance.now() >= end) break;
      await sleep(Math.min(50, seconds * 50));
    }
    await crew.ask({ do: "stop" });
    const { done } = together(await crew.ask({ do: "count" }));
    return [{ rate: rateOf(samples, first, { warmUp: seconds / 4, watched: seconds }), done }, done];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#crews.map((crew) => crew.close()));
    await this.store[Symbol.asyncDispose]();
  }
}

export function enqueueing(what: Partial<EnqueueRequest> & Pick<EnqueueRequest, "jobs">): EnqueueRequest {
  return {
    do: "enqueue",
    how: "bulk",
    concurrency: 1,
    payloadBytes: 0,
    delaySeconds: 0,
    tenants: 10,
    tenantFrom: 0,
    failShare: 0,
    seconds: 60,
    ...what,
  };
}

export function producing(
  what: Pick<ProduceRequest, "rate" | "seconds"> & Partial<ProduceRequest>,
): ProduceRequest {
  return { do: "produce", tenants: 10, tenantFrom: 0, ...what };
}

export function working(what: Partial<WorkRequest> = {}): WorkRequest {
  return { do: "work", sleepMs: 0, concurrency: null, limit: null, ...what };
}
