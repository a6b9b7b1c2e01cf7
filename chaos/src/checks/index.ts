/** All that is checked when a run is over. */
import { audit, leftovers, schedulesOnce, usage } from "./books.ts";
import type { Check } from "./check.ts";
import { cancelsHold, children, endsOnce, keysOnce, nothingLost } from "./jobs.ts";
import { serialKeys, tenantLimit, typeLimit } from "./order.ts";
import { attemptsComplete, effectsOnce, executionsEqualAttempts, fences } from "./runs.ts";

export { type Check, findViolations } from "./check.ts";
export { limitsNow } from "./order.ts";

export const checks: readonly Check[] = [
  endsOnce,
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
];
