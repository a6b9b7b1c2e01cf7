/**
 * Plans that do not age. A session calls every function on empty tables until its plans are made; then the tables fill up, and
 * nobody analyses them. It must go on without reading a table from end to end, told by auto_explain and by Postgres's counters.
 */
import { cloneDatabase, type TestDatabase } from "@jobforge/testing";
import { afterAll, beforeAll, describe, expect, inject } from "vitest";
import { test } from "../../../test/database.ts";
import { buffersOf, explainEverything, nodesOf } from "../support/explain.ts";
import { fillTables, prepareTables, runningJobs, tenantCount } from "../support/full-tables.ts";
import { type Call, callEverything } from "../support/tour.ts";

/** So often that every cached plan is the one for all parameters. */
const roundsOnEmpty = 7;
const roundsAfter = 6;
/** A scan of the live jobs or of a leaf of the archive is over 2,000 buffers then. */
const rowCount = 100_000;
const liveRowsOfTenant = rowCount / tenantCount;
const fewBuffers = 1800;

/** Calls that may do a slice of maintenance, or read or wake everybody by their nature, */
const maintainsOrWakes = /^(claim_jobs, nothing there|claim_jobs, paused|heartbeat_worker|maintain|set_gate)/;
/** and the tables that they may then read whole: settings, and what is done with soon. */
const readWhole = /^(outbox|watches|workers|policies|leaves|gates|idle_workers|cancel_requests|\w+_default)$/;
const tagsList = /^list_jobs \{"tags"/;
const oneJob = /^(enqueue|heartbeat|progress|complete|defer|cancel|reschedule|update|get|watch)_job\b/;

describe("with plans made on empty tables, after 100,000 rows have come into each", () => {
  let db: TestDatabase;
  const calls: Call[] = [];
  let scans: string[] = [];

  beforeAll(async () => {
    db = await cloneDatabase(inject("server"));
    await prepareTables(db);
    const session = await db.connect();
    const explaining = await explainEverything(session);
    for (let round = 0; round < roundsOnEmpty; round += 1) await callEverything(explaining, round);
    await fillTables(db, rowCount);
    await db.query("select pg_stat_force_next_flush()");
    const before = await sequentialReads(db);
    for (let round = 0; round < roundsAfter; round += 1)
      calls.push(...(await callEverything(explaining, roundsOnEmpty + round)));
    await session.query("select pg_stat_force_next_flush()");
    const after = await sequentialReads(db);
    scans = [...after].filter(([table, rows]) => rows > (before.get(table) ?? 0)).map(([table]) => table);
  });
  afterAll(() => db.drop());

  /**
   * What calls cost more than they may, dearest first. The least of all rounds counts: when other sessions change many tables,
   * Postgres makes this one forget its catalog, and to read that again costs thousands of buffers.
   */
  const over = (bound: number, which: (name: string) => boolean): string[] => {
    const least = new Map<string, number>();
    for (const { name, explained } of calls.filter((call) => which(call.name)))
      least.set(name, Math.min(least.get(name) ?? Number.POSITIVE_INFINITY, buffersOf(explained)));
    expect(least.size).toBeGreaterThan(0);
    return [...least]
      .filter(([, buffers]) => buffers >= bound)
      .sort(([, a], [, b]) => b - a)
      .map(([name, buffers]) => `${name}: ${buffers} buffers`);
  };

  test("no statement of any function reads a table that grows sequentially", () => {
    const statements = calls.flatMap(({ explained }) => explained.statements);
    expect(statements.length, "statements inside of the functions are told").toBeGreaterThan(
      10 * calls.length,
    );
    expect([...new Set(calls.flatMap(sequentialScans))]).toEqual([]);
  });

  test("Postgres has counted no sequentially read row of a table that grows", () => {
    expect(scans.filter((table) => !readWhole.test(table))).toEqual([]);
  });

  // Some dozens, and on a busy server some hundreds of the catalog: a leaf that was forgotten is opened again.
  test("a call about one job touches a few hundred buffers at most", () => {
    expect(over(1000, (name) => oneJob.test(name))).toEqual([]);
  });

  test("a call about many jobs, or a page of them, touches buffers for those", () => {
    const many = (name: string): boolean =>
      ![oneJob, maintainsOrWakes, tagsList].some((kind) => kind.test(name));
    expect(over(fewBuffers, many)).toEqual([]);
  });

  test("a page of a tenant's tagged jobs walks no more than its own live jobs, whose tags are not indexed", () => {
    expect(over(liveRowsOfTenant + fewBuffers, (name) => tagsList.test(name))).toEqual([]);
  });

  test("upkeep touches buffers for what runs, not for what waits or has ended", () => {
    expect(over(10 * runningJobs + 2500, (name) => maintainsOrWakes.test(name))).toEqual([]);
  });
});

/** The sequential scans in a call's plans, executed or not. */
function sequentialScans({ name, explained }: Call): string[] {
  return explained.statements.flatMap(({ text, plan }) =>
    nodesOf(plan)
      .filter((node) => node["Node Type"].endsWith("Seq Scan") && node.Schema === "jobforge")
      .map((node) => node["Relation Name"] ?? "")
      .filter((table) => !(maintainsOrWakes.test(name) && readWhole.test(table)))
      .map((table) => `${name}: ${table}, in: ${text.replaceAll(/\s+/g, " ").trim().slice(0, 100)}`),
  );
}

/** Rows read by sequential scans so far, by table. */
async function sequentialReads(db: TestDatabase): Promise<Map<string, number>> {
  const rows = await db.query<{ table: string; rows: string }>(
    `select relname as table, seq_tup_read as rows from pg_stat_user_tables where schemaname = 'jobforge'`,
  );
  return new Map(rows.map(({ table, rows: read }) => [table, Number(read)]));
}
