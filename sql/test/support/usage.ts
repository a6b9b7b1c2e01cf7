/** Shorthands for metering. */
import type { Sql } from "./kernel.ts";

/** Moves the clock of a connection to a time. */
export async function at(db: Sql, time: string): Promise<void> {
  await db.query(
    "select set_config('jobforge.clock_offset', ($1::timestamptz - clock_timestamp())::text, false)",
    [time],
  );
}

/** Runs all maintenance once, and returns what it did. */
export async function maintain(db: Sql): Promise<Record<string, unknown>> {
  return await db.value<Record<string, unknown>>("select jobforge_maintain(10000)");
}

/** Returns the total usage in one row of numbers. */
export async function usage(db: Sql): Promise<Record<string, unknown> | undefined> {
  const [row] = await report(db, { p_from: "2020-01-01", p_to: "2090-01-01", p_bucket: "total", p_by: [] });
  return row;
}

/** Returns the rows of jobforge_report_usage, with counts as numbers. */
export async function report(db: Sql, args: Record<string, unknown>): Promise<Record<string, unknown>[]> {
  const names = Object.keys(args).map((name, index) => `${name} => $${index + 1}`);
  const rows = await db.query<Record<string, unknown>>(
    `select * from jobforge_report_usage(${names.join(", ")})`,
    Object.values(args),
  );
  return rows.map((row) =>
    Object.fromEntries(
      Object.entries(row).map(([name, value]) => [
        name,
        typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value,
      ]),
    ),
  );
}
