import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { withoutHistory } from "../src/driver/peers.ts";
import { readOptions } from "../src/options.ts";
import { chartsOf } from "../src/report/charts.ts";
import { jsonReport } from "../src/report/json.ts";
import { markdownReport, replaceResults, table } from "../src/report/markdown.ts";
import { barChart, lineChart, roundUp } from "../src/report/svg.ts";
import { judge } from "../src/report/targets.ts";
import { textReport } from "../src/report/text.ts";
import { writeDocs } from "../src/report/write.ts";
import { cell, rounds, runResults } from "./results.ts";

const burn = cell("burn-down-1", rounds("jobforge", 300, 310, 290), rounds("pg-boss", 30, 31, 29), {
  contestant: "graphile-worker",
  outcomes: [],
  unsupported: "it is on holiday",
});
const results = runResults(burn);

describe("the report", () => {
  test("shows medians, ratios, costs, unsupported cells and missing peers with their reasons", () => {
    const text = textReport(results);
    expect(text).toMatch(/jobforge +300 +3 % +30/);
    expect(text).toMatch(/pg-boss +30 +3 % +10\.00×/);
    expect(text).toContain("graphile-worker does not support this: it is on holiday");
    expect(text).toContain("river did not take part: Go is not installed");
    expect(text).toContain("jobforge 1.2.3: the usual | of them; keeps nothing");
  });

  test("is also available as JSON, with the value of every round", () => {
    const json = JSON.parse(JSON.stringify(jsonReport(results, "npm run bench")));
    expect(json).toMatchObject({
      command: "npm run bench",
      missing: [{ name: "river", reason: "Go is not installed" }],
      cells: [
        {
          id: "burn-down-1",
          results: [
            { contestant: "jobforge", figures: { rate: { median: 300, low: 290, high: 310 } } },
            { contestant: "pg-boss", jobforgeDividedByPeer: { rate: 10 }, cost: { walBytes: 3 } },
            { contestant: "graphile-worker", unsupported: "it is on holiday" },
          ],
        },
      ],
    });
    expect(json.cells[0].results[1].figures.rate.values).toEqual([30, 31, 29]);
  });

  test("judges targets by ratios of this run, and shows which were not measured", () => {
    const target = "burn-down with history: at least 1.6× pg-boss";
    const judged = judge(results);
    expect(judged.find(({ text }) => text === target)).toMatchObject({ measured: 10, met: true });
    expect(judged.find(({ text }) => text.includes("graphile-worker"))?.met).toBeUndefined();
    const slow = judge(runResults(cell("burn-down-1", rounds("jobforge", 15), rounds("pg-boss", 10))));
    expect(slow.find(({ text }) => text === target)).toMatchObject({ measured: 1.5, met: false });
  });

  test("judges the server's time by the cost per job", () => {
    const costing = (contestant: string, serverCpuSeconds: number) => ({
      contestant,
      outcomes: [{ figures: { p50: 1 }, cost: { serverCpuSeconds } }],
    });
    const judged = judge(
      runResults(cell("steady-500", costing("jobforge", 0.0006), costing("river", 0.0005))),
    );
    const target = judged.find(({ text }) => text.includes("server time per job: at most 1× river"));
    expect(target?.measured).toBeCloseTo(1.2);
    expect(target?.met).toBe(false);
  });

  test("compares JobForge without history with a peer that deletes jobs", () => {
    const both = cell("burn-down-1", rounds(withoutHistory, 24), rounds("graphile-worker", 10));
    const target = judge(runResults(both)).find(({ text }) => text.startsWith("burn-down without history"));
    expect(target).toMatchObject({ measured: 2.4, met: true });
  });

  test("compares bulk enqueue with the fastest peer only", () => {
    const bulk = cell("enqueue-bulk", rounds("jobforge", 300), rounds("pg-boss", 50), rounds("river", 150));
    const target = judge(runResults(bulk)).find(({ text }) => text.startsWith("bulk"));
    expect(target).toMatchObject({ measured: 2, met: true });
  });
});

