/** Hears the kernel's notifications: that something may be due, or that a job of this worker was canceled. */
import type { Listener, Transport } from "@jobforge/sdk-ts";
import type { Outage } from "./outage.ts";

const WAKE = "jobforge_wake";
const CANCEL = "jobforge_cancel";

export interface EarEvents {
  /** A job of one of the worker's types may be due: now, or at a time. */
  onWake(time: string | undefined): void;
  /** Some job of this worker was canceled. */
  onCancel(): void;
  /** Notifications arrive from now on, or no longer. */
  onState(isListening: boolean): void;
}

export class Ears {
  readonly #transport: Transport;
  readonly #outage: Outage;
  readonly #types: ReadonlySet<string>;
  readonly #workerId: string;
  readonly #events: EarEvents;
  #listener: Promise<Listener> | undefined;

  constructor(
    transport: Transport,
    outage: Outage,
    workerId: string,
    types: readonly string[],
    events: EarEvents,
  ) {
    this.#transport = transport;
    this.#outage = outage;
    this.#types = new Set(types);
    // The kernel cuts the payload, because notifications are short.
    this.#workerId = workerId.slice(0, 1000);
    this.#events = events;
  }

  /** Listens from now on; the transport sees to its connection. */
  open(): void {
    this.#listener = this.#transport.listen?.([WAKE, CANCEL], {
      onNotification: (channel, payload) => this.#hear(channel, payload),
      onState: (state, error) => {
        if (state === "up") this.#outage.worked("listen");
        else this.#outage.failed("listen", error);
        this.#events.onState(state === "up");
      },
    });
  }

  async close(): Promise<void> {
    this.#outage.forget("listen");
    await (await this.#listener)?.close();
  }

  #hear(channel: string, payload: string): void {
    if (channel === CANCEL) {
      if (payload === this.#workerId) this.#events.onCancel();
      return;
    }
    const [type = "", time] = payload.split("\n");
    if (channel === WAKE && (type === "*" || this.#types.has(type))) this.#events.onWake(time);
  }
}
