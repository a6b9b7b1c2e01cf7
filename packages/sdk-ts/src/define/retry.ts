/** The retry settings of a definition, as numbers. */
import { retryPresets } from "../words.ts";
import type { JobDefinition, RetryPolicy } from "./definition.ts";

/** Returns the numbers of a definition's `retry`, which may be the name of a preset; undefined if it has none. */
export function retryOf({ retry }: Pick<JobDefinition, "retry">): RetryPolicy | undefined {
  return typeof retry === "string" ? retryPresets[retry] : retry;
}
