/** All workloads in the order of the report, and their sizes. */
import { backlogs, burdens, scaling } from "./burn-down.ts";
import { enqueueing } from "./enqueue.ts";
import { firing } from "./firing.ts";
import { http } from "./http.ts";
import { idle } from "./idle.ts";
import { flood, steadily, wakeUp } from "./waits.ts";
import type { Size, Workload } from "./workload.ts";

export const workloads: readonly Workload[] = [
  ...enqueueing,
  ...scaling,
  wakeUp,
  ...steadily,
  ...burdens,
  flood,
  idle,
  ...backlogs,
  firing,
  http,
];

export const full: Size = {
  burnSeconds: 1.2,
  enqueueSeconds: 0.8,
  fillJobs: 100_000,
  fillSeconds: 1.2,
  wakeRate: 20,
  wakeSeconds: 1.5,
  patienceSeconds: 2,
  steadySeconds: 2,
  floodJobs: 20_000,
  floodSeconds: 1.2,
  idleWorkers: 100,
  // As long as it takes all workers to send a heartbeat.
  idleSeconds: 10,
  crowd: 1_000_000,
};

/** Small enough to run all contestants in five minutes. */
export const quick: Size = {
  ...full,
  burnSeconds: 1.2,
  enqueueSeconds: 0.5,
  fillJobs: 60_000,
  fillSeconds: 1,
  wakeSeconds: 1.2,
  floodSeconds: 0.8,
  floodJobs: 12_000,
  crowd: 100_000,
};
