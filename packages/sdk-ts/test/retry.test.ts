/** The waits between retries: the SDK computes what the kernel computes, for every preset and for odd policies. */
import { expect } from "vitest";
import { test } from "../../../test/database.ts";
import { type RetryPolicy, type RetryPreset, retryDelayMs, retryPresets } from "../src/index.ts";

const policies: readonly (readonly [string, RetryPolicy])[] = [
  ...(Object.keys(retryPresets) as RetryPreset[]).map((name) => [name, retryPresets[name]] as const),
  ["a constant wait", { baseMs: 250, factor: 1 }],
  ["no wait", { baseMs: 0 }],
  ["a fraction as factor", { baseMs: 700, factor: 1.7, capMs: 90_000 }],
  ["a steep factor without a cap", { baseMs: 5, factor: 100, capMs: null }],
  ["a cap below the base", { baseMs: 60_000, capMs: 1000 }],
  ["nothing but attempts", { maxAttempts: 3 }],
];
const failures = [0, 1, 2, 3, 4, 7, 10, 20, 32, 100, 101, 100_000];

test.for(policies)("the waits of the policy are those of the kernel: %s", async ([_, policy], { db }) => {
  const { baseMs, capMs, factor } = { ...retryPresets.standard, ...policy };
  const kernel = await db.query<{ ms: number }>(
    `select (extract(epoch from jobforge.backoff(p, n)) * 1000)::float8 as ms
     from unnest($4::int[]) with ordinality u(n, place),
       jsonb_populate_record(null::jobforge.policies,
         jsonb_build_object('base_ms', $1::float8, 'cap_ms', $2::float8, 'factor', $3::float8, 'jitter', 0)) p
     order by place`,
    [baseMs, capMs, factor, failures],
  );
  expect(failures.map((n) => retryDelayMs({ ...policy, jitter: 0 }, n))).toEqual(kernel.map(({ ms }) => ms));
});

test("jitter changes a wait by up to its share in either direction, and a wait of the kernel lies in the same range", async ({
  db,
}) => {
  const policy = { baseMs: 1000, capMs: null, factor: 2, jitter: 0.5 };
  expect(retryDelayMs(policy, 3, () => 0)).toBe(2000);
  expect(retryDelayMs(policy, 3, () => 0.5)).toBe(4000);
  expect(retryDelayMs(policy, 3, () => 1)).toBe(6000);
  const ms = await db.value<number>(
    `select (extract(epoch from jobforge.backoff(jsonb_populate_record(null::jobforge.policies,
       '{"base_ms": 1000, "factor": 2, "jitter": 0.5}'), 3)) * 1000)::float8`,
  );
  expect(ms).toBeGreaterThanOrEqual(2000);
  expect(ms).toBeLessThanOrEqual(6000);
});
