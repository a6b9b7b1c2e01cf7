/** One contestant at one measurement: its processes and its store, both fresh. */
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { type Command, ContestantProcess } from "./contestant-process.ts";
import { type Counters, divided } from "./costs.ts";
import { cpuSeconds } from "./cpu.ts";
import type { AnswerTo, EnqueueRequest, ProduceRequest, Request, Sent, WorkRequest } from "./protocol.ts";
import { rateOf, type Sample, together } from "./sampling.ts";
import type { Store } from "./store.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));

/** Some processes of a contestant that do the same. */
export class Crew implements AsyncDisposable {
  readonly #processes: readonly ContestantProcess[];

  constructor(processes: readonly ContestantProcess[]) {
    this.#processes = processes;
  }

  /** All are asked at once. */
  async ask<R extends Request>(request: R): Promise<AnswerTo<R>[]> {
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
  /** For each of the units that the work said it had. */
  readonly cost: Counters;
}

export interface Burned {
  readonly rate: number;
  readonly done: number;
}

export interface Burn extends Partial<Omit<WorkRequest, "do">> {
  /** How many jobs are waiting: when that many are done, it is over. */
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

  /** Starts processes and waits until each answers. */
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
   * What work cost that ran in these processes. They are closed after it, since only a backend that ends hands in all its counters. The
   * work answers its result and by how many jobs, or seconds, its cost is divided.
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

  /** What a second costs in which these processes are left alone. They go on, so what backends hand in late is missed at both ends. */
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

  /** Puts jobs into the queue from a process that is gone afterwards; so many of them before it is metered, to open connections. */
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

  /** Starts a worker in each process and lets them run until the jobs are done or the time is over. */
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
