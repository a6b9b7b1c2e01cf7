/**
 * The runs that the worker holds: from their claim until the database has confirmed their end, or their lease is lost.
 * Every heartbeat lists them.
 */
import type { RunKey } from "../claiming/protocol.ts";
import type { Run } from "./run.ts";

export class HeldRuns {
  readonly #runs = new Map<string, Run>();

  get size(): number {
    return this.#runs.size;
  }

  /** What a heartbeat lists: the id and the attempt of each run. */
  keys(): RunKey[] {
    return Array.from(this.#runs.values(), ({ id, attempt }) => ({ id, attempt }));
  }

  /** The run of this job, in whichever attempt. */
  ofJob(id: string): Run | undefined {
    return this.#runs.get(id);
  }

  /** The run of this job in this attempt. */
  find({ id, attempt }: RunKey): Run | undefined {
    const run = this.#runs.get(id);
    return run?.attempt === attempt ? run : undefined;
  }

  add(run: Run): void {
    this.#runs.set(run.id, run);
  }

  /** The worker no longer holds the run: the database has confirmed its end, or its lease is lost. */
  letGo(run: Run): void {
    run.close();
    if (this.#runs.get(run.id) === run) this.#runs.delete(run.id);
  }
}
