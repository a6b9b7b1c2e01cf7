/** The options of createServer. */
import { expect, test } from "vitest";
import { createServer } from "../src/index.ts";
import { readOptions, type Settings } from "../src/options.ts";

test("a secret that is too short and a missing database are refused", () => {
  expect(() => createServer({ database: "postgres://x", jwtSecret: "short" })).toThrow("at least 32 bytes");
  expect(() => createServer({ database: "" })).toThrow("database");
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
