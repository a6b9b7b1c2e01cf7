/** The worker's estimate of the database's time. */
import { expect, onTestFinished, test, vi } from "vitest";
import { DatabaseClock } from "../../src/presence/clock.ts";

test("the estimate of the database's clock moves only as far as responses prove", () => {
  let own = 1_000_000;
  const clock = new DatabaseClock(() => own);
  const respond = (ahead: number, sent: number, read: number, received: number): void => {
    own = received;
    clock.learn(new Date(read + ahead).toISOString(), sent);
  };
  respond(0, 1_000_000, 1_000_050, 1_000_100);
  expect(clock.now() - own, "the clocks may agree, so no difference is assumed").toBe(0);
  respond(5_000, 1_000_200, 1_000_210, 1_000_300);
  expect(clock.now() - own).toBeGreaterThanOrEqual(4_910);
  expect(clock.now() - own).toBeLessThanOrEqual(5_010);
  respond(5_000, 1_000_400, 1_000_401, 1_000_402);
  expect(clock.until(new Date(own + 6_000).toISOString())).toBeGreaterThanOrEqual(999);
  expect(clock.until(new Date(own + 6_000).toISOString())).toBeLessThanOrEqual(1_001);
});

test("a worker whose own clock is set to another year still knows the database's time", () => {
  const clock = new DatabaseClock();
  const now = Date.now();
  clock.learn(new Date(now).toISOString(), clock.mark());
  vi.useFakeTimers({ toFake: ["Date"], now: now + 365 * 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  const hourAhead = Date.parse(clock.in(3_600_000));
  expect(hourAhead).toBeGreaterThanOrEqual(now + 3_599_000);
  expect(hourAhead).toBeLessThan(now + 2 * 3_600_000);
});
