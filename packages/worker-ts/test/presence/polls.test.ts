/** How often an idle worker calls the database, on a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { LoopSignal } from "../../src/claiming/signal.ts";
import { defaultHeartbeatMs, defaultPollMs, longestPollMs } from "../../src/defaults.ts";
import { DatabaseClock } from "../../src/presence/clock.ts";
import { Idle, type IdleParts } from "../../src/presence/idle.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] });
});

afterEach(() => {
  vi.useRealTimers();
});

/** Returns when a worker polls within ten minutes, in seconds after its claim that found nothing. */
async function pollsOf(heartbeat: { isMarked: boolean; seesJobs: boolean }): Promise<number[]> {
  const started = performance.now();
  const polls: number[] = [];
  const signal = new LoopSignal(() => {
    polls.push((performance.now() - started) / 1000);
    idle.drained(null);
  });
  const parts = {
    heartbeat: { ...heartbeat, mark: async () => false, onDue: () => undefined },
    signal,
    clock: new DatabaseClock(),
    pollMs: defaultPollMs,
    notifiedPollMs: longestPollMs,
  };
  const idle = new Idle(parts as unknown as IdleParts);
  idle.setListening(heartbeat.isMarked);
  if (!heartbeat.isMarked) idle.drained(null);
  await vi.advanceTimersByTimeAsync(600_000);
  idle.stop();
  return polls;
}

test("an idle worker that is notified polls soon once, and then leaves it to its heartbeats", async () => {
  const [first = 0, second = 0, third = 0, ...more] = await pollsOf({ isMarked: true, seesJobs: true });
  expect(first).toBe(0);
  expect(second).toBeLessThanOrEqual(2);
  expect(third).toBeLessThanOrEqual(4);
  expect(more.length).toBeLessThanOrEqual(6);
});

test("a hundred idle workers make fewer than fifteen calls a second, heartbeats and checks included", async () => {
  const polls = await pollsOf({ isMarked: true, seesJobs: true });
  // The first polls belong to the start. A heartbeat comes after at least nine tenths of its interval, and the SDK
  // checks a connection that listens once a minute.
  const perSecond = (polls.length - 3) / 600 + 1000 / (defaultHeartbeatMs * 0.9) + 1 / 60;
  expect(100 * perSecond).toBeLessThanOrEqual(15);
});

test("an idle worker whose heartbeats do not look for jobs, or that is not notified, polls every two seconds", async () => {
  for (const heartbeat of [
    { isMarked: true, seesJobs: false },
    { isMarked: false, seesJobs: false },
  ]) {
    expect((await pollsOf(heartbeat)).length).toBeGreaterThanOrEqual(300);
  }
});
