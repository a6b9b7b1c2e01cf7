/** The streams of all callers share a few reads of the database. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { StreamHub } from "../../src/stream/hub.ts";
import type { Snapshot } from "../../src/stream/snapshot.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const nothing: Snapshot = {
  at: "2026-01-01",
  queued: 0,
  scheduled: 0,
  running: 0,
  exact: true,
  finished: [],
  more: false,
  changes: null,
};

test("a caller with many streams does not delay the stream of another", async () => {
  const hub = new StreamHub(1, 100);
  const reads: string[] = [];
  const ends: (() => void)[] = [];
  const follow = (caller: string, key: string): (() => void) => {
    const read = async (): Promise<Snapshot> => {
      reads.push(key);
      await new Promise<void>((resolve) => ends.push(resolve));
      return nothing;
    };
    return hub.join(caller, key, read, () => undefined).leave;
  };
  const leaves = Array.from({ length: 50 }, (_, index) => follow("a", `a${index}`));
  leaves.push(follow("b", "b"));
  // Now every group wants to read.
  await vi.advanceTimersByTimeAsync(250);
  for (let count = 0; count < 3; count += 1) {
    ends.shift()?.();
    await vi.advanceTimersByTimeAsync(0);
  }
  expect(reads).toEqual(["a0", "a1", "b", "a2"]);
  for (const leave of leaves) leave();
  expect(hub.size).toBe(0);
});

test("a caller with many slow streams makes its own rest longer, not that of another", async () => {
  const hub = new StreamHub(100, 100);
  const reads = new Map<string, number>();
  const follow = (caller: string, key: string): (() => void) => {
    const read = async (): Promise<Snapshot> => {
      reads.set(key, (reads.get(key) ?? 0) + 1);
      await new Promise((resolve) => setTimeout(resolve, 200));
      return nothing;
    };
    return hub.join(caller, key, read, () => undefined).leave;
  };
  const leaves = Array.from({ length: 40 }, (_, index) => follow("a", `a${index}`));
  leaves.push(follow("b", "b"));
  await vi.advanceTimersByTimeAsync(60_000);
  // A read of 200 ms and a rest of 1.6 s, four times 200 ms for each of two callers, or up to two seconds.
  expect(reads.get("b")).toBeGreaterThan(25);
  // Each group of the other caller rests for the longest time, ten seconds.
  expect(reads.get("a0")).toBeLessThan(8);
  for (const leave of leaves) leave();
});
