/**
 * Waiting until a job has finished. If the transport can listen, a NOTIFY on `jobforge_done` ends the wait at once.
 * Notifications are best effort, so the guarantee is polling.
 */
import { checkTimeout } from "../arguments/values.ts";
import type { Artifacts } from "../artifacts/artifacts.ts";
import { startTimer } from "../deadline.ts";
import type { JobDefinition, JobOutput } from "../define/definition.ts";
import { checkOutput } from "../define/schema.ts";
import { ConnectionError, InvalidArgumentError } from "../errors.ts";
import { fromRow } from "../rows.ts";
import { JobCanceledError, JobFailedError, JobNotFoundError, WaitTimeoutError } from "../sdk-errors.ts";
import { sleep } from "../sleep.ts";
import type { CallArguments, Listener, Transport } from "../transport/transport.ts";
import type { JobStatus } from "../words.ts";
import type { Job, OfTenant } from "./job.ts";

export interface WaitOptions {
  /** Stops waiting and rejects with the signal's reason. The job goes on. */
  readonly signal?: AbortSignal | undefined;
  /** Stops waiting after this time and rejects with a WaitTimeoutError. The job goes on. Default: no limit. */
  readonly timeoutMs?: number | undefined;
}

/** For callers from JavaScript that pass a number: it would be ignored, and the wait would never end. */
export const waitHint = "Pass { timeoutMs: 30_000 } for half a minute, or nothing to wait for ever.";

/** In the kernel, a watch lasts ten minutes. */
const watchAgainMs = 8 * 60_000;
const lingerMs = 5000;

/** One LISTEN for all waiters. It is opened for the first waiter and closed a little after the last. */
export class DoneSignals {
  readonly #transport: Transport;
  readonly #waiting = new Map<string, Set<() => void>>();
  #listener: Promise<Listener | undefined> | undefined;
  #up = false;
  #lingering: NodeJS.Timeout | undefined;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether notifications can arrive now. */
  get isListening(): boolean {
    return this.#up;
  }

