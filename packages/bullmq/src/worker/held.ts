/** The runs that a worker holds in Redis, each with the token of its lock. */
import type { RunKey } from "@jobforge/worker-ts/runtime";
import type { JobDocument } from "../document.ts";
import type { BullQueue, StoredJob } from "../queues.ts";

export interface BullRun extends RunKey {
  readonly queue: BullQueue;
  readonly stored: StoredJob;
  readonly document: JobDocument;
  /** The fence: Redis accepts an end of the run only with this token. */
  readonly token: string;
  /** Executions before this one that count. */
  readonly counted: number;
  /** Whether Redis has said that the job was canceled. */
  isCanceled: boolean;
}

export class BullRuns {
  readonly #runs = new Map<string, BullRun>();

  add(run: BullRun): void {
    this.#runs.set(run.id, run);
  }

  find({ id, attempt }: RunKey): BullRun | undefined {
    const run = this.#runs.get(id);
    return run?.attempt === attempt ? run : undefined;
  }

  delete(run: BullRun): void {
    if (this.#runs.get(run.id) === run) this.#runs.delete(run.id);
  }
}
