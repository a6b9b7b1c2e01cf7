/** What the worker's log masks: the same as the database masks in stored errors. */
import { expect, test } from "vitest";
import { redactionCases } from "../../../../test/vectors.ts";
import { maskText, Redactor, redactor } from "../../src/reporting/redact.ts";

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

/** Texts in which a rule could start at every word and read on to the end. */
const hostile: Readonly<Record<string, string>> = {
  "names of secrets": "token-",
  "beginnings of JSON web tokens": "eyJ",
  "beginnings of private keys": "-----BEGIN PRIVATE KEY ",
  "headers without a value": "authorization basic ",
  bearers: "bearer  ",
  URLs: "://a:b",
  blanks: " ",
  "a name and blanks": `token${" ".repeat(500)}`,
  quotes: `password:"'`,
};

// The old rules took minutes for the first two texts. The limit of the test itself is the bound.
test.for(Object.entries(hostile))("a text of 1 MiB is masked without going back: %s", ([, part]) => {
  const text = part.repeat(2 ** 20 / part.length);
  expect(maskText(text).length).toBeGreaterThan(0);
  expect(new Redactor(["a", "token"]).text(text).length).toBeLessThan(8300);
});

test("a long text is cut, without leaving a part of a secret, and says how long it was", () => {
  const text = `${"x".repeat(8180)} password=${"s".repeat(5000)} end`;
  expect(redactor.text(text)).toBe(`${"x".repeat(8180)} password=[r… [cut: ${text.length} characters]`);
  expect(redactor.text("y".repeat(8192))).toBe("y".repeat(8192));
});
