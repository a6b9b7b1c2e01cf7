/** Loads the journals of all processes into the database, where the checks compare them with the kernel's tables. */
import type { Direct } from "./direct.ts";
import { monotonicMs, readJournals, type Written } from "./processes/journal.ts";

export async function loadJournals(direct: Direct, folder: string): Promise<void> {
  const entries = readJournals(folder);
  const epoch = Date.now() - monotonicMs();
  const iso = (at: number): string => new Date(epoch + at).toISOString();
  await direct.rows("truncate chaos.executions, chaos.replies, chaos.keys, chaos.cancels");
  await insert(direct, "executions", executionsIn(entries, iso));
  const replies = entries.filter(({ event }) => event === "kept" || event === "stale");
  await insert(
    direct,
    "replies",
    replies.map(({ event, job, attempt, who, what, at }) => ({
      job_id: job,
      attempt,
      worker_id: who,
      reply: event === "stale" ? "stale" : what,
      at: iso(at),
    })),
  );
  const acknowledged = new Map(
    entries.filter(({ event }) => event === "acknowledged").map(({ what, job }) => [what, job]),
  );
  const keys = entries.filter(({ event }) => event === "key").map(({ what }) => what);
  await insert(
    direct,
    "keys",
    keys.map((key) => ({ key, acknowledged: acknowledged.get(key) ?? null })),
  );
  const cancels = entries.filter(({ event }) => event === "canceled");
  await insert(
    direct,
    "cancels",
    cancels.map(({ job, what, at }) => ({ job_id: job, reply: what, at: iso(at) })),
  );
}

/** Pairs each start with the end of the same process, job and attempt. */
function executionsIn(entries: readonly Written[], iso: (at: number) => string): object[] {
  const nameOf = ({ job, attempt, process }: Written): string => `${job} ${attempt} ${process}`;
  const ends = new Map(entries.filter(({ event }) => event === "end").map((end) => [nameOf(end), end]));
  return entries
    .filter(({ event }) => event === "start")
    .map((start) => {
      const end = ends.get(nameOf(start));
      return {
        job_id: start.job,
        attempt: start.attempt,
        worker_id: start.who,
        process: start.process,
        started_at: iso(start.at),
        ended_at: end === undefined ? null : iso(end.at),
        outcome: end?.what ?? null,
      };
    });
}

async function insert(direct: Direct, table: string, rows: readonly object[]): Promise<void> {
  for (let from = 0; from < rows.length; from += 5_000) {
    const batch = JSON.stringify(rows.slice(from, from + 5_000));
    await direct.rows(
      `insert into chaos.${table} select * from jsonb_populate_recordset(null::chaos.${table}, $1)`,
      [batch],
    );
  }
}
