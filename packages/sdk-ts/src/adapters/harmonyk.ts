/** The jobs library of the Harmonyk design, on JobForge: its names, signatures and formulas. */
import { createHash, randomUUID } from "node:crypto";
import { globalTenant } from "../arguments/names.ts";
import type { JobForgeClient } from "../client.ts";
import { defineJob } from "../define/define-job.ts";
import { retryDelayMs } from "../define/retry.ts";
import type { Job } from "../jobs/job.ts";
import { toJson, toStorableJson } from "../json.ts";
import { fromRow } from "../rows.ts";
import { bounds, type JobStatus, retryPresets } from "../words.ts";
import { fenceOf, HeldJobs, type Hold } from "./held.ts";

/** The states of a job in this design. */
export type HarmonykJobStatus = "queued" | "running" | "success" | "failed";

/** How many failures of a job are retried. The job is executed once more than that. */
// biome-ignore lint/style/useNamingConvention: the name is part of the Harmonyk design
export const DEFAULT_MAX_ATTEMPTS = 5;

/** The wait after the given number of failures: 1 s, 2 s, 4 s and so on, at most 60 s. */
export function getBackoffDelayMs(attempts: number): number {
  return retryDelayMs(retryPresets.harmonyk, attempts);
}

/** Whether a job in this state, with this number of failures, may run again. */
export function canRetry(
  status: HarmonykJobStatus,
  attempts: number,
  maxAttempts: number = DEFAULT_MAX_ATTEMPTS,
): boolean {
  return status !== "success" && status !== "running" && attempts < maxAttempts;
}

/** `<type>::<orgId|global>::<payload as JSON with sorted keys>`. Equal jobs have equal keys. */
export function makeJobDedupeKey(
  type: string,
  orgId: string | null | undefined,
  payload: Readonly<Record<string, unknown>> = {},
): string {
  const plain: unknown = JSON.parse(toJson(payload, "payload").text);
  return `${type}::${orgId ?? "global"}::${sortedJson(plain)}`;
}

/** JSON with sorted keys. Written here, because JSON.stringify puts keys that are integers first, in another order. */
function sortedJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(sortedJson).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `{${entries.map(([key, inner]) => `${JSON.stringify(key)}:${sortedJson(inner)}`).join(",")}}`;
}

export interface EnqueueJobInput {
  readonly type: string;
  readonly orgId?: string | null | undefined;
  readonly payload?: Record<string, unknown> | undefined;
  readonly runAt?: Date | null | undefined;
}

export interface JobsRepository {
  enqueue(input: EnqueueJobInput): Promise<string>;
  markSuccess(id: string): Promise<void>;
  markFailure(id: string, error: string): Promise<void>;
}

/** A row of the design's table. */
export interface HarmonykJob {
  readonly id: string;
  readonly type: string;
  readonly orgId: string | null;
  readonly payload: Record<string, unknown>;
  readonly status: HarmonykJobStatus;
  /** The number of failed runs before this run, or before the last one. */
  readonly attempts: number;
  readonly nextRunAt: Date;
  readonly lastError: string | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

interface RetryHold extends Hold {
  /** The number of failed runs if this run fails, too. */
  readonly failures: number;
  /** The database's clock minus this machine's, in milliseconds, at the claim. */
  readonly skew: number;
}

export interface JobsRepositoryOptions {
  /** Whether a job is merged with an equal one that is queued or running, by `makeJobDedupeKey`. Default false. */
  readonly dedupe?: boolean | undefined;
  /** The worker id for claims. Default: a random one. */
  readonly workerId?: string | undefined;
  /** How many failures of a job are retried. Default 5. */
  readonly maxAttempts?: number | undefined;
}

/**
 * The repository on JobForge. `markSuccess` and `markFailure` accept only jobs that this very object has claimed; any
 * other id is a JobNotHeldError. Retries wait as `getBackoffDelayMs` says, whatever the policy of the type is.
 */
export class JobForgeJobsRepository implements JobsRepository {
  readonly #forge: JobForgeClient;
  readonly #held = new HeldJobs<RetryHold>();
  readonly #workerId: string;
  readonly #dedupe: boolean;
  readonly #executions: number;

