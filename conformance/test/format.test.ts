/** The scenarios as data: their form, what they cover, and what the runner does with those that fail. */
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { expectFailure, readList } from "../runner/known-failing.ts";
import { type Loaded, loadScenarios, readScenario } from "../runner/load.ts";
import { differences } from "../runner/match.ts";
import { notSupported } from "../runner/not-supported.ts";
import { type Ability, scenario } from "../runner/scenario.ts";
import { canPlay, crossArea } from "../runner/suite.ts";
import { type Target, targets } from "../runner/targets.ts";
import { resolve, secondsOf } from "../runner/values.ts";

const folder = join(import.meta.dirname, "..");
const scenarios = loadScenarios();
const now = Date.parse("2030-01-01T00:00:00Z");

/** What the workers and clients of all languages share. Each area has a scenario for every target that can play it. */
const areas = [
  "queue",
  "cancel",
  "retries",
  "isolation",
  "gates",
  "defer",
  "identity",
  "lanes",
  "heartbeat",
  "wake",
  "outage",
  "ends",
  "lost-lease",
  "verdicts",
  "deaf-handlers",
  "values",
  "errors",
  "context",
  "transaction",
  "policies",
  "schedules",
  "tick",
  "shutdown",
  "logs",
  "hooks",
  "sdk",
  "workflows",
  "durable",
  crossArea,
];

test("every area of shared behaviour has scenarios, and every scenario has an area", () => {
  expect([...new Set(scenarios.map(({ area }) => area))].sort()).toEqual([...areas].sort());
  expect(scenarios.length).toBeGreaterThanOrEqual(60);
});

describe("what all languages share", () => {
  const behaviours = z
    .array(
      z.strictObject({
        behaviour: z.string(),
        scenarios: z.array(z.string()).default([]),
        tests: z.array(z.string()).default([]),
      }),
    )
    .parse(parse(readFileSync(join(folder, "behaviours.yaml"), "utf8")));
  const isOf = (path: string, named: string): boolean =>
    named.endsWith("/") ? path.startsWith(named) : path === named;

  test.each(behaviours)("$behaviour has proof in every language", ({ scenarios: named, tests }) => {
    for (const each of named)
      expect(
        scenarios.some(({ path }) => isOf(path, each)),
        each,
      ).toBe(true);
    for (const each of tests) expect(existsSync(join(folder, "..", each)), each).toBe(true);
    const languages = new Set(tests.map((each) => each.split("/")[0]));
    expect(named.length > 0 || languages.size === 2).toBe(true);
    expect([0, 2]).toContain(languages.size);
  });

  test("every scenario is the proof of one of them", () => {
    const named = behaviours.flatMap((each) => each.scenarios);
    const others = scenarios.filter(({ path }) => !named.some((each) => isOf(path, each)));
    expect(others.map(({ path }) => path)).toEqual([]);
  });
});

test("no two scenarios have the same name", () => {
  const names = scenarios.map((loaded) => loaded.scenario.name);
  expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
});

test("every scenario can be played by a target", () => {
  const all = Object.values<Target>(targets);
  const canPlay = (needs: readonly Ability[]): boolean =>
    all.some(({ abilities }) => needs.every((need) => abilities.includes(need)));
  for (const { path, scenario } of scenarios) expect(canPlay(scenario.needs), path).toBe(true);
});

describe.each([targets["ts-redis"], targets["ts-redis-cluster"]])("on $name", (target: Target) => {
  const own = scenarios.filter(({ area }) => area !== crossArea);

  test("every scenario is played, or there is a reason why it is not", () => {
    const reasonOf = ({ path, scenario }: Loaded): string | undefined =>
      notSupported.scenarios.get(path) ??
      scenario.needs
        .filter((need) => !target.abilities.includes(need))
        .map((need) => notSupported.abilities[need])
        .at(0);
    for (const loaded of own) expect(canPlay(target, loaded) || reasonOf(loaded), loaded.path).toBeTruthy();
    expect(own.filter((loaded) => canPlay(target, loaded)).length).toBeGreaterThan(60);
  });

  test("the reasons name scenarios that exist and abilities that are missing, and none twice", () => {
    const paths = new Set(own.map(({ path }) => path));
    for (const path of notSupported.scenarios.keys()) expect(paths.has(path), path).toBe(true);
    for (const ability of Object.keys(notSupported.abilities))
      expect(targets["ts-redis-cluster"].abilities).not.toContain(ability);
  });
});

test("schema.json is the form of scenarios; run with --update to write it", async () => {
  const schema = z.toJSONSchema(scenario, { io: "input" });
  await expect(`${JSON.stringify(schema, undefined, 2)}\n`).toMatchFileSnapshot(join(folder, "schema.json"));
});

