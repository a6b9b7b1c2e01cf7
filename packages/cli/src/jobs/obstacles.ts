/** What keeps a queued job from starting, as the database explains it. */
import type { JobForge, JobReason } from "@jobforge/sdk-ts";

/** Reasons of a job that takes its usual course: it waits for its time or its turn, runs, or is finished. */
const usual: ReadonlySet<string> = new Set([
  ...["scheduled", "deferred", "retrying", "behind", "next"],
  ...["running", "succeeded", "failed", "dead", "canceled"],
]);

/** Returns the obstacles of a job that an operator must remove, such as a gate or a missing worker. */
export async function obstaclesOf(
  forge: JobForge,
  id: string,
  tenantId: string,
): Promise<readonly JobReason[]> {
  const reasons = (await forge.explain(id, { tenantId })) ?? [];
  return reasons.filter(({ code }) => !usual.has(code));
}
