/** The benchmark of workflows: its graphs end, its kernel without workflows works, and its page is written. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestDatabase } from "@jobforge/testing";
import { describe, expect } from "vitest";
import { test } from "../../test/database.ts";
import { groups, removeWorkflows, rowOf } from "../src/workflows/cells.ts";
import { connect, connectAll, createOf, drainOf, inTurns, type Timed } from "../src/workflows/measure.ts";
import { markdownOf, type Report, textOf, writeReport } from "../src/workflows/report.ts";
import { loopInServer, plainJobs, randomGraph, shapes, withoutWorkflows } from "../src/workflows/shapes.ts";

const context = { pid: undefined };

async function run(db: TestDatabase, sql: string): Promise<Timed> {
  await using settlers = await connectAll(db.url, 2);
  return await drainOf(context, settlers, [sql], 10);
}

describe("the work", () => {
  test.for([
    ["steps without needs", shapes.independent(30), 30],
    ["a join", shapes.join(30), 31],
    ["a map", shapes.map(30), 31],
    ["a map of its input", shapes.mapOfInput(30), 31],
    ["chains", shapes.chains(3, 10), 30],
    ["a random graph", randomGraph(30), 30],
  ] as const)("%s runs to its end", async ([, sql, steps], { db }) => {
    await db.query(loopInServer);
    expect((await run(db, sql)).steps).toBe(steps);
    expect(await db.query("select status from jobforge_workflows")).toEqual([{ status: "succeeded" }]);
  });

  test("a creation is timed and rolled back", async ({ db }) => {
    await using session = await connectAll(db.url, 1);
    const timed = await createOf(context, session, shapes.join(20), 21);
    expect(timed).toMatchObject({ steps: 21, cpu: undefined });
    expect(timed.seconds).toBeGreaterThan(0);
    expect(await db.value("select count(*)::int from jobforge_workflows")).toBe(0);
  });

  test("a kernel without workflows runs plain jobs, and does not look for wakeups", async ({ db }) => {
    await db.query(loopInServer);
    const client = await connect(db.url);
    await removeWorkflows(client);
    await expect(removeWorkflows(client)).rejects.toThrow("jobforge.due_unless_restrained has changed");
    await client.end();
    const functions = withoutWorkflows.map(([name]) => name);
    const left = await db.query(
      "select proname from pg_proc where proname = any ($1) and prosrc ~ '\\mwakeups\\M|step_of_run'",
      [functions],
    );
    expect(left).toEqual([]);
    expect((await run(db, plainJobs(50))).steps).toBe(50);
  });
});

const timed = (seconds: number, cpu?: number): Timed => ({ steps: 100, seconds, cpu });

describe("the report", () => {
  const rows = [
    rowOf("plain", "settle and claim", [[timed(1)], [timed(1.25)]], 0.97),
    rowOf("run", "a join", [[timed(2, 0.02), timed(4, 0.06), timed(1, 0.01)], [timed(1, 0.01)]], 0.6),
  ];
  const report: Report = {
    rows,
    command: "npm run bench:workflows -- --write",
    startedAt: "2026-11-19T21:00:00.000Z",
    seconds: 480,
    rounds: 3,
    machine: { cpu: "Some CPU", cores: 2, memoryGB: 8, system: "linux" },
    postgres: "18.4",
    durability: "fsync = on",
  };

  test("compares the medians of the rounds", () => {
    expect(rows[1]).toMatchObject({
      steps: { perSecond: 50, spread: 0.75, microsPerStep: 200 },
      jobs: { perSecond: 100, spread: 0, microsPerStep: 100 },
      ratio: 0.5,
    });
    expect(rows[0]?.steps.microsPerStep).toBeUndefined();
  });

  test("says which targets are met", () => {
    const text = markdownOf(report);
    expect(text).toContain("- 2026-11-19, 8 minutes, 3 rounds\n- 2 × Some CPU, 8 GB, linux");
    expect(text).toContain("| settle and claim | 100 | 0 % |  | 80 | 0 % |  | 1.25 | ≥ 0.97 | yes |");
    expect(text).toContain("| a join | 50 | 75 % | 200 | 100 | 0 % | 100 | 0.50 | ≥ 0.60 | no |");
    for (const title of Object.values(groups)) expect(textOf(report)).toContain(title);
  });

  test("is written between its markers, and nowhere else", async () => {
    const folder = await mkdtemp(join(tmpdir(), "jobforge-bench-workflows-"));
    try {
      const path = join(folder, "benchmarks.md");
      await writeFile(path, "no markers");
      expect(() => writeReport(report, path)).toThrow("the page must contain the lines");
      const markers = [
        "<!-- workflows: written by `npm run bench:workflows -- --write` -->",
        "<!-- end of workflows -->",
      ];
      await writeFile(path, `before\n${markers.join("\nold\n")}\nafter\n`);
      writeReport(report, path);
      const once = await readFile(path, "utf8");
      expect(once).toMatch(/^before\n[\s\S]*\| a join \|[\s\S]*\nafter\n$/);
      expect(once).not.toContain("old");
      writeReport(report, path);
      expect(await readFile(path, "utf8")).toBe(once);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("rounds are measured in turns, after a warm-up that does not count", async () => {
    const order: string[] = [];
    const measure = (name: string, seconds: number) => async () => {
      order.push(name);
      return timed(seconds);
    };
    const messages: string[] = [];
    const onProgress = (message: string): void => void messages.push(message);
    const [steps, jobs] = await inTurns({ rounds: 2, onProgress }, "x", [measure("a", 1), measure("b", 2)]);
    expect(order.join("")).toBe("ababab");
    expect([steps.length, jobs.length, jobs[0]?.seconds]).toEqual([2, 2, 2]);
    expect(messages).toEqual(["x · warm-up", "x · round 1 of 2", "x · round 2 of 2"]);
  });
});
