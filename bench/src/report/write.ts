/** Writes results into the documentation: a section of the page, and one file for each chart. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunResults } from "../driver/run.ts";
import { chartsOf } from "./charts.ts";
import { markdownReport, replaceResults } from "./markdown.ts";

const docs = fileURLToPath(new URL("../../../docs/", import.meta.url));

/** Returns the paths of the files it wrote. */
export function writeDocs(results: RunResults, command: string, folder = docs): string[] {
  const page = join(folder, "benchmarks.md");
  const charts = chartsOf(results);
  const text = replaceResults(readFileSync(page, "utf8"), markdownReport(results, charts, command));
  mkdirSync(join(folder, "benchmarks"), { recursive: true });
  const files = charts.map(({ file, svg }) => {
    const path = join(folder, "benchmarks", file);
    writeFileSync(path, svg);
    return path;
  });
  writeFileSync(page, text);
  return [page, ...files];
}
