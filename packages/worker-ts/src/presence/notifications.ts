/** Listens to the database's notifications: a job may be due, or a job of this worker was canceled. */
import type { Listener } from "@jobforge/sdk-ts";
import type { Backend } from "../backend.ts";
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
    const { backend, outage, heartbeat } = this.#parts;
    this.#listener = backend.listen?.({
      onDue: (type, time) => this.#due(type, time),
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
    const { idle, held, heartbeat } = this.#parts;
    idle.setListening(isListening);
    // The notification of a cancel may have been missed meanwhile; the response to a heartbeat names canceled jobs.
    if (isListening && held.size > 0) void heartbeat.beat();
  }

  #due(type: string, time: string | undefined): void {
    const { signal, idle } = this.#parts;
    if (type !== "*" && !this.#types.has(type)) return;
    if (time === undefined) signal.wake();
    else idle.comesAt(time);
  }
}
