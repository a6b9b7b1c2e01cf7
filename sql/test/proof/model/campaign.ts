/** Plays many scenarios, and reports the first that fails, shrunk to as few steps as possible. */
import * as fc from "fast-check";
import type { Kernel } from "./kernel.ts";
import { FailedScenario, play } from "./play/play.ts";
import { scenarios } from "./scenario.ts";

export interface Campaign {
  readonly seed: number;
  /** The path to one scenario of a seed, shrunk or not, as a reproduction states it. */
  readonly path?: string;
  /** The number of scenarios. */
  readonly runs: number;
  /** The maximum number of steps of a scenario. */
  readonly steps: number;
  /** How long a failing scenario may be shrunk, in milliseconds. */
  readonly shrinkFor?: number;
}

export interface CampaignResult {
  /** The number of steps that were not idle, until the first failure. */
  readonly steps: number;
  /** A description of the shortest failing scenario. */
  readonly reproduction: string | null;
  /** The number of its steps. */
  readonly length: number;
  readonly path: string | null;
}

const defaultShrinkFor = 60_000;

/** Plays scenarios until one fails or all have passed. */
export async function playCampaign(kernel: Kernel, campaign: Campaign): Promise<CampaignResult> {
  const { seed, path, runs, steps, shrinkFor = defaultShrinkFor } = campaign;
  let played = 0;
  let shortest: FailedScenario | undefined;
  let failedAt = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(scenarios(steps), async (scenario) => {
    // After that time every scenario counts as passed, so the shortest failure found so far stays.
    if (Date.now() > failedAt + shrinkFor) return;
    try {
      const done = await play(kernel, scenario);
      if (shortest === undefined) played += done;
    } catch (error) {
      if (!(error instanceof FailedScenario)) throw error;
      failedAt = Math.min(failedAt, Date.now());
      shortest = error;
      throw error;
    }
  });
  const details = await fc.check(property, {
    seed,
    numRuns: runs,
    ...(path === undefined ? {} : { path, endOnFailure: true }),
  });
  if (!details.failed) return { steps: played, reproduction: null, length: 0, path: null };
  if (shortest === undefined) throw details.errorInstance;
  return {
    steps: played,
    reproduction: describe(shortest, campaign, details.counterexamplePath),
    length: shortest.story.length,
    path: details.counterexamplePath,
  };
}

/** Describes what went wrong, the steps that lead to it, and how to play them again. */
function describe(failure: FailedScenario, campaign: Campaign, path: string | null): string {
  const { seed, steps } = campaign;
  return [
    `The kernel and the model disagree: ${failure.message}`,
    ...failure.story.map((line, index) => `  ${index + 1}. ${line}`),
    `Play it again: JOBFORGE_MODEL_SEED=${seed} JOBFORGE_MODEL_PATH=${path} JOBFORGE_MODEL_STEPS=${steps} npx vitest run sql/test/proof/model.test.ts`,
  ].join("\n");
}
