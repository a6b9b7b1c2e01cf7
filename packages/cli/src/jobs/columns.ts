/** The columns of a table of jobs. */
import type { Job } from "@jobforge/sdk-ts";
import { toneOf } from "../output/style.ts";
import type { Column } from "../output/table.ts";
import { ago, span } from "../output/values.ts";

export const jobColumns: readonly Column<Job>[] = [
  { title: "id", value: (job) => job.id, tone: () => "dim", shrinks: "first", cut: "start" },
  { title: "type", value: (job) => job.type, shrinks: true },
  { title: "status", value: (job) => job.status, tone: (job) => toneOf(job.status) },
  { title: "attempts", value: (job) => `${job.attempts}/${job.maxAttempts}`, align: "right" },
  { title: "when", value: whenOf },
  { title: "subject", value: (job) => job.subject, shrinks: "first" },
  { title: "error", value: (job) => job.lastError, shrinks: "first", tone: () => "red" },
];

/** Returns the time that matters for the status: when the job runs next, when it started, or when it finished. */
function whenOf(job: Job): string {
  if (job.status === "queued") return job.runAt.getTime() > Date.now() ? ago(job.runAt) : "due";
  if (job.status === "running") return `for ${span(Date.now() - (job.startedAt?.getTime() ?? Date.now()))}`;
  return ago(job.finishedAt);
}
