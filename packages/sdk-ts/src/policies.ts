/** Policies of types, and how definitions are written to them. */
import { isDeepStrictEqual } from "node:util";
import type { JobDefinition, RetryPreset } from "./definition.ts";
import { InvalidArgumentError } from "./errors.ts";

/** How a type behaves. */
export interface Policy {
  /** The type, or `*` when it has no policy of its own. */
  readonly type: string;
  readonly baseMs: number;
  /** Undefined caps at one year. */
  readonly capMs: number | undefined;
  readonly factor: number;
  readonly jitter: number;
  readonly maxAttempts: number;
  readonly timeoutMs: number | undefined;
  readonly leaseMs: number | undefined;
  readonly auditAction: string | undefined;
  readonly keepHistory: boolean;
  readonly retentionDays: number | undefined;
  readonly maxPriority: number | undefined;
  readonly redact: readonly string[];
  readonly updatedAt: Date | undefined;
  readonly updatedBy: string | undefined;
}

/** Changes of a policy. Null removes what can be absent. */
export interface PolicyChanges {
  /** Fills in `baseMs`, `capMs`, `factor` and `maxAttempts`; what is given besides wins. */
  readonly preset?: RetryPreset | undefined;
  readonly baseMs?: number | undefined;
  readonly capMs?: number | null | undefined;
  readonly factor?: number | undefined;
  readonly jitter?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly timeoutMs?: number | null | undefined;
  readonly leaseMs?: number | null | undefined;
  readonly auditAction?: string | null | undefined;
  readonly keepHistory?: boolean | undefined;
  readonly retentionDays?: number | null | undefined;
  readonly maxPriority?: number | null | undefined;
  readonly redact?: readonly string[] | undefined;
}

/** The numbers behind the presets' names, as the kernel has them. A test compares them. */
export const retryPresets: Readonly<
  Record<RetryPreset, Required<Pick<PolicyChanges, "baseMs" | "capMs" | "factor" | "maxAttempts">>>
> = {
  jobforge: { baseMs: 1000, capMs: 3_600_000, factor: 2, maxAttempts: 5 },
  harmonyk: { baseMs: 1000, capMs: 60_000, factor: 2, maxAttempts: 6 },
  atlas: { baseMs: 10_000, capMs: null, factor: 2, maxAttempts: 4 },
  processing: { baseMs: 30_000, capMs: 600_000, factor: 2, maxAttempts: 5 },
};

export interface SyncOptions {
  /** Only answers what would change. For policies it needs no more than the right to read them. */
  readonly dryRun?: boolean | undefined;
  /**
   * The name of the application whose code this is. Needed for schedules: those that it declared before and no longer does are disabled.
   * Given, but no schedule any more: all of them.
   */
  readonly app?: string | undefined;
  /** Only schedules of this tenant, for those who are no operators. */
  readonly tenantId?: string | undefined;
}

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

interface PolicyStore {
  policy(type: string): Promise<Policy>;
  setPolicy(type: string, changes: PolicyChanges): Promise<Policy>;
}

export async function syncPolicies(
  store: PolicyStore,
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
  const answers: PolicySync[] = [];
  for (const [type, policy] of wanted) {
    const current = await store.policy(type);
    const changes = differences(current, policy);
    const action = actionOf(current, policy, changes);
    if (action !== "unchanged" && !dryRun) await store.setPolicy(type, policy);
    answers.push({ type, action, changes });
  }
  return answers;
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
