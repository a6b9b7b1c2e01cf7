/** Plays a short, fixed part of a tour on the server of the test run. */
import { expect, inject } from "vitest";
import { run, type TourResult } from "../src/run.ts";
import type { Tour } from "../src/tour.ts";

/** Steps take milliseconds, but other tests run at the same time. */
export const timeout = 300_000;

/** Expects that every attack of the first `count` steps fails. Returns what was seen. */
export async function expectAllFail(tour: Tour, count: number, seed = 16): Promise<TourResult> {
  const log: string[] = [];
  const { violations, tours } = await run({
    ...{ server: inject("server"), tours: [tour], seed, count },
    onProgress: (message) => log.push(message),
  });
  expect(violations, log.join("\n")).toEqual([]);
  const [played] = tours;
  if (played === undefined) throw new Error("no tour was played");
  expect(played.steps).toBe(count);
  return played;
}
