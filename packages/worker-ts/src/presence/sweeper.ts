/**
 * Deletes the artifacts of jobs that are forgotten, if the worker has an artifact store. Every minute it looks at a
 * bounded number. The database hands out each only once, so any number of workers may do this.
 */
import { type Artifacts, ForbiddenError } from "@jobforge/sdk-ts";
import { sweepMs } from "../defaults.ts";
import type { WorkerLog } from "../reporting/log.ts";

/** The number of jobs of one call, and of calls in one minute. */
const perCall = 100;
const mostCalls = 20;

export class Sweeper {
  readonly #artifacts: Artifacts;
  readonly #log: WorkerLog;
  readonly #stop = new AbortController();
  #timer: NodeJS.Timeout | undefined;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(artifacts: Artifacts, log: WorkerLog) {
    this.#artifacts = artifacts;
    this.#log = log;
  }

  /** Sweeps every minute until `stop`. */
  start(): void {
    // Workers that were started together do not sweep together.
    this.#timer = setTimeout(
      () => {
        this.#sweeping = this.sweep().finally(() => {
          if (!this.#stop.signal.aborted) this.start();
        });
      },
      sweepMs * (0.5 + Math.random()),
    ).unref();
  }

  /** Sweeps now, until nothing is left or the limit is reached. Never rejects. */
  async sweep(): Promise<void> {
    const { signal } = this.#stop;
    try {
      for (let calls = 0; calls < mostCalls && !signal.aborted; calls += 1) {
        const { looked, deleted } = await this.#artifacts.sweep({ limit: perCall, signal });
        if (deleted > 0) this.#log.info({ artifacts: deleted }, "Artifacts of forgotten jobs were deleted");
        if (looked < perCall) return;
      }
    } catch (error) {
      if (signal.aborted || error instanceof ForbiddenError) return;
      this.#log.warn({ err: error }, "Artifacts of forgotten jobs could not be deleted; trying again later");
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    clearTimeout(this.#timer);
    await this.#sweeping;
  }
}
