/** What the worker's log masks: the same as the database masks in stored errors. */
import { expect, test } from "vitest";
import { redactionCases } from "../../../../test/redaction-cases.ts";
import { Redactor, redactor } from "../../src/reporting/redact.ts";

test.for(redactionCases)("the log masks $name", ({ value, masked, listed }) => {
  expect(new Redactor(listed).value(value)).toEqual(masked);
  expect(new Redactor(listed).value(masked), "masking again changes nothing").toEqual(masked);
});

test("errors and their causes keep their details, without secrets", () => {
  const error = Object.assign(new Error("password=x", { cause: new Error("token: abc") }), { code: "E1" });
  expect(redactor.value({ err: error })).toMatchObject({
    err: {
      type: "Error",
      message: "password=[redacted]",
      stack: expect.stringContaining("password=[redacted]"),
      code: "E1",
      cause: { message: "token: [redacted]" },
    },
  });
});

test("values that refer to themselves or have a toJSON method do no harm", () => {
  const loop: Record<string, unknown> = { at: new Date(0) };
  loop["self"] = loop;
  expect(JSON.stringify(redactor.value(loop))).toContain("nested too deep");
  expect(redactor.value({ at: new Date(0) })).toEqual({ at: new Date(0) });
});
