/** What a browser loads for the first page, and for each further one, after gzip. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { beforeAll, expect, test } from "vitest";
import { buildDashboard } from "./support/scene.ts";

interface Chunk {
  readonly file: string;
  readonly isEntry?: boolean;
  readonly imports?: readonly string[];
  readonly dynamicImports?: readonly string[];
  readonly css?: readonly string[];
}

let folder = "";
let chunks: Readonly<Record<string, Chunk>> = {};
beforeAll(async () => {
  folder = await buildDashboard();
  chunks = JSON.parse(await readFile(join(folder, "manifest.json"), "utf8")) as typeof chunks;
});

const sizeOf = async (file: string): Promise<number> =>
  gzipSync(await readFile(join(folder, file)), { level: 9 }).length;

/** A chunk and everything that it imports. */
function filesOf(name: string, seen = new Set<string>()): Set<string> {
  const chunk = chunks[name];
  if (chunk === undefined || seen.has(chunk.file)) return seen;
  seen.add(chunk.file);
  for (const css of chunk.css ?? []) seen.add(css);
  for (const next of chunk.imports ?? []) filesOf(next, seen);
  return seen;
}

const sum = async (files: Iterable<string>): Promise<number> =>
  (await Promise.all([...files].map(sizeOf))).reduce((total, size) => total + size, 0);

test("the first load is at most 90 kB, with all styles", async () => {
  const first = filesOf("index.html");
  for (const { file } of Object.values(chunks)) if (file.endsWith(".css")) first.add(file);
  expect((await sum([...first, "index.html"])) / 1000).toBeLessThan(90);
});

test("each further page is at most 30 kB, and charts 25 kB", async () => {
  const first = filesOf("index.html");
  const late = Object.entries(chunks).filter(([, { file }]) => file.endsWith(".js") && !first.has(file));
  expect(late.length).toBeGreaterThan(12);
  for (const [name, { file: own }] of late) {
    // What a chart imports besides uPlot is part of each page that has charts.
    const isChart = name.includes("Plot");
    const files = isChart ? [own] : [...filesOf(name)].filter((file) => !first.has(file));
    expect((await sum(files)) / 1000, `${name}: ${files.join()}`).toBeLessThan(isChart ? 25 : 30);
  }
});