describe("the page", () => {
  const page =
    "before\n<!-- results: written by `npm run bench -- --write` -->\nold\n<!-- end of results -->\nafter\n";

  test("gets new results in place of the old ones, any number of times", () => {
    const once = replaceResults(page, "new");
    expect(once).toContain("before\n");
    expect(once).toContain("\nnew\n");
    expect(once).toContain("\nafter\n");
    expect(once).not.toContain("old");
    expect(replaceResults(once, "new")).toBe(once);
  });

  test("without the markers is an error", () => {
    expect(() => replaceResults("no markers", "new")).toThrow(/the page must contain the lines/);
  });

  test("shows machine, versions, date and command", () => {
    const text = markdownReport(results, [], "npm run bench -- --write");
    expect(text).toContain("`npm run bench -- --write`");
    expect(text).toContain("2026-11-16");
    expect(text).toContain("2 × Some CPU");
    expect(text).toContain("Postgres 18.4 (fsync = on)");
    expect(text).toContain("**river** did not take part: Go is not installed");
    expect(text).toContain("| pg-boss | 1.2.3 | the usual \\| of them | nothing |");
  });

  test("shows first how contestants do at their default settings", () => {
    expect(markdownReport(results, [], "")).not.toContain("default settings");
    const burned = cell(
      "burn-down-1",
      rounds("jobforge", 300),
      rounds("pg-boss", 200),
      rounds("pg-boss, defaults", 3),
    );
    const text = markdownReport(runResults(burned), [], "");
    expect(text).toContain("| pg-boss | 3 | 100.00× | – |  |");
    expect(text.indexOf("### At their default settings")).toBeLessThan(text.indexOf("### Targets"));
  });

  test("has tables in which all rows have as many cells as the head", () => {
    expect(table(["a", "b"], [["1"], ["2", "3"]])).toBe("| a | b |\n| --- | --- |\n| 1 |  |\n| 2 | 3 |");
  });

  test("is written with its charts", async () => {
    const folder = await mkdtemp(join(tmpdir(), "jobforge-bench-docs-"));
    try {
      await writeFile(join(folder, "benchmarks.md"), page);
      const { files, keptScaling } = writeDocs(results, "npm run bench", folder);
      expect(keptScaling).toContain('in "Enqueue one by one, 1 at a time"');
      expect(files.map((file) => file.slice(folder.length))).toEqual([
        "/benchmarks.md",
        "/benchmarks/burn-down.svg",
      ]);
      expect(await readFile(join(folder, "benchmarks.md"), "utf8")).toContain("](benchmarks/burn-down.svg)");
      expect(await readFile(join(folder, "benchmarks/burn-down.svg"), "utf8")).toMatch(/^<svg .*<\/svg>\n$/s);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("a chart", () => {
  test("has a scale that ends at a round number", () => {
    expect([0, 0.3, 1, 1.1, 4_999, 5_001, 60_000].map(roundUp)).toEqual([
      1, 0.5, 1, 2, 5_000, 10_000, 100_000,
    ]);
  });

  test("of lines has one line per series, is higher for larger values, and skips missing values", () => {
    const svg = lineChart({
      title: "A & B",
      unit: "jobs/s",
      across: "processes",
      steps: ["1", "2", "4"],
      series: [
        { name: "jobforge", values: [10, 50, 100] },
        { name: "<peer>", values: [10, undefined, 5] },
      ],
    });
    const lines = [...svg.matchAll(/<polyline points="([^"]*)"/g)].map((match) =>
      (match[1] ?? "").split(" ").map((point) => point.split(",").map(Number)),
    );
    expect(lines.map((points) => points.length)).toEqual([3, 2]);
    const heights = (lines[0] ?? []).map(([, y]) => y ?? 0);
    expect(heights).toEqual(heights.toSorted((a, b) => b - a));
    expect(lines[0]?.[0]).toEqual(lines[1]?.[0]);
    expect(svg).toContain("A &amp; B");
    expect(svg).toContain("&lt;peer&gt;");
    expect(svg).not.toContain("<peer>");
  });

  test("of bars has bars in proportion to their values", () => {
    const svg = barChart({
      title: "t",
      unit: "u",
      bars: [
        { name: "jobforge", value: 40 },
        { name: "peer", value: 10 },
      ],
    });
    const widths = [...svg.matchAll(/<rect [^>]*width="([\d.]+)"/g)].map((match) => Number(match[1]));
    expect(widths[0]).toBeCloseTo((widths[1] ?? 0) * 4, 0);
  });

  test("is drawn only if its cells were measured", () => {
    expect(chartsOf(results).map(({ file }) => file)).toEqual(["burn-down.svg"]);
    const two = runResults(burn, cell("burn-down-16", rounds("jobforge", 600), rounds("pg-boss", 60)));
    expect(chartsOf(two).map(({ file }) => file)).toEqual(["burn-down.svg", "scaling.svg"]);
  });
});

describe("options", () => {
  test("default to the full run, and a quick run has fewer of the same workloads", () => {
    const [all, quick] = [readOptions([]), readOptions(["--quick", "--json"])];
    if (all === "help" || quick === "help") throw new Error("expected options, not help");
    expect(all).toMatchObject({ quick: false, json: false, rounds: 3 });
    expect(quick).toMatchObject({ quick: true, json: true });
    expect(all.workloads).toEqual(expect.arrayContaining([...quick.workloads]));
    expect(all.workloads.length).toBeGreaterThan(quick.workloads.length);
  });

  test("choose workloads, also by the name of a cell, and peers, in addition to JobForge", () => {
    const options = readOptions([
      "--only",
      "enqueue-bulk,flood",
      "--peers",
      "bullmq-on-redis",
      "--rounds",
      "5",
    ]);
    if (options === "help") throw new Error("expected options, not help");
    expect(options.workloads.map(({ id }) => id)).toEqual(["burn-down-1", "flood"]);
    expect(options.peers.map(({ name }) => name)).toEqual(["jobforge", "bullmq on redis"]);
    expect(options.rounds).toBe(5);
  });

  test.each([
    [["--only", "nonsense"], /--only: "nonsense" is unknown. Known: enqueue-1/],
    [["--peers", "nonsense"], /--peers: "nonsense" is unknown. Known: jobforge/],
    [["--rounds", "0"], /--rounds must be a whole number/],
    [["--unknown"], /--unknown/],
  ])("of %j are rejected", (args, message) => {
    expect(() => readOptions(args)).toThrow(message);
  });
});
