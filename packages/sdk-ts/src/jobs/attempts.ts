/** What happened in each execution of a job: its attempts and its logs, read page by page. */
import { fromRows } from "../rows.ts";
import { bounds } from "../words.ts";
import type { JobAttempt, JobLog, LogLine } from "./job.ts";

/** Reads the rows of a job after an attempt. */
type ReadAfter = (after: number | undefined) => Promise<object[]>;

/** All attempts of a job, the first one first. */
export function listAttempts(read: ReadAfter): Promise<JobAttempt[]> {
  return allRows<JobAttempt>(read, bounds.attempts.max);
}

/** The logs of all attempts that have one, the first one first. */
export async function listLogs(read: ReadAfter): Promise<JobLog[]> {
  const logs = await allRows<JobLog>(read, bounds.logs.max);
  return logs.map((log) => ({ ...log, lines: fromRows<LogLine>(log.lines) }));
}

async function allRows<Row extends { readonly attemptNo: number }>(
  read: ReadAfter,
  pageSize: number,
): Promise<Row[]> {
  const all: Row[] = [];
  for (;;) {
    const rows = await read(all.at(-1)?.attemptNo);
    all.push(...fromRows<Row>(rows));
    if (rows.length < pageSize) return all;
  }
}
