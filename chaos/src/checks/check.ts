/** What all checks have in common: a query that returns one row for each violation. */
import type { Row } from "../direct.ts";
import type { Violation } from "../violation.ts";

export interface Check {
  readonly name: string;
  /** The promise that is kept if the query returns no rows. */
  readonly promise: string;
  /** Returns rows with `job_id` (or null) and `what`. */
  readonly query: string;
  readonly values?: readonly unknown[];
}

export interface Readable {
  rows<T extends Row>(sql: string, values?: readonly unknown[]): Promise<T[]>;
}

/** The maximum number of violations that one check reports. The first ones are enough to find the cause. */
const maxViolations = 20;

export async function findViolations(
  db: Readable,
  { name, query, values = [] }: Check,
): Promise<Violation[]> {
  const found = await db.rows<{ job_id: string | null; what: string }>(
    `select f.job_id::text, f.what from (${query}) f limit ${maxViolations}`,
    values,
  );
  return found.map(({ job_id, what }) => ({ check: name, what, job: job_id ?? undefined }));
}
