/**
 * The worker's heartbeat, which keeps the leases of all runs that it holds. The response names runs to abort, because
 * their jobs were canceled or because they were lost. A heartbeat also says whether the worker wants to be notified,
 * and its response whether a job may be claimed.
 */
import type { Backend } from "../backend.ts";
import type { HandOver } from "../claiming/hand-over.ts";
import type { HeartbeatResponse } from "../claiming/protocol.ts";
import type { Meter } from "../reporting/meter.ts";
import type { HeldRuns } from "../running/held-runs.ts";
import type { Runner } from "../running/runner.ts";
import type { Outage } from "./outage.ts";

export interface HeartbeatParts {
  readonly backend: Backend;
  readonly outage: Outage;
  readonly held: HeldRuns;
  readonly meter: Meter;
  readonly runner: Runner;
  /** Undefined if no job is handed to this worker. */
  readonly handOver: HandOver | undefined;
  /** The time between two heartbeats. */
  readonly everyMs: number;
  /** What every heartbeat says about the worker. */
  readonly about: Readonly<Record<string, unknown>>;
  /** Called when an operator has asked the worker to stop. */
  readonly onStopRequest: () => void;
}

export class Heartbeat {
  readonly #parts: HeartbeatParts;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = true;
  /** The heartbeat in flight, and the one that must follow it because something has changed since it was sent. */
  #current: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  /** Whether the worker wants to be notified, and whether the database knows. */
  #wantsNotifications = false;
  #isMarked = false;
  #seesJobs = false;
  /** Whether the database counts this worker as alive. */
  #isKnown = false;
  #onFirstResponse: () => void = () => undefined;
  #onDue: (time: string) => void = () => undefined;

  constructor(parts: HeartbeatParts) {
    this.#parts = parts;
  }

  /** Whether the database notifies this worker when a job comes. */
  get isMarked(): boolean {
    return this.#isMarked;
  }

  /** Whether heartbeats also say if a job may be claimed, so that they replace most polls. */
  get seesJobs(): boolean {
    return this.#seesJobs;
  }

  /** Calls the function when a heartbeat has learned that a job is due, or when one will be. */
  onDue(listener: (time: string) => void): void {
    this.#onDue = listener;
  }

  /**
   * Beats from now on. Resolves when the database has responded for the first time, or when `stop` was called before.
   */
  async start(): Promise<void> {
    this.#isStopped = false;
    const responded = new Promise<void>((resolve) => {
      this.#onFirstResponse = resolve;
    });
    void this.beat();
    await responded;
  }

  /** Beats from now on, but not at once: for a tick, which is mostly shorter than the time between two heartbeats. */
  startLater(): void {
    this.#isStopped = false;
    this.#schedule(this.#parts.everyMs);
  }

  /** Asks to be notified when a job comes, or withdraws that. Resolves to whether the database has received it. */
  async mark(wantsNotifications: boolean): Promise<boolean> {
    this.#wantsNotifications = wantsNotifications;
    return await this.beat();
  }

  /**
   * Beats now, or after the heartbeat in flight: then once for all callers that ask meanwhile. Resolves to whether the
   * database has received it.
   */
  beat(): Promise<boolean> {
    if (this.#current === undefined) return this.#send();
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      return this.#send();
    });
    return this.#next;
  }

  /** Stops, after a last heartbeat which says that this worker stops, so that it no longer counts as alive. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#onFirstResponse();
    clearTimeout(this.#timer);
    await this.#current;
    await this.#next;
    if (!this.#isKnown || this.#parts.outage.isFailing("heartbeat")) return;
    this.#wantsNotifications = false;
    await this.beat();
  }

  #send(): Promise<boolean> {
    const sent = this.#sendOnce().finally(() => {
      this.#current = undefined;
    });
    this.#current = sent;
    return sent;
  }

  async #sendOnce(): Promise<boolean> {
    clearTimeout(this.#timer);
    const { backend, outage, held, meter, runner, handOver, everyMs, about, onStopRequest } = this.#parts;
    const idle = this.#wantsNotifications;
    try {
      const stopped = this.#isStopped ? { stopped: true } : {};
      const offer = idle ? { hand_off: handOver?.offered } : {};
      const listed = [...held.keys(), ...(handOver?.keys ?? [])];
      const info = { ...about, ...stopped, ...offer, idle, held: listed, metrics: meter.report() };
      const response = await backend.heartbeat(info);
      this.#isMarked = idle;
      this.#isKnown = true;
      this.#onFirstResponse();
      outage.worked("heartbeat");
      this.#schedule(everyMs * (0.9 + Math.random() / 10));
      meter.noteHeartbeat();
      runner.heed(response);
      handOver?.arrived(response.handed ?? []);
      this.#tellDue(response);
      if (response.stop === true) onStopRequest();
      return true;
    } catch (error) {
      this.#isMarked = false;
      this.#seesJobs = false;
      this.#schedule(outage.failed("heartbeat", error));
      return false;
    }
  }

  #tellDue({ ready, next_due_at, now }: HeartbeatResponse): void {
    this.#seesJobs = typeof ready === "boolean";
    const time = ready === true ? now : next_due_at;
    if (time !== null) this.#onDue(time);
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.beat(), ms);
  }
}
