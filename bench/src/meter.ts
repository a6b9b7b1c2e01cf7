/** Measures what work costs the database: WAL, commits, buffers and dead rows, in addition to time. */
import type pg from "pg";

export interface Cost {
  readonly jobs: number;
  readonly seconds: number;
  readonly walBytes: number;
  readonly commits: number;
  readonly buffers: number;
  readonly deadRows: number;
}

interface Counters {
  readonly wal: number;
  readonly commits: number;
  readonly buffers: number;
  readonly dead: number;
}

/** Measures work that runs on these connections of one database. The work returns the number of jobs it processed. */
export async function meter(
  clients: readonly pg.Client[],
  schema: string,
  work: () => Promise<number>,
): Promise<Cost> {
  const before = await count(clients, schema);
  const started = performance.now();
  const jobs = await work();
  const seconds = (performance.now() - started) / 1000;
  const after = await count(clients, schema);
  return {
    jobs,
    seconds,
    walBytes: after.wal - before.wal,
    commits: after.commits - before.commits,
    buffers: after.buffers - before.buffers,
    deadRows: after.dead - before.dead,
  };
}

async function count(clients: readonly pg.Client[], schema: string): Promise<Counters> {
  // An idle session reports its counters at most once a second, unless the next report is forced.
  for (const client of clients) await client.query("select pg_stat_force_next_flush()");
  const [reader] = clients;
  if (reader === undefined) throw new Error("meter() needs at least one connection");
  const { rows } = await reader.query<Record<keyof Counters, string>>(
    `select pg_current_wal_insert_lsn() - '0/0' as wal, d.xact_commit as commits, d.blks_hit + d.blks_read as buffers,
       (select coalesce(sum(t.n_tup_upd + t.n_tup_del), 0) from pg_stat_user_tables t where t.schemaname = $1) as dead
     from pg_stat_database d
     where d.datname = current_database()`,
    [schema],
  );
  const [row] = rows;
  if (row === undefined) throw new Error("Postgres has no statistics for this database");
  return {
    wal: Number(row.wal),
    commits: Number(row.commits),
    buffers: Number(row.buffers),
    dead: Number(row.dead),
  };
}

/** The run with the median rate. */
export function median(costs: readonly Cost[]): Cost {
  const sorted = [...costs].sort((a, b) => rate(a) - rate(b));
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined) throw new Error("nothing was measured");
  return middle;
}

export function rate({ jobs, seconds }: Cost): number {
  return jobs / seconds;
}
