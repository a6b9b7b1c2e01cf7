/** What the kernel's policies say about the types at hand: their timeouts, and what is not to be logged. Read when a type is met, and again after a minute. */

import type { Kernel } from "../claiming/kernel.ts";
import type { HandledType } from "../handled-type.ts";
import type { WorkerLog } from "../reporting/log.ts";

const FRESH_MS = 60_000;

export class Policies {
  readonly #kernel: Kernel;
  readonly #log: WorkerLog;
  readonly #changed: (type: HandledType) => void;
  readonly #readAt = new Map<HandledType, number>();

  constructor(kernel: Kernel, log: WorkerLog, changed: (type: HandledType) => void) {
    this.#kernel = kernel;
    this.#log = log;
    this.#changed = changed;
  }

  /** Sees to it that the type's policy is known soon. Jobs do not wait for it: their timeout is set when it is. */
  refresh(type: HandledType, now: number): void {
    const readAt = this.#readAt.get(type);
    if (readAt !== undefined && now - readAt < FRESH_MS) return;
    this.#readAt.set(type, now);
    void this.#read(type);
  }

  async #read(type: HandledType): Promise<void> {
    try {
      const { timeout_ms, redact } = await this.#kernel.policy(type.name);
      const before = type.timeoutMs;
      type.policyTimeoutMs = timeout_ms ?? undefined;
      type.hideKeys(redact ?? []);
      if (type.timeoutMs !== before) this.#changed(type);
    } catch (error) {
      this.#log.debug({ err: error, job_type: type.name }, "The type's policy could not be read");
    }
  }
}
