/** Parts of the runtime that can be looked at alone. */
import { defineJob } from "@jobforge/sdk-ts";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { DatabaseClock } from "../src/clock.ts";
import { Deadlines } from "../src/deadlines.ts";
import { Fifo } from "../src/fifo.ts";
import { HandledType } from "../src/handled-type.ts";
import { backoff } from "../src/outage.ts";
import { Pace } from "../src/pace.ts";
import { Run } from "../src/run.ts";
import { Turns } from "../src/turns.ts";

const typeCalled = (name: string): HandledType =>
  new HandledType(
    defineJob({ type: name }).handle(() => undefined),
    undefined,
    10,
  );

const runOf = (type: HandledType, id: string, { tenant = "t", priority = 0, at = 0 } = {}): Run =>
  new Run(
    {
      id,
      tenant_id: tenant,
      type: type.name,
      payload: {},
      priority,
      attempts: 1,
      max_attempts: 5,
      run_at: "",
      created_at: "",
      trace_id: "",
    },
    type,
    at,
  );

describe("the pace", () => {
  test("claims nothing ahead while nothing is known, or when jobs are slow", () => {
    const type = typeCalled("a");
    const pace = new Pace([type]);
    expect(pace.ahead(10)).toBe(0);
    pace.noteClaim(1, new Map([[type, 1]]));
    expect(pace.ahead(10)).toBe(0);
    pace.noteCall(type, 1_000, 1);
    expect(pace.ahead(10)).toBe(0);
  });

  test("claims hundreds ahead when jobs take microseconds", () => {
    const type = typeCalled("a");
    const pace = new Pace([type]);
    pace.noteClaim(10, new Map([[type, 10]]));
    pace.noteCall(type, 0.02, 1);
    expect(pace.ahead(10)).toBeGreaterThan(1_000);
  });

  test("is careful when one claimed job in a hundred is slow, or of a type that is not known yet", () => {
    const [fast, slow] = [typeCalled("fast"), typeCalled("slow")];
    const pace = new Pace([fast, slow]);
    pace.noteClaim(100, new Map([[fast, 100]]));
    pace.noteCall(fast, 0.02, 1);
    expect(pace.ahead(10)).toBeGreaterThan(1_000);
    pace.noteClaim(
      100,
      new Map([
        [fast, 99],
        [slow, 1],
      ]),
    );
    expect(pace.ahead(10)).toBeLessThan(10);
    pace.noteCall(slow, 10_000, 1);
    expect(pace.ahead(10)).toBe(0);
  });
});

test("a worker's idea of the database's clock moves only as far as answers prove", () => {
  let own = 1_000_000;
  const clock = new DatabaseClock(() => own);
  const answer = (ahead: number, sent: number, read: number, received: number): void => {
    own = received;
    clock.learn(new Date(read + ahead).toISOString(), sent);
  };
  answer(0, 1_000_000, 1_000_050, 1_000_100);
  expect(clock.now() - own, "the clocks may agree, so they do").toBe(0);
  answer(5_000, 1_000_200, 1_000_210, 1_000_300);
  expect(clock.now() - own).toBeGreaterThanOrEqual(4_910);
  expect(clock.now() - own).toBeLessThanOrEqual(5_010);
  answer(5_000, 1_000_400, 1_000_401, 1_000_402);
  expect(clock.until(new Date(own + 6_000).toISOString())).toBeGreaterThanOrEqual(999);
  expect(clock.until(new Date(own + 6_000).toISOString())).toBeLessThanOrEqual(1_001);
});

test("a worker whose own clock is set to another year knows the database's time all the same", () => {
  const clock = new DatabaseClock();
  const now = Date.now();
  clock.learn(new Date(now).toISOString(), clock.mark());
  vi.useFakeTimers({ toFake: ["Date"], now: now + 365 * 86_400_000 });
  onTestFinished(() => void vi.useRealTimers());
  const hourAhead = Date.parse(clock.in(3_600_000));
  expect(hourAhead).toBeGreaterThanOrEqual(now + 3_599_000);
  expect(hourAhead).toBeLessThan(now + 2 * 3_600_000);
});

