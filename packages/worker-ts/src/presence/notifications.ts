/** Listens to the database's notifications: a job may be due, or a job of this worker was canceled. */
import type { Listener } from "@jobforge/sdk-ts";
import type { Backend } from "../backend.ts";
import type { HandOver } from "../claiming/hand-over.ts";
import type { LoopSignal } from "../claiming/signal.ts";
import type { HeldRuns } from "../running/held-runs.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Idle } from "./idle.ts";
import type { Outage } from "./outage.ts";

export interface NotificationParts {
  readonly backend: Backend;
  readonly outage: Outage;
  readonly signal: LoopSignal;
  readonly idle: Idle;
  readonly heartbeat: Heartbeat;
  readonly held: HeldRuns;
  readonly handOver: HandOver | undefined;
  /** The instance that heartbeats name. */
  readonly instance: string;
}

export class Notifications {
  readonly #parts: NotificationParts;
  readonly #types: ReadonlySet<string>;
  #listener: Promise<Listener> | undefined;

  constructor(parts: NotificationParts) {
    this.#parts = parts;
    this.#types = new Set(parts.backend.types);
  }

  /** Listens from now on. The transport replaces its connection when that is lost. */
  open(): void {
    const { backend, outage, heartbeat, handOver, instance } = this.#parts;
    this.#listener = backend.listen?.({
      instance: handOver === undefined ? undefined : instance,
      onDue: (type, time) => this.#due(type, time),
      onHanded: (id) => handOver?.arrived([id]),
      onCancel: () => void heartbeat.beat(),
      onState: (state, error) => {
        if (state === "up") outage.worked("listen");
        else outage.failed("listen", error);
        this.#setListening(state === "up");
      },
    });
  }

  async close(): Promise<void> {
    this.#parts.outage.forget("listen");
    await (await this.#listener)?.close();
  }

  #setListening(isListening: boolean): void {
    const { idle, held, heartbeat, handOver } = this.#parts;
    idle.setListening(isListening);
    handOver?.setListening(isListening);
    // Notifications may have been missed meanwhile: the response to a heartbeat names canceled jobs, and jobs that were
    // handed over. A worker that does not listen offers nothing.
    if ((isListening && held.size > 0) || heartbeat.isMarked) void heartbeat.beat();
  }

  #due(type: string, time: string | undefined): void {
    const { signal, idle } = this.#parts;
    if (type !== "*" && !this.#types.has(type)) return;
    if (time === undefined) signal.wake();
    else idle.comesAt(time);
  }
}
