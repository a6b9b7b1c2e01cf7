/** Clients that share one poll of the database. */
import { expect, test } from "vitest";
import { type Message, newsOf, StreamGroup } from "../../src/stream/group.ts";
import type { Changes, Snapshot } from "../../src/stream/snapshot.ts";

test("counts that a subscriber has seen are not sent again while they do not change", async () => {
  const seen = (queued: number): Snapshot => ({
    at: "2026-01-01",
    queued,
    scheduled: 0,
    exact: true,
    running: 0,
    finished: [],
    more: false,
    changes: null,
  });
  let queued = 1;
  let reads = 0;
  const readSince = async (): Promise<Snapshot> => {
    reads += 1;
    return seen(queued);
  };
  const group = new StreamGroup(
    readSince,
    () => 0,
    () => undefined,
  );
  const counts = (messages: readonly Message[]): unknown[] =>
    messages.map(({ data }) => (data as Snapshot).queued);
  const sent: unknown[] = [];
  const leave = group.subscribe((messages) => sent.push(...counts(messages)));
  group.begin(seen(1));
  await expect.poll(() => reads, { timeout: 5000 }).toBeGreaterThanOrEqual(2);
  expect(sent).toEqual([]);
  queued = 2;
  await expect.poll(() => sent, { timeout: 5000 }).toEqual([2]);
  // A new subscriber that read other counts receives the current ones.
  const late: unknown[] = [];
  const leaveToo = group.subscribe((messages) => late.push(...counts(messages)));
  group.begin(seen(3));
  await expect.poll(() => late, { timeout: 5000 }).toEqual([2]);
  leave();
  leaveToo();
});

test("news are the kinds of new entries, and workers when they changed", () => {
  const changes = (ids: readonly number[], alive = 1, more = false): Changes => ({
    entries: ids.map((id) => ({ id, kind: id % 2 === 0 ? "gate" : "limit" })),
    more,
    workers: { alive },
  });
  expect(newsOf(null, changes([1]))).toEqual({ kinds: [], more: false });
  expect(newsOf(changes([3, 2]))).toEqual({ kinds: ["gate", "limit"], more: false });
  expect(newsOf(changes([4, 3, 2]), changes([3, 2]))).toEqual({ kinds: ["gate"], more: false });
  expect(newsOf(changes([3, 2]), changes([3, 2]))).toEqual({ kinds: [], more: false });
  expect(newsOf(changes([3], 2), changes([3]))).toEqual({ kinds: ["worker"], more: false });
  // Entries may be missing only if none of those that were read is known.
  expect(newsOf(changes([9, 7], 1, true), changes([3]))).toEqual({ kinds: ["limit"], more: true });
  expect(newsOf(changes([9, 7], 1, true), changes([7]))).toEqual({ kinds: ["limit"], more: false });
});