test("a scenario with an unknown key is refused with its place", () => {
  const text = "name: x\nsteps:\n  - do: enqueue\n    wiht: { type: a }\n";
  expect(() => readScenario(text, "a/b")).toThrow(/a\/b is not a scenario[\s\S]*steps\[0\]/);
});

describe("known failures", () => {
  const lists = readdirSync(join(folder, "known-failing"));

  test("there is a list for each target, and it names only scenarios", () => {
    expect(lists.sort()).toEqual(
      Object.keys(targets)
        .map((name) => `${name}.txt`)
        .sort(),
    );
    const paths = new Set(scenarios.map(({ path }) => path));
    for (const list of lists)
      for (const path of readList(readFileSync(join(folder, "known-failing", list), "utf8")))
        expect(paths.has(path), `${list}: ${path}`).toBe(true);
  });

  test("a scenario that fails is tolerated while it is listed, and one that passes is not", async () => {
    expect([...readList("# why\nqueue/a\n\n  retries/b # because\n")]).toEqual(["queue/a", "retries/b"]);
    await expectFailure("queue/a", () => Promise.reject(new Error("no")));
    await expect(expectFailure("queue/a", () => Promise.resolve())).rejects.toThrow("queue/a passes now");
  });
});

describe("an expectation", () => {
  const holds = (expected: unknown, actual: unknown): boolean =>
    differences(expected, actual, { now }).length === 0;

  test.for<[string, unknown, unknown, unknown]>([
    ["a value", 1, 1, 2],
    ["an object, of which other keys do not matter", { a: 1 }, { a: 1, b: 2 }, { a: 2 }],
    ["an array, element by element", [1, { a: 1 }], [1, { a: 1, b: 2 }], [1]],
    ["null, which may be missing", { a: null }, {}, { a: 0 }],
    ["$any", { a: { $any: true } }, { a: 0 }, { a: null }],
    ["$absent", { a: { $absent: true } }, {}, { a: 0 }],
    ["$type", { $type: "string" }, "x", 1],
    ["$match", { $match: "^a.c$" }, "abc", "abcd"],
    ["$not", { $not: { a: 1 } }, { a: 2 }, { a: 1 }],
    ["$oneOf", { $oneOf: [1, 2] }, 2, 3],
    ["$exactly", { $exactly: { a: 1 } }, { a: 1 }, { a: 1, b: 2 }],
    ["$min", { $min: 2 }, 2, 1],
    ["$max", { $max: 2 }, 2, 3],
    ["$length", { $length: 2 }, [1, 2], [1]],
    ["$every", { $every: { a: 1 } }, [{ a: 1 }, { a: 1 }], [{ a: 1 }, { a: 2 }]],
    ["$anyOrder", { $anyOrder: [1, { a: 1 }] }, [{ a: 1 }, 1], [1, 1]],
    ["$near now", { $near: { seconds: 10, within: 1 } }, "2030-01-01T00:00:10.5Z", "2030-01-01T00:00:12Z"],
    [
      "$near another time",
      { $near: { of: "2031-01-01T00:00:00Z", seconds: 0, within: 1 } },
      "2031-01-01T01:00:00+01:00",
      "2031-01-01T00:00:02Z",
    ],
  ])("of %s", ([, expected, right, wrong]) => {
    expect(holds(expected, right)).toBe(true);
    expect(holds(expected, wrong)).toBe(false);
  });

  test("of an operator that does not exist is a mistake", () => {
    expect(() => holds({ $any_order: [] }, [])).toThrow("$any_order");
  });
});

test("references, times, tenants and texts are replaced before a request is sent", () => {
  const scope = { saved: new Map<string, unknown>([["jobs", [{ id: "x" }]]]), now: () => now };
  const given = {
    tenant: "T",
    payload: { tenant_id: "U", name: "T" },
    id: { $ref: "jobs.0.id" },
    run_at: { $time: 60 },
    long: { $repeat: ["ab", 2] },
    lone: { $units: [97, 0xd800] },
  };
  expect(resolve(given, scope)).toEqual({
    tenant: "11111111-1111-4111-8111-111111111111",
    payload: { tenant_id: "22222222-2222-4222-8222-222222222222", name: "T" },
    id: "x",
    run_at: "2030-01-01T00:01:00.000Z",
    long: "abab",
    lone: "a\ud800",
  });
  expect(() => resolve({ $ref: "job.id" }, scope)).toThrow("no step before");
  expect(["11 seconds", "1 minute", "2 hours", "3 days"].map(secondsOf)).toEqual([11, 60, 7200, 259_200]);
});
