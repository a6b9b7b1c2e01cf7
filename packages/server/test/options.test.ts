/** The options of createServer. */
import { expect, test } from "vitest";
import { createServer } from "../src/index.ts";
import { readOptions, type Settings } from "../src/options.ts";

test("a secret that is too short and a missing database are refused", () => {
  expect(() => createServer({ database: "postgres://x", jwtSecret: "short" })).toThrow("at least 32 bytes");
  expect(() => createServer({ database: "" })).toThrow("database");
});

test("a proxy is given by how many append the address, or by the header that has it", () => {
  const trustProxyOf = (trustProxy: Settings["trustProxy"]): Settings["trustProxy"] =>
    readOptions({ database: "postgres://x", trustProxy }).trustProxy;
  for (const wrong of [0, -1, 1.5, Number.NaN, "", "x forwarded", "x:y"])
    expect(() => trustProxyOf(wrong), String(wrong)).toThrow("trustProxy");
  for (const right of [false, 1, 2, "cf-connecting-ip"] as const) expect(trustProxyOf(right)).toBe(right);
});

test("a caller may hold half of the connections, unless the options say otherwise", () => {
  const partOf = (options: Partial<Settings>): number =>
    readOptions({ database: "postgres://x", ...options }).connectionsPerCaller;
  expect(
    [{}, { poolSize: 1 }, { poolSize: 5 }, { poolSize: 5, connectionsPerCaller: 4 }].map(partOf),
  ).toEqual([5, 1, 3, 4]);
});

test("an origin that no browser sends is refused", () => {
  const open = (origin: string): Settings => readOptions({ database: "postgres://x", corsOrigins: [origin] });
  for (const origin of [
    "https://x.example/path",
    "https://x.example/",
    "https://X.example",
    "https://x.example:443",
    "https://me@x.example",
    "x.example",
    "*",
    "",
  ])
    expect(() => open(origin), origin).toThrow("corsOrigins");
  for (const origin of ["https://x.example", "http://localhost:3000", "http://[::1]:8080", "app://localhost"])
    expect(open(origin).corsOrigins).toEqual([origin]);
});
