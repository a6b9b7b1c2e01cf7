/** Prints the result of a run, and how to repeat what it found. */
import { formatTable, number } from "../../bench/src/table.ts";
import type { RunResult } from "./run.ts";
import type { Violation } from "./tour.ts";

/** How many of a tour's outcomes are shown. */
const shownOutcomes = 6;
const shownViolations = 20;

/** The command that repeats a violation. Earlier steps of the tour are repeated, too, because steps may commit. */
export function repeat({ tour, seed, step }: Violation, postgres: number): string {
  return `npm run attack -- --tours ${tour} --seed ${seed} --count ${step} --postgres ${postgres}`;
}

export function printResult({ seed, tours, violations }: RunResult, postgres: number): void {
  const rows = tours.map(({ tour, steps, outcomes }) => [
    tour,
    number(steps),
    Object.entries(outcomes)
      .slice(0, shownOutcomes)
      .map(([outcome, times]) => `${outcome} ×${number(times)}`)
      .join(", "),
  ]);
  console.log(`\n${formatTable(["tour", "steps", "outcomes"], rows)}\n`);
  for (const violation of violations.slice(0, shownViolations)) {
    const { tour, step, subject, what, request } = violation;
    console.log(
      `✗ ${tour}, step ${step}: ${subject}: ${what}\n  ${request}\n  ${repeat(violation, postgres)}\n`,
    );
  }
  if (violations.length > shownViolations) console.log(`… and ${violations.length - shownViolations} more\n`);
  console.log(
    violations.length === 0
      ? `Every attack failed. Seed ${seed}.`
      : `${violations.length} attacks succeeded. Seed ${seed}.`,
  );
}
