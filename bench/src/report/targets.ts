/** The targets, as ratios within one run, and whether a run meets them. */
import type { CounterName } from "../driver/costs.ts";
import { jobforgeInPython, onRedis, withoutHistory } from "../driver/peers.ts";
import type { Result, RunResults } from "../driver/run.ts";
import { costOf, figureOf } from "./statistics.ts";

export interface Target {
  readonly text: string;
  readonly wanted: number;
  readonly better: "higher" | "lower";
  measure(results: Measured): number | undefined;
}

export interface Judged {
  readonly text: string;
  readonly wanted: number;
  readonly better: "higher" | "lower";
  readonly measured?: number;
  /** Undefined if this run did not measure it. */
  readonly met?: boolean;
}

interface Measured {
  /** The median of a contestant's figure in a cell. */
  figure(cell: string, contestant: string, key?: string): number | undefined;
  /** The median of a contestant's cost per job in a cell. */
  cost(cell: string, contestant: string, name: CounterName): number | undefined;
}

function ratio(above: number | undefined, below: number | undefined): number | undefined {
  return above === undefined || below === undefined || below === 0 ? undefined : above / below;
}

/** A rate of JobForge against that of a peer. */
function faster(text: string, cell: string, peer: string, wanted: number, ours = "jobforge"): Target {
  return {
    text: `${text}: at least ${wanted}× ${peer}`,
    wanted,
    better: "higher",
    measure: ({ figure }) => ratio(figure(cell, ours), figure(cell, peer)),
  };
}

/** A wait of JobForge against that of a peer. */
function sooner(text: string, cell: string, key: "p50" | "p99", wanted: number): Target {
  return {
    text: `${text}: at most ${wanted}× graphile-worker`,
    wanted,
    better: "lower",
    measure: ({ figure }) => ratio(figure(cell, "jobforge", key), figure(cell, "graphile-worker", key)),
  };
}

/** The server's time for a job of JobForge against that of a peer. */
function cheaper(text: string, cell: string, peer: string, wanted: number): Target {
  return {
    text: `${text}, server time per job: at most ${wanted}× ${peer}`,
    wanted,
    better: "lower",
    measure: ({ cost }) =>
      ratio(cost(cell, "jobforge", "serverCpuSeconds"), cost(cell, peer, "serverCpuSeconds")),
  };
}

function keeps(text: string, cell: string, clean: string, wanted = 0.8): Target {
  return {
    text: `${text} at least ${wanted} of the clean rate`,
    wanted,
    better: "higher",
    measure: ({ figure }) => ratio(figure(cell, "jobforge"), figure(clean, "jobforge")),
  };
}

const bulkPeers = [
  "graphile-worker",
  "pg-boss",
  "bullmq on redis",
  "bullmq on postgres",
  "river",
  "procrastinate",
];

const pythonPeers = ["procrastinate", "pgqueuer", "chancy", "oban"];

