/** Texts for errors: the line with the causes is the one that the database writes. */
import { expect, test } from "vitest";
import { errorVectors } from "../../../test/vectors.ts";
import { cutText, failureLine, failureTrace } from "../src/index.ts";

test.for(errorVectors.lines)("the line of $name", ({ error, line }) => {
  expect(failureLine(error)).toBe(line);
});

test.for(errorVectors.cuts)("the cut of $name", ({ text, cut }) => {
  expect(cutText(text, errorVectors.cutLength)).toBe(cut);
});

test("a trace has the stack of the error, of each member and of each cause", () => {
  const trace = failureTrace({
    name: "TypeError",
    message: "fetch failed",
    stack: "TypeError: fetch failed\n    at send (mail.ts:3:5)",
    cause: {
      name: "AggregateError",
      message: "",
      code: "ECONNREFUSED",
      errors: [{ name: "Error", message: "refused", stack: "Error: refused\n    at net:1:1" }],
      omittedErrors: 2,
      cause: "a text",
    },
  });
  expect(trace.split("\n")).toEqual([
    "TypeError: fetch failed",
    "    at send (mail.ts:3:5)",
    "Caused by: AggregateError",
    "    code: ECONNREFUSED",
    "Member: Error: refused",
    "    at net:1:1",
    "Member: and 2 more",
    "Caused by: a text",
  ]);
});

test("a trace shows a message that its stack lacks", () => {
  const changed = { name: "Error", message: "with the order's number", stack: "Error: before\n    at a:1:1" };
  expect(failureTrace(changed)).toBe("Error: with the order's number\nError: before\n    at a:1:1");
  expect(failureTrace({ message: "only this" })).toBe("Error: only this");
});

test("odd errors do no harm", () => {
  const loop: { message: string; cause?: unknown } = { message: "loop" };
  loop.cause = loop;
  expect(failureLine(loop)).toBe("loop");
  expect(failureTrace(loop).split("\n").length).toBeLessThan(20);
});
