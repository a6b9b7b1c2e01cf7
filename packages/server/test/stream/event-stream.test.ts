/** What waits for a slow client of a stream is bounded, by messages and by bytes. */
import { expect, test } from "vitest";
import { EventStream } from "../../src/stream/event-stream.ts";
import type { Message } from "../../src/stream/group.ts";

const message = (bytes: number): Message => ({
  event: "finished",
  id: "",
  data: { text: "a".repeat(bytes) },
});

/** How many messages are sent to a client that reads nothing, including the one that cuts it off. */
function cutOffAfter(bytes: number, most: number): number {
  const stream = new EventStream();
  let isCutOff = false;
  stream.respond([], [], () => {
    isCutOff = true;
  });
  let sent = 0;
  for (; !isCutOff && sent < most; sent += 1) stream.send([message(bytes)]);
  return sent;
}

test("a client that does not read is cut off after many messages, or after few large ones", () => {
  expect(cutOffAfter(1, 3000)).toBe(2001);
  expect(cutOffAfter(100_000, 3000)).toBe(12);
});

test("the first messages are sent whatever their size, so that a client with a cursor makes progress", async () => {
  const stream = new EventStream();
  const ended = new AbortController();
  const first = Array.from({ length: 30 }, () => message(100_000));
  const response = stream.respond(first, [ended.signal], () => undefined);
  ended.abort();
  expect((await response.text()).length).toBeGreaterThan(3_000_000);
});
