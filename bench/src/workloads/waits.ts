/** Workloads whose figures are waits: from the call that enqueues a job to the first line of its handler. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Waits } from "../driver/protocol.ts";
import { type Crew, enqueueing, producing, type Session, working } from "../driver/session.ts";
import { steadyRates } from "./rates.ts";
import { type Outcome, type Workload, wait } from "./workload.ts";

function figuresOf({ p50, p95, p99, max }: Waits): Readonly<Record<string, number>> {
  return { p50, p95, p99, max };
}

/**
 * Waits until `jobs` jobs are done, but at most `seconds`, because a worker may be slower than the producer. Returns
 * the number of jobs that are done.
 */
async function caughtUp(worker: Crew, jobs: number, seconds: number): Promise<number> {
  const end = performance.now() + seconds * 1000;
  for (;;) {
    const [count] = await worker.ask({ do: "count" });
    const done = count?.done ?? 0;
    if (done >= jobs || performance.now() > end) return done;
    await sleep(20);
  }
}

/** Runs a few jobs to open connections and warm up code. Returns the number of jobs that are done. */
async function warmUp(producer: Crew, worker: Crew, patience: number): Promise<number> {
  const [sent] = await producer.ask(producing({ rate: 50, seconds: 0.3 }));
  const done = await caughtUp(worker, sent?.jobs ?? 0, patience);
  await worker.ask({ do: "waits" });
  return done;
}

interface Steadily {
  readonly rate: number;
  readonly seconds: number;
}

/** Measures the waits of jobs that a separate process enqueues at a steady rate, for one worker. */
async function steady(session: Session, steadily: Steadily, patience: number): Promise<Outcome> {
  const [producer, worker] = [await session.start(), await session.start()];
  await worker.ask(working());
  const before = await warmUp(producer, worker, patience);
  const { result, cost } = await session.metered(worker, async () => {
    const [sent] = await producer.ask(producing(steadily));
    await caughtUp(worker, before + (sent?.jobs ?? 0), patience);
    const [waits] = await worker.ask({ do: "waits" });
    await worker.ask({ do: "stop" });
    await producer.close();
    if (waits === undefined || waits.n === 0) throw new Error("no job was run");
    return [waits, waits.n];
  });
  return { figures: figuresOf(result), cost };
}

export const wakeUp: Workload = {
  id: "wake-up",
  cells: [
    {
      id: "wake-up",
      title: "Idle wake-up: from the enqueue call to the handler, on an idle worker",
      figures: [wait("p50"), wait("p95"), wait("p99")],
    },
  ],
  field: "all",
  quick: "best",
  run: async (session, { wakeRate, wakeSeconds, patienceSeconds }) => {
    const { figures } = await steady(session, { rate: wakeRate, seconds: wakeSeconds }, patienceSeconds);
    return { "wake-up": { figures } };
  },
};

/** Jobs that arrive one by one, at rates from a small to a busy application. */
export const steadily: readonly Workload[] = steadyRates.map((rate) => {
  const id = `steady-${rate}`;
  return {
    id,
    cells: [
      {
        id,
        title: `Produce and consume ${rate.toLocaleString("en-US")} jobs a second`,
        figures: [wait("p50"), wait("p95"), wait("p99"), wait("max")],
        costsPer: "job",
      },
    ],
    field: "best",
    quick: rate === 500 && "best",
    run: async (session, { steadySeconds, patienceSeconds }) => ({
      [id]: await steady(session, { rate, seconds: steadySeconds }, patienceSeconds),
    }),
  };
});

/** All tenants except tenant 0, which floods the queue. */
const others = { tenantFrom: 1, tenantTo: 1_000 };

export const flood: Workload = {
  id: "flood",
  cells: [
    {
      id: "flood",
      title: "The wait of other tenants while one of 1,000 tenants floods the queue",
      figures: [
        { key: "times", title: "p95 flooded ÷ before", unit: "×", better: "lower" },
        { key: "before", title: "p95 before", unit: "ms", better: "lower" },
        { key: "flooded", title: "p95 flooded", unit: "ms", better: "lower" },
      ],
    },
  ],
  field: "best",
  quick: "jobforge",
  run: async (session, { floodJobs, floodSeconds, patienceSeconds }) => {
    const [producer, flooder, worker] = [await session.start(), await session.start(), await session.start()];
    const p95 = async (): Promise<number> => {
      const [sent] = await producer.ask(
        producing({ rate: 200, seconds: floodSeconds, tenants: 999, tenantFrom: 1 }),
      );
      await sleep(100);
      const [waits] = await worker.ask({ do: "waits", ...others });
      const { n, p95: seen } = waits ?? { n: 0, p95: 0 };
      // Jobs that have not run yet have waited at least as long as the measurement took.
      return n < (sent?.jobs ?? 0) * 0.95 ? Math.max(seen, floodSeconds * 1000) : seen;
    };
    // Slow enough for the flood to outlast the measurement: 10 concurrent runs of 5 ms are at most 2,000 jobs a second.
    await worker.ask(working({ sleepMs: 5, concurrency: 10 }));
    await warmUp(producer, worker, patienceSeconds);
    const before = await p95();
    await flooder.ask(enqueueing({ jobs: floodJobs, tenants: 1, seconds: 10 }));
    const flooded = await p95();
    return { flood: { figures: { times: flooded / before, before, flooded } } };
  },
};
