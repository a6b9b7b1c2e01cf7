/** Writes what definitions say about policies to the database. The kernel decides which settings are applied. */
import { isDeepStrictEqual } from "node:util";
import { checkText } from "../arguments/values.ts";
import type { JobDefinition } from "../define/definition.ts";
import { retryOf } from "../define/retry.ts";
import { InvalidArgumentError } from "../errors.ts";
import type { PolicyChanges } from "../groups/policies.ts";
import { fromRow, nameOf, toKeys } from "../rows.ts";
import type { CallOptions, Transport } from "../transport/transport.ts";
import { bounds, type KeptBecause } from "../words.ts";

export interface Difference {
  readonly key: string;
  readonly from: unknown;
  readonly to: unknown;
}

/** What a sync did, or would do, for one type. */
export interface PolicySync {
  readonly type: string;
  /** `created`: the type had the default policy before. Its changes are the differences from the default, if any. */
  readonly action: "created" | "changed" | "unchanged";
  readonly changes: readonly Difference[];
  /** The differences that stay: `from` is what the policy has, `to` what the definition says. */
  readonly kept: readonly Difference[];
  /** Why they stay: an operator has set these keys by hand, or a newer version of the application is in force. */
  readonly keptBecause: KeptBecause | undefined;
  /** Whether the database knew before that this version says this. A new version is always remembered. */
  readonly known: boolean;
  /** The version of the application whose definition is in force; undefined if it gave none. */
  readonly version: string | undefined;
  /** Who changed the policy last, before this sync; undefined if the type had the default policy. */
  readonly updatedBy: string | undefined;
}

export interface PolicySyncOptions {
  /**
   * The version of the application: any text, such as `1.4.2` or a commit. A version that
   * JobForge meets for the first time is the newest. An older version changes nothing.
   */
  readonly appVersion?: string | undefined;
  /** Applies the definitions in spite of keys that operators have set by hand, and of newer versions. */
  readonly force?: boolean | undefined;
  /** Returns what would change, and changes nothing. Workers may do this, too. */
  readonly dryRun?: boolean | undefined;
}

/**
 * Writes the policies of definitions. It writes only differences, and returns one result for each type, in order. If
 * there is nothing to write, the right to read policies is enough.
 */
export async function syncPolicies(
  transport: Transport,
  jobs: readonly JobDefinition[],
  options: PolicySyncOptions = {},
  call?: CallOptions,
): Promise<PolicySync[]> {
  const { appVersion, force = false, dryRun = false } = options;
  if (appVersion !== undefined) checkText(appVersion, "appVersion", bounds.appBytes);
  const wanted = policiesOf(jobs);
  if (wanted.size === 0) return [];
  if (!dryRun && !force) {
    const planned = await syncPolicies(transport, jobs, { appVersion, dryRun: true }, call);
    if (planned.every(({ action, known }) => known && action === "unchanged")) return planned;
  }
  const args = {
    p_policies: Object.fromEntries(wanted),
    p_version: appVersion,
    p_force: force,
    p_dry_run: dryRun,
  };
  const rows = await transport.call<PolicySync[]>("jobforge_sync_policies", args, call);
  const results = new Map(rows.map((row) => [row.type, readRow(row)]));
  return [...wanted.keys()].flatMap((type) => results.get(type) ?? []);
}

/** The policies of definitions under the kernel's keys, by type. */
export function policiesOf(jobs: readonly JobDefinition[]): Map<string, Record<string, unknown>> {
  const wanted = new Map<string, Record<string, unknown>>();
  for (const job of jobs) {
    const policy = toKeys(policyOf(job));
    if (wanted.has(job.type) && !isDeepStrictEqual(wanted.get(job.type), policy))
      throw new InvalidArgumentError(`Two definitions of ${job.type} have different policies`, {
        field: "jobs",
      });
    wanted.set(job.type, policy);
  }
  return wanted;
}

/** The policy settings of a definition, and nothing else. */
export function policyOf(job: JobDefinition): PolicyChanges {
  const { timeoutMs, leaseMs, auditAction, keepHistory, retentionDays, maxPriority, redact, keepLogs } = job;
  return {
    ...retryOf(job),
    timeoutMs,
    leaseMs,
    auditAction,
    keepHistory,
    retentionDays,
    maxPriority,
    redact,
    keepLogs,
  };
}

function readRow(row: PolicySync): PolicySync {
  const result = fromRow<PolicySync>(row);
  return { ...result, changes: result.changes.map(named), kept: result.kept.map(named) };
}

function named(difference: Difference): Difference {
  return { ...difference, key: nameOf(difference.key) };
}
