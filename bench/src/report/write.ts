/**
 * Writes results into the documentation: a section of docs/benchmarks.md, one file for each chart, and the figures of
 * docs/scaling.md that are calculated from them.
 */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { RunResults } from "../driver/run.ts";
import { MissingCellError } from "./cells.ts";
import { chartsOf } from "./charts.ts";
import { markdownReport, replaceResults } from "./markdown.ts";
import { replaceSections, scalingSections } from "./scaling.ts";

const docs = fileURLToPath(new URL("../../../docs/", import.meta.url));

export interface Written {
  readonly files: readonly string[];
  /** Why docs/scaling.md keeps its figures: the run has measured only some of the cells. */
  readonly keptScaling?: string;
}

export function writeDocs(results: RunResults, command: string, folder = docs): Written {
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
  try {
    return { files: [page, ...files, writeScaling(text, folder)] };
  } catch (error) {
    if (!(error instanceof MissingCellError)) throw error;
    return { files: [page, ...files], keptScaling: error.message };
  }
}

function writeScaling(benchmarks: string, folder: string): string {
  const path = join(folder, "scaling.md");
  // What has changed since the last run is part of this one.
  const sections = { ...scalingSections(benchmarks), changes: "" };
  writeFileSync(path, replaceSections(readFileSync(path, "utf8"), sections));
  return path;
}