  /** Calls `onDone` at each notification for the job, until the returned function is called. */
  async subscribe(jobId: string, onDone: () => void): Promise<() => void> {
    const waiters = this.#waiting.get(jobId) ?? new Set();
    waiters.add(onDone);
    this.#waiting.set(jobId, waiters);
    clearTimeout(this.#lingering);
    this.#listener ??= this.#listen();
    await this.#listener;
    return () => {
      waiters.delete(onDone);
      if (waiters.size === 0) this.#waiting.delete(jobId);
      if (this.#waiting.size === 0) this.#lingering = setTimeout(() => void this.close(), lingerMs);
    };
  }

  async #listen(): Promise<Listener | undefined> {
    return await this.#transport.listen?.(["jobforge_done"], {
      onNotification: (_, jobId) => {
        for (const onDone of this.#waiting.get(jobId) ?? []) onDone();
      },
      onState: (state) => {
        this.#up = state === "up";
        // Notifications may have been missed, so every waiter checks again.
        for (const waiters of this.#waiting.values()) for (const onDone of waiters) onDone();
      },
    });
  }

  async close(): Promise<void> {
    clearTimeout(this.#lingering);
    const listener = this.#listener;
    this.#listener = undefined;
    this.#up = false;
    await (await listener)?.close();
  }
}

/** What jobforge_get_result returns. */
interface Outcome {
  readonly status: JobStatus;
  readonly result: unknown;
}

/** The job to wait for. */
export interface Waiting<D extends JobDefinition> extends WaitOptions, OfTenant {
  readonly id: string;
  readonly job?: D | undefined;
}

/** The output of the job if it succeeds. Otherwise rejects with a JobFailedError or a JobCanceledError. */
export async function waitForResult<D extends JobDefinition>(
  transport: Transport,
  signals: DoneSignals,
  artifacts: Artifacts,
  waiting: Waiting<D>,
): Promise<JobOutput<D>> {
  const { id, tenantId } = waiting;
  return await whileWaiting(waiting, "Job", async (stop) => {
    const ask = askFor(transport, { p_job_id: id, p_tenant_id: tenantId }, stop);
    const target = { look: () => look(ask, id), watch: () => watch(ask, id) };
    const outcome = await waitForEnd(target, signals, id, stop);
    if (outcome.status === "succeeded") {
      const result = await artifacts.resolve(outcome.result, { tenantId, signal: stop });
      return (await readOutput(waiting.job, result)) as JobOutput<D>;
    }
    const [row] = await ask<object[]>("jobforge_get_job");
    if (row === undefined) throw new JobNotFoundError(id);
    const job = fromRow<Job>(row);
    throw outcome.status === "canceled" ? new JobCanceledError(job) : new JobFailedError(job);
  });
}

/** Does work that waits, with a signal that is aborted when the caller's signal is or when the time is over. */
export async function whileWaiting<T>(
  { id, signal, timeoutMs }: WaitOptions & { readonly id: string },
  what: string,
  work: (stop: AbortSignal) => Promise<T>,
): Promise<T> {
  if (timeoutMs !== undefined) checkTimeout(timeoutMs);
  const stop = new AbortController();
  const onAbort = (): void => stop.abort(signal?.reason);
  signal?.addEventListener("abort", onAbort, { once: true });
  if (signal?.aborted) onAbort();
  const timer = startTimer(timeoutMs, () => stop.abort(new WaitTimeoutError(id, timeoutMs ?? 0, what)));
  try {
    return await work(stop.signal);
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", onAbort);
  }
}

export type Ask = <T>(name: string) => Promise<T>;

/** Calls about one job or workflow, until the signal is aborted. */
export function askFor(transport: Transport, job: CallArguments, signal: AbortSignal): Ask {
  return async <T>(name: string) => {
    signal.throwIfAborted();
    return await transport.call<T>(name, job, { signal });
  };
}

/** What a wait looks at. `watch` asks for a notification at its end. */
export interface WaitTarget<T extends { readonly status: JobStatus }> {
  look(): Promise<T>;
  watch(): Promise<void>;
}

export async function waitForEnd<T extends { readonly status: JobStatus }>(
  target: WaitTarget<T>,
  signals: DoneSignals,
  id: string,
  stop: AbortSignal,
): Promise<T> {
  const patience = new Patience();
  const first = await target.look().catch((error: unknown) => patience.tolerate(error));
  if (first !== undefined && hasEnded(first)) return first;
  let wake = new AbortController();
  stop.addEventListener("abort", () => wake.abort(), { once: true });
  const unsubscribe = await signals.subscribe(id, () => wake.abort());
  try {
    let watchedAt = Number.NEGATIVE_INFINITY;
    for (let looks = 0; ; looks += 1) {
      try {
        if (signals.isListening && Date.now() - watchedAt > watchAgainMs) {
          await target.watch();
          watchedAt = Date.now();
        }
        // After the watch: there is no notification for a job that finished before the watch was committed.
        const outcome = await target.look();
        if (hasEnded(outcome)) return outcome;
        patience.reset();
      } catch (error) {
        patience.tolerate(error);
      }
      await sleep(sleepBefore(looks, signals.isListening), wake.signal);
      stop.throwIfAborted();
      if (wake.signal.aborted) wake = new AbortController();
    }
  } finally {
    unsubscribe();
  }
}

async function look(ask: Ask, id: string): Promise<Outcome> {
  const outcome = await ask<Outcome | null>("jobforge_get_result");
  if (outcome === null) throw new JobNotFoundError(id);
  return outcome;
}

async function watch(ask: Ask, id: string): Promise<void> {
  try {
    await ask("jobforge_watch_job");
  } catch (error) {
    // The job was forgotten since the last look.
    if (error instanceof InvalidArgumentError && error.field === "jobId") throw new JobNotFoundError(id);
    throw error;
  }
}

function hasEnded({ status }: { readonly status: JobStatus }): boolean {
  return status !== "queued" && status !== "running";
}

/** Grows with the number of looks, with jitter. It is longer while notifications arrive. */
function sleepBefore(looks: number, isListening: boolean): number {
  const [first, longest] = isListening ? [1000, 10_000] : [50, 2000];
  return Math.min(longest, first * 1.5 ** looks) * (0.75 + Math.random() / 2);
}

/** Tolerates a database that cannot be reached, for example during a restart, for up to a minute. */
class Patience {
  #since: number | undefined;

  reset(): void {
    this.#since = undefined;
  }

  tolerate(error: unknown): undefined {
    this.#since ??= Date.now();
    const isTemporary = error instanceof ConnectionError && error.retryable;
    if (!isTemporary || Date.now() - this.#since > 60_000) throw error;
    return undefined;
  }
}

/**
 * The output of a stored result. A handler that returned nothing has no result, which is read as null. It becomes
 * undefined, unless the schema accepts only null.
 */
export async function readOutput(job: JobDefinition | undefined, result: unknown): Promise<unknown> {
  if (job?.output === undefined) return result ?? undefined;
  if (result !== null) return await checkOutput(job, result);
  return await checkOutput(job, undefined).catch(() => checkOutput(job, null));
}
