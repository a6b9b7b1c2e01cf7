/**
 * Jobs that enqueues hand to this worker, without a claim. While the worker is idle and listens, its heartbeats offer
 * its free slots. A notification names the job, and the worker receives it and lets it start. If the notification is
 * lost, the response to the next heartbeat names the job. Until a job is received, heartbeats list it as held, so that
 * the database does not take it back meanwhile.
 */
import type { Backend } from "../backend.ts";
import type { HandledType } from "../handled-type.ts";
import type { Outage } from "../presence/outage.ts";
import type { Meter } from "../reporting/meter.ts";
import type { HeldRuns } from "../running/held-runs.ts";
import type { Runner } from "../running/runner.ts";
import type { Intake } from "./intake.ts";
import type { ClaimedJob, RunKey } from "./protocol.ts";

export interface HandOverParts {
  readonly receive: NonNullable<Backend["receive"]>;
  readonly types: readonly HandledType[];
  readonly held: HeldRuns;
  readonly intake: Intake;
  readonly runner: Runner;
  readonly meter: Meter;
  readonly outage: Outage;
}

export class HandOver {
  readonly #parts: HandOverParts;
  readonly #types: readonly string[];
  readonly #arriving = new Set<string>();
  #unasked: string[] = [];
  #receiving: Promise<void> = Promise.resolve();
  #isListening = false;
  #mode: "taking" | "handing back" | "closed" = "taking";

  constructor(parts: HandOverParts) {
    this.#parts = parts;
    // A free slot may be useless to a type with a cap, and batches are filled by claims.
    this.#types = parts.types
      .filter((type) => !type.isCapped && type.batchSize === 1)
      .map(({ name }) => name);
  }

  /** The types that an idle worker takes; undefined if it takes none. */
  get offered(): readonly string[] | undefined {
    return this.#isListening && this.#mode === "taking" && this.#types.length > 0 ? this.#types : undefined;
  }

  /** The runs that are being received. A job is handed over in its first attempt. */
  get keys(): readonly RunKey[] {
    return Array.from(this.#arriving, (id) => ({ id, attempt: 1 }));
  }

  /** Notifications arrive from now on, or no longer. */
  setListening(isListening: boolean): void {
    this.#isListening = isListening;
  }

  /** The worker offers nothing more. Jobs that are still handed to it go back. Resolves when none is being received. */
  async stop(): Promise<void> {
    this.#mode = "handing back";
    await this.#receiving;
  }

  /** The last heartbeat gives back what was handed to the worker. */
  close(): void {
    this.#mode = "closed";
  }

  /** Jobs were handed to this worker. One call receives those that arrive together. */
  arrived(ids: readonly string[]): void {
    if (this.#mode === "closed") return;
    for (const id of ids) {
      if (this.#arriving.has(id) || this.#parts.held.ofJob(id) !== undefined) continue;
      this.#arriving.add(id);
      this.#unasked.push(id);
      if (this.#unasked.length === 1)
        this.#receiving = Promise.all([this.#receiving, this.#receive()]).then(() => undefined);
    }
  }

  async #receive(): Promise<void> {
    const { receive, outage } = this.#parts;
    // Notifications of one commit come together.
    await Promise.resolve();
    const ids = this.#unasked.splice(0);
    try {
      this.#take(await receive(ids));
      outage.worked("claim");
      this.#forget(ids);
    } catch (error) {
      // The next notification or heartbeat that names them asks for them again.
      setTimeout(() => this.#forget(ids), outage.failed("claim", error)).unref();
    }
  }

  #forget(ids: readonly string[]): void {
    for (const id of ids) this.#arriving.delete(id);
  }

  #take(jobs: readonly ClaimedJob[]): void {
    const { intake, runner, meter } = this.#parts;
    if (this.#mode !== "taking") {
      intake.handBack(jobs);
      return;
    }
    meter.noteHanded(jobs.length);
    intake.receive(jobs);
    runner.startWaiting();
  }
}
