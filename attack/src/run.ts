/** Runs tours one after the other and collects what they found. */
import type { TestServerAddress } from "@jobforge/testing";
import { Steps, type Tour, type Violation } from "./tour.ts";

export interface RunOptions {
  readonly server: TestServerAddress;
  readonly tours: readonly Tour[];
  readonly seed: number;
  /** The most steps of each tour. */
  readonly count?: number | undefined;
  /** How long all tours together may take. */
  readonly minutes?: number | undefined;
  /** Called with messages for the user during the run. */
  onProgress(message: string): void;
}

export interface TourResult {
  readonly tour: string;
  readonly steps: number;
  /** How often each outcome was seen, such as an SQLSTATE or an HTTP status. */
  readonly outcomes: Readonly<Record<string, number>>;
}

export interface RunResult {
  readonly seed: number;
  readonly tours: readonly TourResult[];
  readonly violations: readonly Violation[];
}

export async function run(options: RunOptions): Promise<RunResult> {
  const { server, tours, seed, count, minutes, onProgress } = options;
  const results: TourResult[] = [];
  const violations: Violation[] = [];
  const began = performance.now();
  for (const [n, tour] of tours.entries()) {
    // A tour that ends early leaves its time to the later ones.
    const until =
      minutes === undefined ? undefined : began + ((n + 1) * minutes * 60_000) / Math.max(1, tours.length);
    onProgress(`${tour.name}: ${tour.about}`);
    const steps = new Steps({ tour: tour.name, seed, count, until, onProgress });
    await tour.play(server, steps);
    onProgress(`${tour.name}: ${steps.number} steps, ${steps.violations.length} violations`);
    const outcomes = [...steps.outcomes].sort(([, a], [, b]) => b - a);
    results.push({ tour: tour.name, steps: steps.number, outcomes: Object.fromEntries(outcomes) });
    violations.push(...steps.violations);
  }
  return { seed, tours: results, violations };
}
