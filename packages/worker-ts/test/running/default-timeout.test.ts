/** How long a run may take: by its definition, by the policy of its type, or an hour. */
import { defineJob } from "@jobforge/sdk-ts";
import { expect, test } from "vitest";
import { HandledType } from "../../src/handled-type.ts";
import { abortReasons } from "../../src/running/ending.ts";

const hour = 3_600_000;

function typeWith(timeoutMs?: number | null): HandledType {
  return new HandledType(
    defineJob({ type: "slow", timeoutMs }).handle(() => null),
    undefined,
    1,
  );
}

test.for([
  [undefined, null, hour],
  [undefined, 2 * hour, 2 * hour],
  [undefined, 50, 50],
  [null, null, undefined],
  [null, 50, 50],
  [2 * hour, null, 2 * hour],
  [2 * hour, 50, 50],
  [50, 2 * hour, 50],
] as const)(
  "with %s in the definition and %s in the policy, a run may take %s ms",
  ([own, policy, expected]) => {
    const type = typeWith(own);
    type.apply({ timeout_ms: policy });
    expect(type.timeoutMs).toBe(expected);
  },
);

test("an hour is the default before the policy is known, and its error says how to change it", () => {
  const type = typeWith();
  expect(type.timeoutMs).toBe(hour);
  expect(type.hasDefaultTimeout).toBe(true);
  expect(abortReasons.timeout(hour, true).message).toContain("Set timeoutMs in its definition");
  expect(typeWith(50).hasDefaultTimeout).toBe(false);
});
