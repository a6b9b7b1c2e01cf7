/** The first-in-first-out queue that settlements and slots use. */
import { expect, test } from "vitest";
import { Fifo } from "../src/fifo.ts";

test("a queue returns its items in order, one by one and many at a time", () => {
  const queue = new Fifo<number>();
  for (let n = 0; n < 5_000; n += 1) queue.push(n);
  expect(queue.shift()).toBe(0);
  expect(queue.take(1_500)).toEqual(Array.from({ length: 1_500 }, (_, n) => n + 1));
  expect(queue.first).toBe(1_501);
  queue.push(5_000);
  expect(queue.take(10_000)).toHaveLength(3_500);
  expect(queue.length).toBe(0);
  expect(queue.shift()).toBeUndefined();
});

test("a queue that is never empty keeps its order, however many items pass through it", () => {
  const queue = new Fifo<number>();
  queue.push(0);
  for (let n = 1; n <= 5_000; n += 1) {
    queue.push(n);
    expect(queue.shift()).toBe(n - 1);
    expect(queue.length).toBe(1);
  }
  expect(queue.first).toBe(5_000);
});
