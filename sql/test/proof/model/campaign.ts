/** Plays many scenarios, and tells of the first that fails in as few steps as can be found. */
import * as fc from "fast-check";
import type { Kernel } from "./kernel.ts";
import { FailedScenario, play } from "./play/play.ts";
import { scenarios } from "./scenario.ts";

export interface Campaign {
  readonly seed: number;
  /** Leads to one scenario of a seed, shrunk or not: what a reproduction names. */
  readonly path?: string;
  /** How many scenarios. */
  readonly runs: number;
  /** How many steps a scenario has at most. */
  readonly steps: number;
  /** How long a failing scenario may be made shorter, in milliseconds. */
  readonly shrinkFor?: number;
}

export interface CampaignResult {
  /** Steps that did something, until the first failure. */
  readonly steps: number;
  /** The shortest failing scenario that was found, in words. */
  readonly reproduction: string | null;
  /** How many steps it has. */
  readonly length: number;
  readonly path: string | null;
}

const defaultShrinkFor = 60_000;

/** Plays scenarios until one fails or all have gone well. */
export async function playCampaign(kernel: Kernel, campaign: Campaign): Promise<CampaignResult> {
  const { seed, path, runs, steps, shrinkFor = defaultShrinkFor } = campaign;
  let played = 0;
  let shortest: FailedScenario | undefined;
  let failedAt = Number.POSITIVE_INFINITY;
  const property = fc.asyncProperty(scenarios(steps), async (scenario) => {
    // Whatever has not been tried by then counts as going well, which leaves the shortest failure as it is.
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

/** What went wrong, the steps that lead to it, and how to play them again. */
function describe(failure: FailedScenario, campaign: Campaign, path: string | null): string {
  const { seed, steps } = campaign;
  return [
    `The kernel and the model disagree: ${failure.message}`,
    ...failure.story.map((line, index) => `  ${index + 1}. ${line}`),
    `Play it again: JOBFORGE_MODEL_SEED=${seed} JOBFORGE_MODEL_PATH=${path} JOBFORGE_MODEL_STEPS=${steps} npx vitest run sql/test/model.test.ts`,
  ].join("\n");
}
