/**
 * Reads what the database's policies say about the handled types: their timeouts, and the keys that must not be logged.
 * A policy is read when the first job of its type is claimed, and again after a minute.
 */
import type { Kernel } from "../claiming/kernel.ts";
import { policyMaxAgeMs } from "../defaults.ts";
import type { HandledType } from "../handled-type.ts";
import type { WorkerLog } from "../reporting/log.ts";
import type { Runner } from "./runner.ts";

export class Policies {
  readonly #kernel: Kernel;
  readonly #log: WorkerLog;
  readonly #runner: Runner;
  readonly #readAt = new Map<HandledType, number>();

  constructor(kernel: Kernel, log: WorkerLog, runner: Runner) {
    this.#kernel = kernel;
    this.#log = log;
    this.#runner = runner;
  }

  /** Reads the type's policy unless it is fresh. Jobs do not wait for it: their timeout is set when it is known. */
  refresh(type: HandledType, now: number): void {
    const readAt = this.#readAt.get(type);
    if (readAt !== undefined && now - readAt < policyMaxAgeMs) return;
    this.#readAt.set(type, now);
    void this.#read(type);
  }

  async #read(type: HandledType): Promise<void> {
    try {
      const hasNewTimeout = type.apply(await this.#kernel.policy(type.name));
      if (hasNewTimeout) this.#runner.updateTimeouts(type);
    } catch (error) {
      this.#log.debug({ err: error, job_type: type.name }, "The type's policy could not be read");
    }
  }
}
