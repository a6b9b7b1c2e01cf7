/** Burn-down workloads: a backlog is enqueued in bulk, then workers run all of it. */
import type { Crowd } from "../driver/arena.ts";
import { type Field, type Outcome, rate, type Size, type Workload } from "./workload.ts";

interface BurnDown {
  readonly id: string;
  readonly title: string;
  readonly field: Field;
  readonly quick?: Field;
  readonly processes?: number;
  readonly payloadBytes?: number;
  /** A maximum number of jobs, for jobs that are large or slow. */
  readonly mostJobs?: number;
  readonly failShare?: number;
  readonly sleepMs?: number;
  readonly concurrency?: number;
  readonly limit?: number;
  /** Keeps a transaction open during the whole measurement. */
  readonly pinned?: boolean;
  /** Jobs that are in the store before. A crowd of ready jobs is itself the backlog, so then no jobs are enqueued. */
  readonly crowd?: (size: Size) => Crowd;
  /** Workers start immediately, before the enqueued jobs are vacuumed or analyzed. */
  readonly burst?: boolean;
  /** Also measures the bulk enqueue, as a cell with this id and title. */
  readonly bulk?: { readonly id: string; readonly title: string };
  /** The factor by which it is longer than other workloads. Default: 1. */
  readonly longer?: number;
}

export function burnDown(options: BurnDown): Workload {
  const { id, title, field, quick = false, processes = 1, bulk, crowd, longer = 1 } = options;
  const { payloadBytes = 0, failShare = 0, mostJobs = Number.POSITIVE_INFINITY } = options;
  const cell = { id, title, figures: [rate], costsPer: "job" as const };
  return {
    id,
    cells: bulk === undefined ? [cell] : [{ ...bulk, figures: [rate], costsPer: "job" }, cell],
    field,
    quick,
    ...(crowd === undefined ? {} : { crowd }),
    run: async (session, size) => {
      const outcomes: Record<string, Outcome> = {};
      let jobs = crowd?.(size).jobs ?? 0;
      if (options.pinned) await session.store.pin();
      if (crowd?.(size).of !== "ready") {
        const seconds = size.fillSeconds * longer;
        const most = Math.min(mostJobs, size.fillJobs * longer);
        const { result, cost } = await session.fill({ jobs: most, seconds, payloadBytes, failShare });
        jobs = result.jobs;
        if (!options.burst) await session.store.tidy();
        if (bulk) outcomes[bulk.id] = { figures: { rate: result.jobs / result.seconds }, cost };
      }
      const crew = await session.start(processes);
      const { result, cost } = await session.metered(crew, () =>
        session.burn(crew, {
          jobs,
          seconds: size.burnSeconds * longer,
          sleepMs: options.sleepMs ?? 0,
          concurrency: options.concurrency ?? null,
          limit: options.limit ?? null,
          failing: failShare > 0,
        }),
      );
      outcomes[id] = { figures: { rate: result.rate }, cost };
      return outcomes;
    },
  };
}

const plural = (processes: number): string => (processes === 1 ? "1 process" : `${processes} processes`);

export const processCounts = [1, 2, 4, 8, 16] as const;

/**
 * All contestants take part with one process, and all at their best settings with four. The others are for the chart.
 */
export const scaling = processCounts.map((processes) =>
  burnDown({
    id: `burn-down-${processes}`,
    title: `Burn-down of jobs that do nothing, ${plural(processes)}`,
    field: processes === 1 ? "all" : processes === 4 ? "best" : "main",
    ...(processes === 1 ? { quick: "best" as const } : {}),
    processes,
    ...(processes === 1 ? { bulk: { id: "enqueue-bulk", title: "Enqueue in bulk" } } : {}),
  }),
);

/** Shares of a crowd of a million: ten thousand, a hundred thousand and a million jobs. */
export const backlogShares = [0.01, 0.1, 1] as const;

export const backlogs = backlogShares.map((share) =>
  burnDown({
    id: `backlog-${share}`,
    title: `Burn-down with ${(share * 1_000_000).toLocaleString("en-US")} jobs waiting`,
    field: "main",
    crowd: (size) => ({ of: "ready", jobs: Math.round(size.crowd * share) }),
  }),
);

export const burdens: readonly Workload[] = [
  burnDown({
    id: "burst",
    title: "Burn-down of a burst before vacuum and analyze, 1 process",
    field: "best",
    burst: true,
    longer: 2,
  }),
  burnDown({
    id: "sleep-10ms",
    title: "Handlers of 10 ms, 100 at a time",
    field: "best",
    sleepMs: 10,
    concurrency: 100,
    mostJobs: 30_000,
  }),
  burnDown({ id: "payload-1kb", title: "Payloads of 1 kB", field: "main", payloadBytes: 1_000 }),
  burnDown({
    id: "payload-50kb",
    title: "Payloads of 50 kB",
    field: "main",
    payloadBytes: 50_000,
    mostJobs: 3_000,
  }),
  burnDown({ id: "failures", title: "One job in ten fails and is retried", field: "main", failShare: 0.1 }),
  burnDown({
    id: "limit",
    title: "With a concurrency limit that is not reached",
    field: "best",
    limit: 10_000,
  }),
  burnDown({
    id: "pinned",
    title: "With a transaction left open",
    field: "main",
    quick: "jobforge",
    pinned: true,
    longer: 2,
  }),
  // The baseline for "pinned". It takes equally long, because dead rows accumulate over time.
  burnDown({
    id: "unpinned",
    title: "The same without a transaction left open",
    field: "jobforge",
    quick: "jobforge",
    longer: 2,
  }),
  burnDown({
    id: "finished",
    title: "With 1,000,000 finished jobs",
    field: "main",
    crowd: (size) => ({ of: "finished", jobs: size.crowd }),
  }),
  burnDown({
    id: "scheduled",
    title: "With 1,000,000 scheduled jobs",
    field: "main",
    crowd: (size) => ({ of: "scheduled", jobs: size.crowd }),
  }),
];
