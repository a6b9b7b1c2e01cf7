/**
 * Reads what the database's policies say about the handled types: their timeouts, and the keys that must not be logged.
 * A policy is read when the first job of its type is claimed, and again after a minute.
 */
import type { DatabaseParts } from "../backend.ts";
import { policyMaxAgeMs } from "../defaults.ts";
import type { HandledType } from "../handled-type.ts";
import type { WorkerLog } from "../reporting/log.ts";
import type { Runner } from "./runner.ts";

export class Policies {
  readonly #database: DatabaseParts | undefined;
  readonly #log: WorkerLog;
  readonly #runner: Runner;
  readonly #readAt = new Map<HandledType, number>();

  /** Without a database there are no policies, and the definitions decide. */
  constructor(database: DatabaseParts | undefined, log: WorkerLog, runner: Runner) {
    this.#database = database;
    this.#log = log;
    this.#runner = runner;
  }

  /** Reads the type's policy unless it is fresh. Jobs do not wait for it: their timeout is set when it is known. */
  refresh(type: HandledType, now: number): void {
    if (this.#database === undefined) return;
    const readAt = this.#readAt.get(type);
    if (readAt !== undefined && now - readAt < policyMaxAgeMs) return;
    this.#readAt.set(type, now);
    void this.#read(this.#database, type);
  }

  async #read(database: DatabaseParts, type: HandledType): Promise<void> {
    try {
      const hasNewTimeout = type.apply(await database.policy(type.name));
      if (hasNewTimeout) this.#runner.updateTimeouts(type);
    } catch (error) {
      this.#log.debug({ err: error, job_type: type.name }, "The type's policy could not be read");
    }
  }
}
