/** Shorthands for schedules. */
import { expect } from "vitest";
import { claim, type Job, type Sql, T } from "./kernel.ts";

/** A row of the view jobforge_schedules. */
export type Schedule = {
  id: string;
  tenant_id: string;
  type: string;
  key: string;
  kind: "cron" | "every" | "dynamic";
  enabled: boolean;
  next_run_at: Date | null;
  running_since: Date | null;
  last_run_at: Date | null;
  last_scheduled_for: Date | null;
  last_status: string | null;
  last_error: string | null;
  consecutive_failures: number;
  run_requested: boolean;
  live_runs: number;
  payload: unknown;
  priority: number;
  updated_at: Date;
};

/** A schedule as calls return it, with times as text. */
export type ScheduleResult = Omit<Schedule, "next_run_at"> & {
  next_run_at: string | null;
  outcome?: "created" | "existing" | "updated";
};

/** The tenant, type and key of a schedule. By default T, 'fetch' and "feed". */
export interface Which {
  tenant?: string | null;
  type?: string | null;
  key?: string | null;
}

const names = ({ tenant = T, type = "fetch", key = "feed" }: Which): unknown[] => [tenant, type, key];

/** Ensures a schedule, by default a dynamic one. */
export async function ensure(
  db: Sql,
  options: unknown = { dynamic: true },
  which: Which = {},
): Promise<ScheduleResult> {
  return await db.value<ScheduleResult>("select jobforge_ensure_schedule($1, $2, $3, $4)", [
    ...names(which),
    options === null ? null : JSON.stringify(options),
  ]);
}

export async function update(db: Sql, changes: unknown, which: Which = {}): Promise<ScheduleResult> {
  return await db.value<ScheduleResult>("select jobforge_update_schedule($1, $2, $3, $4)", [
    ...names(which),
    JSON.stringify(changes),
  ]);
}

type Verb = "enable" | "disable" | "lock" | "run" | "delete";

/** Enables, disables, locks, runs or deletes a schedule. */
export async function steer(db: Sql, verb: Verb, which: Which = {}): Promise<ScheduleResult> {
  return await db.value<ScheduleResult>(`select jobforge_${verb}_schedule($1, $2, $3)`, names(which));
}

/** Returns the schedule as the view shows it. Fails the test if it is missing. */
export async function schedule(db: Sql, which: Which = {}): Promise<Schedule> {
  const rows = await db.query<Schedule>(
    "select * from jobforge_schedules where tenant_id = $1 and type = $2 and key = $3",
    names(which),
  );
  expect(rows, "rows of the schedule").toHaveLength(1);
  return rows[0] as Schedule;
}

/** A job that is a run of a schedule. */
export type Run = Job & { schedule_id: string; scheduled_for: Date };

/** Claims the only due run. Fails the test unless exactly one run is due. */
export async function claimRun(db: Sql, worker = "w1", types: readonly string[] | null = null): Promise<Run> {
  const runs = (await claim(db, worker, { types })) as Run[];
  expect(runs, "due runs").toHaveLength(1);
  return runs[0] as Run;
}

/** Returns the runs of a schedule, newest first. */
export async function runsOf(db: Sql, filters: unknown = {}, which: Which = {}): Promise<Run[]> {
  return await db.query<Run>("select * from jobforge_list_schedule_runs($1, $2, $3, $4)", [
    ...names(which),
    JSON.stringify(filters),
  ]);
}

/** Returns the time `interval` from now, by the connection's clock. */
export async function inTime(db: Sql, interval: string): Promise<Date> {
  return await db.value<Date>("select date_trunc('milliseconds', jobforge.now() + $1::interval)", [interval]);
}

/** Creates many due schedules with the keys '1' to `count`: one by the kernel, and copies of it. */
export async function manyDue(db: Sql, count: number): Promise<void> {
  await ensure(db, { cron: "0 0 * * *", next_run_at: "2020-01-01T00:00:00Z" }, { key: "1" });
  await db.query(
    `insert into jobforge.schedules
     select (jsonb_populate_record(s, jsonb_build_object('id', jobforge.new_id(), 'key', n::text))).*
     from jobforge.schedules s, generate_series(2, $1::int) n
     where s.key = '1'`,
    [count],
  );
}
