/**
 * Aborts runs: at their timeout, when they were canceled or lost, and when the worker shuts down. It also decides about
 * a handler that does not return after its signal was aborted: the run is given up and its slot becomes free.
 */
import type { JobAbortedError } from "../errors.ts";
import type { WorkerLog } from "../reporting/log.ts";
import { Deadlines } from "./deadlines.ts";
import { abortReasons, conclude } from "./ending.ts";
import { Overruns } from "./overruns.ts";
import type { Run, Verdict } from "./run.ts";

export interface AbortsParts {
  readonly log: WorkerLog;
  /** The time that a handler may continue after its signal was aborted. */
  readonly graceMs: number;
  /** Whether the schedule of a run that ignores its timeout waits for the handler. */
  readonly waitsForOverruns: boolean;
  /** Whether the run has started and not ended. */
  isOpen(run: Run): boolean;
  end(run: Run, verdict: Verdict): void;
  /** Frees the slot of a run that stays open. */
  freeSlot(run: Run): void;
}

export class Aborts {
  readonly #parts: AbortsParts;
  readonly #deadlines = new Deadlines();
  readonly #overruns: Overruns;

  constructor(parts: AbortsParts) {
    this.#parts = parts;
    this.#overruns = new Overruns(parts.waitsForOverruns);
  }

  /** Sets the deadline of a run that has taken `elapsedMs` so far. */
  limitTime(run: Run, elapsedMs: number): void {
    const { timeoutMs, hasDefaultTimeout } = run.type;
    if (timeoutMs === undefined) {
      this.#deadlines.clear(run);
      return;
    }
    const timedOut = (): void => this.abort(run, abortReasons.timeout(timeoutMs, hasDefaultTimeout));
    this.#deadlines.set(run, timeoutMs - elapsedMs, timedOut);
  }

  abort(run: Run, reason: JobAbortedError, graceMs: number = this.#parts.graceMs): void {
    run.abort(reason);
    if (this.#parts.isOpen(run)) this.#waitFor(run, graceMs);
  }

  /** Ends a run whose handler does not return, for the reason of its abort. */
  end(run: Run): void {
    void this.#end(run);
  }

  /** Ends the runs whose handlers ignore their timeout: nothing will keep their leases. */
  async endOverruns(): Promise<void> {
    await Promise.all(this.#overruns.all.map((run) => this.#end(run)));
  }

  /** The run has ended. */
  clear(run: Run): void {
    this.#overruns.delete(run);
    this.#deadlines.clear(run);
  }

  stop(): void {
    this.#deadlines.stop();
  }

  #waitFor(run: Run, graceMs: number): void {
    this.#deadlines.set(run, graceMs, () => this.#giveUp(run));
  }

  /** The handler ignores its signal. It cannot be stopped, but the worker no longer waits for it. */
  #giveUp(run: Run): void {
    if (run.state === "ending") {
      this.#waitFor(run, this.#parts.graceMs);
      return;
    }
    if (this.#overruns.accepts(run)) {
      this.#waitForHandler(run);
      return;
    }
    const reason = run.aborted?.kind ?? null;
    if (!this.#overruns.has(run)) {
      const message = "The handler ignores its aborted signal; its slot becomes free while it continues";
      this.#parts.log.job("error", run, { reason }, message);
    }
    this.end(run);
  }

  async #end(run: Run): Promise<void> {
    this.#parts.end(run, await conclude(run, { thrown: run.aborted }));
  }

  /** Frees the slot of a run that has run into its timeout, and ends it when its handler returns, or at the latest. */
  #waitForHandler(run: Run): void {
    if (!this.#parts.isOpen(run)) return;
    const message = "The handler ignores its timeout; its slot becomes free, and its schedule waits for it";
    this.#parts.log.job("error", run, { reason: "timeout" }, message);
    this.#deadlines.set(run, this.#overruns.add(run), () => this.#giveUp(run));
    this.#parts.freeSlot(run);
  }
}
