/** All checks at the end of a run. */
import type { Check } from "./check.ts";
import { cancelsHold, children, finishesOnce, keysOnce, nothingLost } from "./jobs.ts";
import { serialKeys, tenantLimit, typeLimit } from "./limits.ts";
import { audit, leftovers, schedulesOnce, usage } from "./records.ts";
import { attemptsComplete, effectsOnce, executionsEqualAttempts, fences } from "./runs.ts";
import { joinsComplete, workflowsEnd } from "./workflows.ts";

export { type Check, findViolations } from "./check.ts";
export { roomsNow } from "./jobs.ts";
export { limitsNow } from "./limits.ts";

export const checks: readonly Check[] = [
  finishesOnce,
  nothingLost,
  keysOnce,
  children,
  cancelsHold,
  attemptsComplete,
  executionsEqualAttempts,
  fences,
  effectsOnce,
  serialKeys,
  typeLimit,
  tenantLimit,
  schedulesOnce,
  audit,
  usage,
  leftovers,
  workflowsEnd,
  joinsComplete,
];
