/** The retry settings of a definition, as numbers, and the waits that follow from them. */
import { retryPresets } from "../words.ts";
import type { JobDefinition, RetryPolicy } from "./definition.ts";

/** The longest wait of a policy without a cap: a year. */
const longestWaitMs = 31_536_000_000;
/** More doublings change nothing, because the result is capped. */
const mostSteps = 100;

/** Returns the numbers of a definition's `retry`, which may be the name of a preset; undefined if it has none. */
export function retryOf({ retry }: Pick<JobDefinition, "retry">): RetryPolicy | undefined {
  return typeof retry === "string" ? retryPresets[retry] : retry;
}

/**
 * How long a job waits after its n-th failed or lost run, in milliseconds. Settings that the policy leaves out are
 * those of the preset `standard`. The kernel's function `jobforge.backoff` computes the same; a test compares both.
 */
export function retryDelayMs(
  policy: RetryPolicy,
  failures: number,
  random: () => number = Math.random,
): number {
  const { baseMs, capMs, factor } = retryPresets.standard;
  const steps = Math.min(Math.max(failures - 1, 0), mostSteps);
  const cap = policy.capMs === undefined ? capMs : (policy.capMs ?? longestWaitMs);
  const wait = Math.min(cap, (policy.baseMs ?? baseMs) * (policy.factor ?? factor) ** steps);
  return Math.round(wait * (1 + (policy.jitter ?? 0) * (2 * random() - 1)));
}
