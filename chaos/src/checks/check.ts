/** What all checks have in common: one query, whose every row is something that must not be. */
import type { Row } from "../direct.ts";
import type { Violation } from "../violation.ts";

export interface Check {
  readonly name: string;
  /** What holds when it finds nothing. */
  readonly promise: string;
  /** Answers rows of `job_id` (or null) and `what`. */
  readonly query: string;
  readonly values?: readonly unknown[];
}

export interface Readable {
  rows<T extends Row>(sql: string, values?: readonly unknown[]): Promise<T[]>;
}

/** How many violations of one kind are told. The first ones say it all. */
const MOST = 20;

export async function findViolations(
  db: Readable,
  { name, query, values = [] }: Check,
): Promise<Violation[]> {
  const found = await db.rows<{ job_id: string | null; what: string }>(
    `select f.job_id::text, f.what from (${query}) f limit ${MOST}`,
    values,
  );
  return found.map(({ job_id, what }) => ({ check: name, what, job: job_id ?? undefined }));
}
