/** Ids of tenants that are not uuids: the SDK finds the same uuids as the kernel and as Python's uuid5. */
import { expect, test } from "vitest";
import { tenantIdVectors as examples } from "../../../test/vectors.ts";
import { InvalidArgumentError, tenantId, tenantNamespace, tenantOf } from "../src/index.ts";

test("a text is a version 5 uuid, and a uuid in any spelling is itself", () => {
  expect(tenantNamespace).toBe(examples.namespace);
  for (const { text, uuid } of [...examples.mapped, ...examples.spelled]) {
    expect(tenantId(text), text).toBe(uuid);
    expect(tenantId(uuid)).toBe(uuid);
  }
});

test("a whole number is the same tenant as its text", () => {
  for (const { number, text } of examples.numbers) expect(tenantId(number)).toBe(tenantId(text));
  expect(tenantId(12345678901234567890n)).toBe(tenantId("12345678901234567890"));
});

test("what names no tenant is refused", () => {
  for (const text of [...examples.refused, "a\u0000", "\ud800", 1.5, Number.NaN, 2 ** 53])
    expect(() => tenantId(text), String(text)).toThrow(InvalidArgumentError);
  for (const claim of examples.refusedClaims) expect(tenantOf(JSON.parse(claim)), claim).toBeUndefined();
});
