/**
 * Errors as they are stored, with the one line that says what happened. The kernel writes the line for lists, and the
 * SDK writes it for log lines: both must agree.
 */

export interface ErrorCase {
  readonly name: string;
  readonly error: Readonly<Record<string, unknown>> & { readonly message: string };
  readonly line: string;
}

const refused = (address: string): object => ({
  name: "Error",
  message: `connect ECONNREFUSED ${address}`,
  code: "ECONNREFUSED",
});

const nested = (depth: number): object =>
  depth === 0 ? { message: "level 0" } : { message: `level ${depth}`, cause: nested(depth - 1) };

export const errorCases: readonly ErrorCase[] = [
  { name: "an error without a cause", error: { name: "Error", message: "broken" }, line: "broken" },
  {
    name: "a failed fetch",
    error: { name: "TypeError", message: "fetch failed", cause: refused("127.0.0.1:1") },
    line: "fetch failed: connect ECONNREFUSED 127.0.0.1:1",
  },
  {
    name: "a failed fetch of a host with two addresses",
    error: {
      name: "TypeError",
      message: "fetch failed",
      cause: {
        name: "AggregateError",
        message: "",
        code: "ECONNREFUSED",
        errors: [refused("::1:1"), refused("127.0.0.1:1")],
      },
    },
    line: "fetch failed: connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1",
  },
  {
    name: "a cause that is a text",
    error: { message: "no answer", cause: "timed out" },
    line: "no answer: timed out",
  },
  {
    name: "messages that repeat their cause",
    error: {
      message: "cannot pay: card declined",
      cause: { message: "card declined", cause: { message: "insufficient funds" } },
    },
    line: "cannot pay: card declined: insufficient funds",
  },
  {
    name: "a cause without a message",
    error: { message: "socket closed", cause: { name: "Error", message: "", code: "ECONNRESET" } },
    line: "socket closed: ECONNRESET",
  },
  {
    name: "many members",
    error: {
      name: "AggregateError",
      message: "All promises were rejected",
      errors: ["a", "b", { message: "c", cause: "d" }, "e", "f"],
      omittedErrors: 10,
    },
    line: "All promises were rejected: a; b; c: d; and 12 more",
  },
  {
    name: "members and a cause",
    error: { message: "both", errors: [{ message: "x" }], cause: { message: "y" } },
    line: "both: x: y",
  },
  {
    name: "more causes than one reads",
    error: { message: "top", cause: nested(20) },
    line: "top: level 20: level 19: level 18: level 17: level 16: level 15: level 14: level 13: level 12",
  },
  {
    name: "causes that are not errors",
    error: { message: "odd", cause: 7, errors: { a: 1 } },
    line: "odd",
  },
  {
    name: "messages and names of causes that are not texts",
    error: { message: "odd", cause: { message: { a: 1 }, name: [2], cause: { message: "", code: 42 } } },
    line: "odd: 42",
  },
];