export const targets: readonly Target[] = [
  cheaper("500 jobs a second", "steady-500", "river", 1),
  cheaper("500 jobs a second", "steady-500", "graphile-worker", 0.6),
  sooner("500 jobs a second, median wait", "steady-500", "p50", 1),
  sooner("500 jobs a second, p99 of waits", "steady-500", "p99", 1),
  sooner("idle wake-up, median", "wake-up", "p50", 0.7),
  faster("single enqueues, 50 at a time", "enqueue-50", "river", 3),
  faster("single enqueues, 50 at a time", "enqueue-50", "bullmq on redis", 0.8),
  {
    text: "bulk enqueue: at least 1.1× the best peer",
    wanted: 1.1,
    better: "higher",
    measure: ({ figure }) => {
      const rates = bulkPeers.flatMap((peer) => figure("enqueue-bulk", peer) ?? []);
      return rates.length === 0 ? undefined : ratio(figure("enqueue-bulk", "jobforge"), Math.max(...rates));
    },
  },
  faster("burn-down without history", "burn-down-1", "graphile-worker", 1.2, withoutHistory),
  faster("burn-down with history", "burn-down-1", "river", 1.8),
  faster("burn-down with history", "burn-down-1", "pg-boss", 1.6),
  faster("burn-down with history", "burn-down-1", "graphile-worker", 1),
  faster("our handlers on BullMQ, burn-down", "burn-down-1", "bullmq on redis", 0.85, onRedis),
  faster("our handlers on BullMQ, handlers of 10 ms", "sleep-10ms", "bullmq on redis", 0.85, onRedis),
  faster("our handlers on BullMQ, bulk enqueue", "enqueue-bulk", "bullmq on redis", 0.85, onRedis),
  faster("in Python, burn-down with history", "burn-down-1", "procrastinate", 10, jobforgeInPython),
  {
    text: "in Python, burn-down with history: at least 1.5× the best peer in Python",
    wanted: 1.5,
    better: "higher",
    measure: ({ figure }) => {
      const rates = pythonPeers.flatMap((peer) => figure("burn-down-1", peer) ?? []);
      return rates.length === 0
        ? undefined
        : ratio(figure("burn-down-1", jobforgeInPython), Math.max(...rates));
    },
  },
  {
    text: "in Python, burn-down, server time per job: at most 1.1× the worker in TypeScript",
    wanted: 1.1,
    better: "lower",
    measure: ({ cost }) =>
      ratio(
        cost("burn-down-1", jobforgeInPython, "serverCpuSeconds"),
        cost("burn-down-1", "jobforge", "serverCpuSeconds"),
      ),
  },
  {
    text: "8 processes, server time per job: at most 1.4× one process",
    wanted: 1.4,
    better: "lower",
    measure: ({ cost }) =>
      ratio(
        cost("burn-down-8", "jobforge", "serverCpuSeconds"),
        cost("burn-down-1", "jobforge", "serverCpuSeconds"),
      ),
  },
  keeps("8 processes keep", "burn-down-8", "burn-down-1", 0.9),
  cheaper("handlers of 10 ms", "sleep-10ms", "graphile-worker", 1.3),
  faster("payloads of 50 kB", "payload-50kb", "pg-boss", 0.8),
  faster("one job in ten fails", "failures", "river", 1),
  keeps("a limit that is not reached keeps", "limit", "burn-down-1", 0.85),
  {
    text: "100 idle workers: at most 15 ms of the server per second",
    wanted: 15,
    better: "lower",
    measure: ({ figure }) => figure("idle", "jobforge", "serverCpu"),
  },
  {
    text: "100 idle workers: at most 15 commits per second",
    wanted: 15,
    better: "lower",
    measure: ({ cost }) => cost("idle", "jobforge", "commits"),
  },
  keeps("a burst before vacuum and analyze keeps", "burst", "burn-down-1"),
  keeps("a transaction left open keeps", "pinned", "unpinned"),
  keeps("1,000,000 finished jobs keep", "finished", "burn-down-1"),
  keeps("1,000,000 scheduled jobs keep", "scheduled", "burn-down-1"),
  {
    text: "while one tenant floods the queue, others wait at most 2× as long (p95)",
    wanted: 2,
    better: "lower",
    measure: ({ figure }) => figure("flood", "jobforge", "times"),
  },
];

export function judge(results: RunResults): Judged[] {
  const resultOf = (id: string, contestant: string): Result | undefined =>
    results.cells.find((each) => each.cell.id === id)?.results.find((each) => each.contestant === contestant);
  const measuredIn: Measured = {
    figure: (id, contestant, key = "rate") => figureOf(resultOf(id, contestant), key)?.median,
    cost: (id, contestant, name) => {
      const result = resultOf(id, contestant);
      return result === undefined ? undefined : costOf(result)[name];
    },
  };
  return targets.map(({ text, wanted, better, measure }) => {
    const measured = measure(measuredIn);
    if (measured === undefined) return { text, wanted, better };
    return {
      text,
      wanted,
      better,
      measured,
      met: better === "higher" ? measured >= wanted : measured <= wanted,
    };
  });
}
