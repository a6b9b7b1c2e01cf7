/** docs/reference/http.md lists every operation, option and metric. */
import { readFileSync } from "node:fs";
import { expect } from "vitest";
import { sign, test } from "./support/server.ts";

const read = (path: string): string => readFileSync(new URL(path, import.meta.url), "utf8");
const reference = read("../../../docs/reference/http.md");

test("the reference lists exactly the operations of the REST API", async ({ http }) => {
  const { paths } = (await (await http.request("/v1/openapi.json")).json()) as {
    paths: Record<string, object>;
  };
  const operations = Object.entries(paths).flatMap(([path, item]) =>
    Object.keys(item).map((method) => `${method.toUpperCase()} ${path}`),
  );
  const named = [...reference.matchAll(/^\| `([A-Z]+ \/v1\/\S+)`/gm)].map(([, operation]) => operation);
  expect(named.sort()).toEqual(operations.sort());
});

test("the reference lists every option", () => {
  const [, declared = ""] =
    /export interface ServerOptions \{([\s\S]*?)^\}/m.exec(read("../src/options.ts")) ?? [];
  const options = [...declared.matchAll(/readonly (\w+)\?/g)].map(([, name]) => name);
  expect(options.length).toBeGreaterThan(10);
  const named = [...reference.matchAll(/^\| `(\w+)` +\|/gm)].map(([, name]) => name);
  expect(named).toEqual(expect.arrayContaining(options));
});

test("the reference lists exactly the metrics of the server", async ({ http }) => {
  const response = await http.request("/metrics", { token: await sign({ role: "jobforge_reader" }) });
  const metrics = [...(await response.text()).matchAll(/^# TYPE (jobforge_\S+)/gm)].map(([, name]) => name);
  const named = [...reference.matchAll(/^\| `(jobforge_(?!worker_)\w+)`/gm)].map(([, name]) => name);
  expect(named.sort()).toEqual(metrics.sort());
});
