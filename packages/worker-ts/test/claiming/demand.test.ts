/** What a worker claims next, and the hint that it passes back. */
import { defineJob } from "@jobforge/sdk-ts";
import { describe, expect, test } from "vitest";
import { Caller } from "../../src/claiming/caller.ts";
import { Demand } from "../../src/claiming/demand.ts";
import { Pace } from "../../src/claiming/pace.ts";
import type { ClaimRequest } from "../../src/claiming/protocol.ts";
import { HandledType } from "../../src/handled-type.ts";
import { Slots } from "../../src/running/slots.ts";
import { runOf, typeCalled } from "../support/runs.ts";

const concurrency = 10;

function cappedType(name: string, cap: number): HandledType {
  return new HandledType(
    defineJob({ type: name }).handle(() => undefined),
    cap,
    concurrency,
  );
}

function demandFor(types: readonly HandledType[], slotCount = concurrency) {
  const slots = new Slots(slotCount, types);
  const pace = new Pace(types);
  return { slots, pace, demand: new Demand(slots, types, pace, { batchSize: 500, prefetch: 1_000 }) };
}

function claimed(request: ClaimRequest | undefined): ClaimRequest {
  if (request === undefined) throw new Error("Nothing is claimed");
  return request;
}

describe("a worker", () => {
  test("claims as many jobs as slots are free, and those that are under way count", () => {
    const a = typeCalled("a");
    const { demand, slots } = demandFor([a]);
    const request = claimed(demand.next(1_000));
    expect(request).toMatchObject({ limit: 10, types: ["a"], coversAll: true });
    demand.expect(request);
    expect(demand.next(1_000)).toBeUndefined();
    demand.arrived(request);
    for (const id of ["1", "2", "3", "4"]) slots.add(runOf(a, id));
    expect(demand.next(1_000)?.limit).toBe(6);
    expect(demand.next(2)?.limit).toBe(2);
  });

  test("claims fast jobs ahead, and not by the handful while all slots are busy", () => {
    const a = cappedType("a", 1);
    const { demand, slots, pace } = demandFor([a], 1);
    pace.noteClaim(10, new Map([[a, 10]]));
    pace.noteCall(a, 0.05, 1);
    const ahead = Math.floor(pace.ahead(1));
    expect(ahead).toBeGreaterThanOrEqual(99);
    slots.add(runOf(a, "running"));
    expect(slots.takeNext()).toBeDefined();
    for (let n = 0; n < 90; n += 1) slots.add(runOf(a, String(n)));
    expect(demand.next(1_000)).toBeUndefined();
    for (let n = 0; n < 30; n += 1) {
      slots.free(a);
      expect(slots.takeNext()).toBeDefined();
    }
    expect(demand.next(1_000)?.limit).toBe(ahead - 60);
  });

  test("leaves out a type that is at its cap, and remembers it", () => {
    const [a, b] = [cappedType("a", 1), typeCalled("b")];
    const { demand, slots } = demandFor([a, b]);
    slots.add(runOf(a, "1"));
    expect(slots.takeNext()).toBeDefined();
    expect(demand.next(1_000)?.types).toEqual(["b"]);
    expect([demand.takeLeftOut(a), demand.takeLeftOut(a), demand.takeLeftOut(b)]).toEqual([
      true,
      false,
      false,
    ]);
  });

  test("claims all types up to the least room, and in turn those with much room", () => {
    const { demand } = demandFor([cappedType("a", 2), typeCalled("b")]);
    const requests = [claimed(demand.next(1_000)), claimed(demand.next(1_000))];
    expect(requests.sort((one, two) => one.limit - two.limit)).toMatchObject([
      { types: ["a", "b"], limit: 2, coversAll: true },
      { types: ["b"], limit: 10, coversAll: false },
    ]);
  });
});

test("hints are kept for each list of types, and there are few of them", () => {
  const caller = new Caller();
  const requests = Array.from({ length: 17 }, (_, n) => ({
    limit: 1,
    types: [`t${n}`],
    coversAll: false,
    fillsBatches: false,
  }));
  for (const [n, request] of requests.slice(0, 16).entries()) caller.keepHint(request, { n });
  const [fourth, last] = [claimed(requests[3]), claimed(requests[16])];
  expect(caller.hintFor(fourth)).toEqual({ n: 3 });
  expect(caller.hintFor(last)).toBeUndefined();
  caller.keepHint(last, { n: 16 });
  expect([caller.hintFor(fourth), caller.hintFor(last)]).toEqual([undefined, { n: 16 }]);
});
