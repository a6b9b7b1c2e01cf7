/** The figures of docs/scaling.md, which are calculated from docs/benchmarks.md. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { MissingCellError } from "../src/report/cells.ts";
import { replaceSections, scalingSections } from "../src/report/scaling.ts";
import { writeDocs } from "../src/report/write.ts";
import { workloads } from "../src/workloads/index.ts";
import { contestant, runResults } from "./results.ts";

const docs = new URL("../../docs/", import.meta.url);
const [benchmarks, scaling] = await Promise.all(
  ["benchmarks.md", "scaling.md"].map((name) => readFile(new URL(name, docs), "utf8")),
);

/** A run in which every cell has the same figures and costs. */
const whole = {
  ...runResults(
    ...workloads.flatMap(({ cells }) =>
      cells.map((cell) => ({
        cell,
        results: ["jobforge", "jobforge on redis", "bullmq on redis"].map((name) => ({
          contestant: name,
          outcomes: [
            {
              figures: Object.fromEntries(
                cell.figures.map(({ key }) => [key, name === "jobforge on redis" ? 1800 : 2000]),
              ),
              cost: {
                ...{ walBytes: 1500, commits: 0.5, deadRows: 2, tableBytes: 300, indexBytes: 100 },
                ...{ serverCpuSeconds: 40e-6, workerCpuSeconds: 20e-6 },
              },
            },
          ],
        })),
      })),
    ),
  ),
  contestants: [contestant("jobforge")],
};

async function writeTo(results: Parameters<typeof writeDocs>[0]) {
  const folder = await mkdtemp(join(tmpdir(), "jobforge-scaling-"));
  try {
    await writeFile(join(folder, "benchmarks.md"), benchmarks ?? "");
    await writeFile(join(folder, "scaling.md"), scaling ?? "");
    const written = writeDocs(results, "npm run bench -- --write", folder);
    return { ...written, page: await readFile(join(folder, "scaling.md"), "utf8") };
  } finally {
    await rm(folder, { recursive: true });
  }
}

test("the page shows the figures of the benchmarks, and what follows from them", () => {
  expect(replaceSections(scaling ?? "", scalingSections(benchmarks ?? ""))).toBe(scaling);
});

test("a run of all cells writes its figures, calculates again, and drops what has changed before it", async () => {
  const { files, keptScaling, page } = await writeTo(whole);
  expect(keptScaling).toBeUndefined();
  expect(files.some((file) => file.endsWith("/scaling.md"))).toBe(true);
  expect(page).toMatch(/in the run of 2026-11-16 on 2 cores with Postgres\s18\.4,/);
  expect(page).toContain("| Run, payloads of 1 kB               | 40               | 20 ");
  // 100 jobs a second.
  expect(page).toMatch(/100\s×\s40\sµs\sis\s0\.004\scores/);
  expect(page).toMatch(/150\skB\sa\ssecond,\sor\s13\sGB\sa\sday/);
  // 10,000 jobs a second: 40 µs for the enqueue, and as much for the run.
  expect(page).toMatch(/10,000\s×\s80\sµs\sis\s0\.8\scores\sof\sthe\sserver/);
  expect(page).toMatch(/10,000\s×\s400\sbytes\sis\s346\sGB\sa\sday/);
  // 1,000,000 jobs a second.
  expect(page).toMatch(/1,000,000\s×\s80\sµs\sis\s80\scores\sof\sservers/);
  expect(page).toMatch(/3\sGB\sof\sWAL\sa\ssecond/);
  expect(page).toMatch(/run\sat\s0\.90\sof\sthe\srate\sof\splain\sBullMQ/);
  expect(page).not.toContain("has changed since that run");
  // What is not calculated stays.
  expect(page).toContain("## Before you scale");
});

test("a run of some cells leaves the page as it is, and says which cell is missing", async () => {
  const [first] = whole.cells;
  const { keptScaling, page } = await writeTo({ ...whole, cells: first === undefined ? [] : [first] });
  expect(keptScaling).toBe(
    'the results have no "server µs/job" of jobforge in "Enqueue one by one, 50 at a time"',
  );
  expect(page).toBe(scaling);
});

test("a page without a section, and results without a date, are errors", () => {
  expect(() => replaceSections("no markers", { costs: "new" })).toThrow(
    'the page must contain the lines "<!-- figures: costs -->" and "<!-- end of costs -->"',
  );
  const undated = (benchmarks ?? "").replaceAll(/^- \d{4}-\d\d-\d\d, /gm, "- ");
  expect(() => scalingSections(undated)).toThrow(MissingCellError);
});
