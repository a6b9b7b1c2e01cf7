/** What the tests of imports have in common. */
import { readFile } from "node:fs/promises";
import { defineJob, JobForge } from "@jobforge/sdk-ts";
import { drain, type TestDatabase } from "@jobforge/testing";
import { onTestFinished } from "vitest";
import { type CliRun, json, run } from "../support.ts";

export interface Report {
  readonly imported: number;
  readonly types: readonly {
    readonly from: string;
    readonly type: string;
    readonly waiting: number;
    readonly delayed: number;
    readonly retrying: number;
    readonly schedules: number;
    readonly existing: number;
    readonly running: number;
    readonly failed: number;
    readonly refused: number;
  }[];
  readonly refused: readonly {
    readonly type: string;
    readonly reason: string;
    readonly count: number;
    readonly ids: readonly string[];
  }[];
  readonly notes: readonly string[];
}

/** Runs `jobforge import` without asking. Expects exit code 1 if something was refused. */
export async function importFrom(
  db: TestDatabase,
  args: readonly string[],
  expectedExit = 0,
): Promise<Report> {
  return await json<Report>(["import", ...args, "--yes"], db.url, expectedExit);
}

export async function importText(db: TestDatabase, args: readonly string[]): Promise<CliRun> {
  return await run(["import", ...args], { DATABASE_URL: db.url });
}

/** Runs all due jobs of these types with a worker, and returns the payloads that their handlers got, in that order. */
export async function work(db: TestDatabase, types: readonly string[]): Promise<unknown[]> {
  const forge = new JobForge({ database: db.url });
  onTestFinished(() => forge.close());
  const seen: unknown[] = [];
  const handlers = types.map((type) =>
    defineJob({ type }).handle(async (input) => {
      seen.push(input);
    }),
  );
  await drain(forge, handlers, { concurrency: 1 });
  return seen;
}

/** All jobs of JobForge with what an import sets, by their idempotency keys. */
export async function jobsOf(db: TestDatabase): Promise<Record<string, unknown>[]> {
  return await db.query<Record<string, unknown>>(
    `select type, status, tenant_id, payload, priority, max_attempts, run_at, idempotency_key, dedupe_key,
      concurrency_key, tags
    from jobforge_jobs
    order by type, idempotency_key`,
  );
}

/** Creates the table of River in a database that does not have it. */
export async function createRiver(db: Pick<TestDatabase, "query" | "value">): Promise<void> {
  if (await db.value<boolean>("select to_regclass('river_job') is not null")) return;
  await db.query(await readFile(new URL("river-0.51.0.sql", import.meta.url), "utf8"));
}
