/** Pure functions of the TypeScript packages and of the kernel, with the vectors that every SDK is tested with. */
import {
  defineJob,
  InvalidArgumentError,
  JobForge,
  retryPresets,
  toJson,
  toStorableJson,
} from "@jobforge/sdk-ts";
import { describe, expect } from "vitest";
import { recorder, refusal } from "../../packages/sdk-ts/test/support/refusal.ts";
import { test } from "../../test/database.ts";
import { argumentVectors, backoffVectors, jsonVectors } from "../../test/vectors.ts";
import { type Fields, fieldOf, toOptions } from "../adapters/ts/names.ts";

const job = defineJob({ type: "a" });

describe("the arguments of an enqueue", () => {
  const enqueue = async (options: Fields): Promise<readonly unknown[]> => {
    const { transport, calls } = recorder();
    await new JobForge({ transport }).enqueue(job, {}, toOptions(options) as never);
    return calls;
  };

  test.for(argumentVectors.accepted)("$name: accepted", async ({ options }) => {
    expect(await enqueue(options)).toHaveLength(1);
  });

  test.for(argumentVectors.refused)("$name: refused", async ({ options, field }) => {
    const error = await refusal(() => enqueue(options));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect({ code: error.code, field: fieldOf(error.field ?? "") }).toEqual({ code: "JF002", field });
  });

  test("types", () => {
    for (const type of argumentVectors.types.accepted) expect(defineJob({ type }).type).toBe(type);
    for (const type of argumentVectors.types.refused)
      expect(() => defineJob({ type }), type).toThrow(InvalidArgumentError);
  });
});

describe("JSON that Postgres can store", () => {
  test("payloads that are accepted stay as they are", () => {
    for (const value of jsonVectors.payloads.accepted)
      expect(JSON.parse(toJson(value, "payload").text)).toEqual(value);
  });

  test.for(jsonVectors.payloads.refused)("a payload with $name is refused", async ({ value, field }) => {
    const error = await refusal(() => toJson(value, "payload"));
    expect(error).toMatchObject({ code: "JF002", field });
  });

  test.for(jsonVectors.results)("a result with $name", async ({ value, stored }, { db }) => {
    const { text } = toStorableJson(value, "result");
    expect(JSON.parse(text)).toEqual(stored);
    expect(await db.value("select $1::jsonb", [text])).toEqual(stored);
  });
});

describe("waits between retries", () => {
  test.for(backoffVectors.presets)("the preset $names", async ({ names, waits_ms, ...policy }, { db }) => {
    for (const name of names) {
      const { baseMs, capMs, factor, maxAttempts } = retryPresets[name as keyof typeof retryPresets];
      expect({ base_ms: baseMs, cap_ms: capMs, factor, max_attempts: maxAttempts }).toEqual(policy);
      expect(await db.value("select jobforge.preset($1)", [name])).toEqual(policy);
    }
    expect(waits_ms).toHaveLength(policy.max_attempts - 1);
    for (const [failures, ms] of waits_ms.entries()) expect(await waitOf(db, policy, failures + 1)).toBe(ms);
  });

  test("the kernel's waits", async ({ db }) => {
    for (const { failures, ms, ...policy } of backoffVectors.waits)
      expect(await waitOf(db, policy, failures), JSON.stringify(policy)).toBe(ms);
  });
});

async function waitOf(
  db: { value(sql: string, values: readonly unknown[]): Promise<unknown> },
  policy: Fields,
  failures: number,
): Promise<number> {
  const sql = `select extract(epoch from
    jobforge.backoff(jsonb_populate_record(null::jobforge.policies, $1), $2)) * 1000`;
  return Number(await db.value(sql, [JSON.stringify({ ...policy, jitter: 0 }), failures]));
}