test("pauses double from 100 ms to five seconds, and are never less than half of that", () => {
  for (const [times, full] of [
    [0, 100],
    [1, 200],
    [5, 3_200],
    [6, 5_000],
    [1_000, 5_000],
  ] as const) {
    const waits = Array.from({ length: 200 }, () => backoff(times));
    expect(Math.min(...waits)).toBeGreaterThanOrEqual(full / 2);
    expect(Math.max(...waits)).toBeLessThanOrEqual(full);
    expect(new Set(waits).size).toBeGreaterThan(100);
  }
});

test("deadlines are reached in order, by one timer, unless they are cleared", () => {
  vi.useFakeTimers();
  const deadlines = new Deadlines();
  const reached: string[] = [];
  const type = typeCalled("a");
  const [first, second, third] = [runOf(type, "1"), runOf(type, "2"), runOf(type, "3")];
  deadlines.set(third, 300, (run) => reached.push(run.id));
  deadlines.set(first, 100, (run) => reached.push(run.id));
  deadlines.set(second, 200, (run) => reached.push(run.id));
  expect(vi.getTimerCount()).toBe(1);
  deadlines.clear(second);
  vi.advanceTimersByTime(150);
  expect(reached).toEqual(["1"]);
  vi.advanceTimersByTime(1_000);
  expect(reached).toEqual(["1", "3"]);
  expect(vi.getTimerCount()).toBe(0);
  vi.useRealTimers();
});

test("a queue gives its items back in order, one by one and by the dozen", () => {
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

test("a queue that is never empty keeps its order, however much has gone through it", () => {
  const queue = new Fifo<number>();
  queue.push(0);
  for (let n = 1; n <= 5_000; n += 1) {
    queue.push(n);
    expect(queue.shift()).toBe(n - 1);
    expect(queue.length).toBe(1);
  }
  expect(queue.first).toBe(5_000);
});

describe("claimed jobs start", () => {
  const a = typeCalled("a");
  const order = (turns: Turns): string[] => turns.takeAll().map(({ id }) => id);

  test("in turns of their tenants, each tenant's as they were claimed", () => {
    const turns = new Turns();
    for (const id of ["x1", "x2", "x3", "y1", "z1", "y2"]) turns.push(runOf(a, id, { tenant: id[0] }));
    expect(turns.first?.id).toBe("x1");
    expect(turns.length).toBe(6);
    expect(order(turns)).toEqual(["x1", "y1", "z1", "x2", "y2", "x3"]);
    expect(turns.length).toBe(0);
    expect(turns.shift()).toBeUndefined();
  });

  test("of a tenant that has just come after one of each that was there", () => {
    const turns = new Turns();
    for (let n = 1; n <= 100; n += 1) turns.push(runOf(a, `flood ${n}`, { tenant: "flood" }));
    expect(turns.shift()?.id).toBe("flood 1");
    turns.push(runOf(a, "first", { tenant: "new" }));
    expect([turns.shift()?.id, turns.shift()?.id, turns.shift()?.id]).toEqual([
      "flood 2",
      "first",
      "flood 3",
    ]);
  });

  test("by priority first, whenever they were claimed", () => {
    const turns = new Turns();
    turns.push(runOf(a, "usual", { priority: 0 }));
    turns.push(runOf(a, "low", { priority: -5 }));
    turns.push(runOf(a, "urgent", { priority: 9 }));
    turns.push(runOf(a, "high", { priority: 5 }));
    turns.push(runOf(a, "urgent too", { priority: 9, tenant: "u" }));
    expect(order(turns)).toEqual(["urgent", "urgent too", "high", "usual", "low"]);
  });

  test("and say since when the oldest of them has been waiting, whoever's turn it is", () => {
    const turns = new Turns();
    expect(turns.waitingSince).toBe(Number.POSITIVE_INFINITY);
    turns.push(runOf(a, "late", { at: 30, priority: 1 }));
    turns.push(runOf(a, "early", { at: 10, tenant: "y" }));
    turns.push(runOf(a, "middle", { at: 20, tenant: "z" }));
    expect(turns.waitingSince).toBe(10);
    expect(turns.shift()?.id).toBe("late");
    expect(turns.shift()?.id).toBe("early");
    expect(turns.waitingSince).toBe(20);
  });
});
