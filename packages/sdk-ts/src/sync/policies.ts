/** Writes what definitions say about policies to the database. */
import { isDeepStrictEqual } from "node:util";
import type { JobDefinition } from "../define/definition.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { Policies, Policy, PolicyChanges } from "../groups/policies.ts";
import { retryPresets } from "../words.ts";

export interface Difference {
  readonly key: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** What a sync did, or would do, about one type. */
export interface PolicySync {
  readonly type: string;
  /** `created`: it had the default policy before. Its changes are those from the default, which may be none. */
  readonly action: "created" | "changed" | "unchanged";
  readonly changes: readonly Difference[];
}

export async function syncPolicies(
  policies: Policies,
  jobs: readonly JobDefinition[],
  dryRun: boolean,
): Promise<PolicySync[]> {
  const wanted = new Map<string, PolicyChanges>();
  for (const job of jobs) {
    const policy = policyOf(job);
    if (wanted.has(job.type) && !isDeepStrictEqual(wanted.get(job.type), policy))
      throw new InvalidArgumentError(`Two definitions of ${job.type} say different things`, {
        field: "jobs",
      });
    wanted.set(job.type, policy);
  }
  const results: PolicySync[] = [];
  for (const [type, policy] of wanted) {
    const current = await policies.get(type);
    const changes = differences(current, policy);
    const action = actionOf(current, policy, changes);
    if (action !== "unchanged" && !dryRun) await policies.set(type, policy);
    results.push({ type, action, changes });
  }
  return results;
}

/** What equals the default of the moment is written as well, or a later change of the default would change the type. */
function actionOf(
  current: Policy,
  wanted: PolicyChanges,
  changes: readonly Difference[],
): PolicySync["action"] {
  if (current.type !== "*") return changes.length === 0 ? "unchanged" : "changed";
  return Object.values(wanted).every((each) => each === undefined) ? "unchanged" : "created";
}

/** What a definition says about its type's policy, and nothing else. */
export function policyOf(job: JobDefinition): PolicyChanges {
  const { timeoutMs, leaseMs, auditAction, keepHistory, retentionDays, maxPriority, redact } = job;
  const retry = typeof job.retry === "string" ? retryPresets[job.retry] : job.retry;
  return { ...retry, timeoutMs, leaseMs, auditAction, keepHistory, retentionDays, maxPriority, redact };
}

function differences(current: Policy, wanted: PolicyChanges): Difference[] {
  return Object.entries(wanted).flatMap(([key, to]) => {
    const from = current[key as keyof Policy];
    return to === undefined || isDeepStrictEqual(from ?? null, to) ? [] : [{ key, from: from ?? null, to }];
  });
}
