/** Listens to the database's notifications: a job may be due, or a job of this worker was canceled. */
import type { Listener } from "@jobforge/sdk-ts";
import type { Kernel } from "../claiming/kernel.ts";
import type { LoopSignal } from "../claiming/signal.ts";
import type { HeldRuns } from "../running/held-runs.ts";
import type { Heartbeat } from "./heartbeat.ts";
import type { Idle } from "./idle.ts";
import type { Outage } from "./outage.ts";

const wakeChannel = "jobforge_wake";
const cancelChannel = "jobforge_cancel";

export interface NotificationParts {
  readonly kernel: Kernel;
  readonly outage: Outage;
  readonly signal: LoopSignal;
  readonly idle: Idle;
  readonly heartbeat: Heartbeat;
  readonly held: HeldRuns;
}

export class Notifications {
  readonly #parts: NotificationParts;
  readonly #types: ReadonlySet<string>;
  readonly #workerId: string;
  #listener: Promise<Listener> | undefined;

  constructor(parts: NotificationParts) {
    this.#parts = parts;
    this.#types = new Set(parts.kernel.types);
    // The database cuts ids to this length, because the payload of a notification is short.
    this.#workerId = parts.kernel.workerId.slice(0, 1000);
  }

  /** Listens from now on. The transport replaces its connection when that is lost. */
  open(): void {
    const { kernel, outage } = this.#parts;
    this.#listener = kernel.transport.listen?.([wakeChannel, cancelChannel], {
      onNotification: (channel, payload) => this.#receive(channel, payload),
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

  #receive(channel: string, payload: string): void {
    const { signal, idle, heartbeat } = this.#parts;
    if (channel === cancelChannel) {
      if (payload === this.#workerId) void heartbeat.beat();
      return;
    }
    const [type = "", time] = payload.split("\n");
    if (channel !== wakeChannel || (type !== "*" && !this.#types.has(type))) return;
    if (time === undefined) signal.wake();
    else idle.comesAt(time);
  }
}
