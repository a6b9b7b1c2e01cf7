/** One filter is the address of the page, the request of the list, and the words of the filter bar. */
import { expect, test } from "vitest";
import {
  apiFilterOf,
  noFilter,
  paramsOf,
  readFilter,
  termsOf,
  withoutTerm,
  withTerm,
} from "../src/lib/filter.ts";

test("an address and its filter are the same thing", () => {
  const filter = readFilter(
    "?status=dead&status=failed&type=mail.send&tag=a&tag=b&group=abc&unknown=1&status=odd",
  );
  expect(filter.state).toEqual(["failed", "dead"]);
  expect(paramsOf(filter)).toEqual({
    status: ["failed", "dead"],
    type: ["mail.send"],
    tag: ["a", "b"],
    group: "abc",
  });
  expect(apiFilterOf(filter)).toEqual({
    status: ["failed", "dead"],
    type: ["mail.send"],
    tags: ["a", "b"],
    error_group: "abc",
  });
});

test("words of the filter bar become terms, and free text is searched in errors", () => {
  const terms = termsOf('type:mail.send error:"connection refused" timeout http://x');
  expect(terms).toEqual([
    { name: "type", value: "mail.send" },
    { name: "error", value: "connection refused" },
    { name: "error", value: "timeout" },
    { name: "error", value: "http://x" },
  ]);
  const filter = terms.reduce(withTerm, noFilter);
  expect(filter.text).toEqual({ error: "http://x" });
  expect(withoutTerm(filter, { name: "type", value: "mail.send" }).type).toEqual([]);
});
