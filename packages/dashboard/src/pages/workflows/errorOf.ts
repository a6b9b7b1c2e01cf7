import type { Step } from "../../api/workflows.ts";
import { errorText } from "../../lib/errors.ts";
import { field } from "../../lib/json.ts";

/** The error of a step in one line. */
export function errorOf(step: Step): string | undefined {
  return errorText(field(step.exact, "error"))?.title;
}
