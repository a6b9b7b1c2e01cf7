/** One filter is the address of the page, the request of the list, and the words of the filter bar. */
import { expect, test } from "vitest";
import {
  apiFilterOf,
  noFilter,
  orderOf,
  paramsOf,
  queryOf,
  readFilter,
  termsOf,
  withoutTerm,
  withTerm,
} from "../src/lib/filter.ts";
import { type Exact, writeExact } from "../src/lib/json.ts";

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

test("words about the payload become one object, and numbers keep their digits", () => {
  const terms = termsOf(
    'payload.order.id:9007199254740993 payload.to:"7" payload.vip:true priority:5 id:0198c5f0 worker:mailer-1',
  );
  const filter = terms.reduce(withTerm, noFilter);
  const payload = '{"order":{"id":9007199254740993},"to":"7","vip":true}';
  expect(writeExact(apiFilterOf(filter) as Exact)).toBe(
    `{"id_prefix":"0198c5f0","worker":"mailer-1","priority":5,"payload":${payload}}`,
  );
  expect(queryOf(apiFilterOf(filter))).toEqual({
    payload,
    priority: "5",
    id_prefix: "0198c5f0",
    worker: "mailer-1",
  });
  expect(readFilter(`?${new URLSearchParams(paramsOf(filter) as Record<string, string>)}`)).toEqual(filter);
});

test("each state is read in the order in which people look at it", () => {
  const order = (search: string): string => orderOf(readFilter(search));
  expect(order("")).toBe("created");
  expect(order("?status=queued")).toBe("oldest");
  expect(order("?status=queued&phase=scheduled")).toBe("run_at");
  expect(order("?status=running")).toBe("started_at");
  expect(order("?status=failed&status=dead")).toBe("finished_at");
  expect(order("?status=queued&status=dead")).toBe("created");
});
