/** The columns of a table of jobs. */
import type { Job } from "@jobforge/sdk-ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { ago, span } from "../output/values.ts";

export const jobColumns: readonly Column<Job>[] = [
  // Never cut: other commands take the whole id.
  { title: "id", value: (job) => job.id, tone: () => "dim", cut: "start" },
  { title: "type", value: (job) => job.type, shrinks: true },
  { title: "status", value: (job) => job.status, tone: (job) => toneOf(job.status) },
  {
    title: "attempts",
    value: attemptsOf,
    align: "right",
    shrinks: "away",
  },
  { title: "when", value: whenOf, shrinks: "away" },
  { title: "tenant", value: ({ tenantLabel }) => tenantLabel, optional: true, shrinks: "away", least: 8 },
  { title: "subject", value: (job) => job.subject, shrinks: "away", least: 8 },
  { title: "error", value: (job) => job.lastError, shrinks: "first", least: 24, tone: () => "red" },
];

/**
 * Returns how many attempts the job had, and how many it may have. Those that do not count, such as runs that a
 * stopped worker handed back, are in both numbers.
 */
export function attemptsOf(job: Pick<Job, "attempts" | "maxAttempts" | "uncounted">): string {
  return `${job.attempts}/${job.maxAttempts + job.uncounted}`;
}

/** Returns the time that matters for the status: when the job runs next, when it started, or when it finished. */
export function whenOf(job: Job): string {
  if (job.status === "queued") return job.runAt.getTime() > Date.now() ? ago(job.runAt) : "due";
  if (job.status === "running") return `for ${span(Date.now() - (job.startedAt?.getTime() ?? Date.now()))}`;
  return ago(job.finishedAt);
}