  constructor(forge: JobForgeClient, options: JobsRepositoryOptions = {}) {
    this.#forge = forge;
    this.#workerId = options.workerId ?? `harmonyk-${randomUUID()}`;
    this.#dedupe = options.dedupe ?? false;
    this.#executions = (options.maxAttempts ?? DEFAULT_MAX_ATTEMPTS) + 1;
  }

  async enqueue({ type, orgId, payload = {}, runAt }: EnqueueJobInput): Promise<string> {
    const { id } = await this.#forge.enqueue(defineJob({ type }), payload, {
      tenantId: orgId ?? globalTenant,
      runAt: runAt ?? undefined,
      maxAttempts: this.#executions,
      dedupeKey: this.#dedupe ? shortKey(makeJobDedupeKey(type, orgId, payload)) : undefined,
    });
    return id;
  }

  /** Claims up to `limit` runnable jobs, of the given types or of any type. */
  async claim(limit: number, types?: readonly string[]): Promise<HarmonykJob[]> {
    const rows = await this.#forge.transport.call<object[]>("jobforge_claim_jobs", {
      p_worker_id: this.#workerId,
      p_limit: limit,
      p_types: types,
    });
    return rows.map((row) => {
      const job = fromRow<Job>(row);
      this.#held.add(job.id, {
        workerId: this.#workerId,
        attempt: job.attempts,
        failures: job.attempts - job.uncounted,
        skew: (job.lockedAt?.getTime() ?? Date.now()) - Date.now(),
      });
      return harmonykJob(job);
    });
  }

  markSuccess(id: string): Promise<void> {
    return this.#end(id, () => ({ p_status: "succeeded" }));
  }

  /** Queues the job again after its backoff. After its last execution, the job fails permanently. */
  markFailure(id: string, error: string): Promise<void> {
    return this.#end(id, ({ failures, skew }) => ({
      p_status: "failed",
      p_error: toStorableJson({ message: error }, "error"),
      p_retry_at: new Date(Date.now() + skew + getBackoffDelayMs(failures)),
    }));
  }

  /** Extends the lease of a job that takes long. Without a heartbeat, a claim is lost after five minutes. */
  async heartbeat(id: string): Promise<void> {
    await this.#forge.transport.call("jobforge_heartbeat_job", fenceOf(id, this.#held.get(id)));
  }

  /** The job in the form of this design; undefined if the organization has no job with this id. */
  async get(id: string, orgId?: string | null): Promise<HarmonykJob | undefined> {
    const job = await this.#forge.get(id, { tenantId: orgId ?? globalTenant });
    return job === undefined ? undefined : harmonykJob(job);
  }

  async #end(id: string, ending: (hold: RetryHold) => Readonly<Record<string, unknown>>): Promise<void> {
    await this.#held.end(id, (hold) =>
      this.#forge.transport.call("jobforge_complete_job", { ...fenceOf(id, hold), ...ending(hold) }),
    );
  }
}

const statuses: Readonly<Record<JobStatus, HarmonykJobStatus>> = {
  queued: "queued",
  running: "running",
  succeeded: "success",
  failed: "failed",
  dead: "failed",
  canceled: "failed",
};

function harmonykJob(job: Job): HarmonykJob {
  const executions = job.attempts - job.uncounted;
  return {
    id: job.id,
    type: job.type,
    orgId: job.tenantId === globalTenant ? null : job.tenantId,
    payload: job.payload as Record<string, unknown>,
    status: statuses[job.status],
    attempts: job.status === "queued" ? executions : Math.max(0, executions - 1),
    nextRunAt: job.runAt,
    lastError: job.lastError ?? null,
    createdAt: job.createdAt,
    updatedAt: job.updatedAt,
  };
}

/** A dedupe key has at most 1024 bytes. A longer key is replaced by its hash. */
function shortKey(key: string): string {
  return Buffer.byteLength(key) <= bounds.keyBytes.max ? key : createHash("sha256").update(key).digest("hex");
}
