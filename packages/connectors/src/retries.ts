/** When a failed request is repeated. */
import type { JobContext } from "@jobforge/sdk-ts";
import { ConnectorError } from "./errors.ts";

const dayMs = 86_400_000;
/** An operator's proxy that is down is not the fault of a job: it waits this long without losing an attempt. */
const proxyWaitMs = 30_000;
const statusesWithRetryAfter = [408, 429, 503];

/** Whether a status is in a list such as `["2xx", "404"]`. */
export function hasStatus(list: readonly string[], status: number): boolean {
  return list.includes(String(status)) || list.includes(`${Math.floor(status / 100)}xx`);
}

/** The seconds that a response asks to wait: a number or a date. Garbage and times in the past count as nothing. */
export function retryAfterOf(
  status: number,
  header: string | string[] | undefined,
  now = Date.now(),
): number | undefined {
  if (!statusesWithRetryAfter.includes(status) || typeof header !== "string") return undefined;
  const text = header.trim();
  // `Date.parse` reads almost any text, so only the forms of HTTP are passed to it.
  const seconds = /^\d{1,10}$/.test(text)
    ? Number(text)
    : /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? .+/.test(text)
      ? Math.ceil((Date.parse(text) - now) / 1000)
      : Number.NaN;
  return seconds > 0 ? Math.min(seconds, dayMs / 1000) : undefined;
}

export interface RetryRules {
  /** Waits in seconds that the tenant's configuration sets, one after each failure; the last one repeats. */
  readonly schedule?: readonly number[] | undefined;
  /** The failure is final although its code is not. */
  isFinal?(error: ConnectorError): boolean;
}

/**
 * Ends a run whose request failed: as failed for good, or with a retry. The wait is the longest of what the policy, the
 * configuration and the server say. What a server asks for is only ever lengthened, and all jobs with the same
 * concurrency key wait for it. Never resolves.
 */
export async function endFailed(job: JobContext, thrown: unknown, rules: RetryRules = {}): Promise<never> {
  if (!(thrown instanceof ConnectorError)) throw thrown;
  if (thrown.code === "proxy_unavailable") return job.defer({ inMs: proxyWaitMs }, { counts: false });
  const asked = (thrown.details.retry_after ?? 0) * 1000;
  if (asked > 0) await holdKey(job, asked);
  if (thrown.isFinal || (rules.isFinal?.(thrown) ?? false))
    return job.fail(thrown.message, { ...thrown.details });
  const scheduled = (rules.schedule?.[Math.min(job.attempt, rules.schedule.length) - 1] ?? 0) * 1000;
  if (asked === 0 && scheduled === 0) throw thrown;
  const jitter = 1 + Math.random() * 0.1;
  const waitMs = Math.min(dayMs, Math.max(scheduled, asked * jitter));
  return job.retryAfter(waitMs, thrown, { atLeast: scheduled === 0 });
}

/** The failure of the request is what the run must end with, so a hold that fails is only logged. */
async function holdKey(job: JobContext, ms: number): Promise<void> {
  try {
    await job.holdKey(ms, "The server asked to wait (Retry-After).");
  } catch (error) {
    job.log.warn({ error: String(error) }, "The concurrency key could not be held");
  }
}
