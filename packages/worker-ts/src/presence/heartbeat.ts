/**
 * The worker's sign of life: the leases of everything it holds live on it. The answer names runs to abort, because somebody canceled
 * them or because they were lost. It also carries the worker's wish to be woken.
 */
import type { Kernel } from "../claiming/kernel.ts";
import type { HeartbeatAnswer, Held } from "../claiming/protocol.ts";
import type { Outage } from "./outage.ts";

export interface HeartbeatOptions {
  readonly everyMs: number;
  /** What it tells about the worker, beside what follows. */
  readonly about: Readonly<Record<string, unknown>>;
  /** The runs that the worker knows of. */
  held(): readonly Held[];
  /** What it has measured since it was started. */
  metrics(): object;
  answered(answer: HeartbeatAnswer): void;
}

export class Heartbeat {
  readonly #kernel: Kernel;
  readonly #outage: Outage;
  readonly #options: HeartbeatOptions;
  #timer: NodeJS.Timeout | undefined;
  #isStopped = true;
  /** The one on its way, and the one that must follow it because something has changed since. */
  #current: Promise<boolean> | undefined;
  #next: Promise<boolean> | undefined;
  /** Whether the worker asks to be woken, and whether the kernel knows. */
  #wantsWaking = false;
  #isMarked = false;
  #onHeard: () => void = () => undefined;

  constructor(kernel: Kernel, outage: Outage, options: HeartbeatOptions) {
    this.#kernel = kernel;
    this.#outage = outage;
    this.#options = options;
  }

  /** Whether the kernel notifies this worker when something comes. */
  get isMarked(): boolean {
    return this.#isMarked;
  }

  /** Beats from now on; comes back when the kernel has heard it for the first time, or when it was stopped before. */
  async start(): Promise<void> {
    this.#isStopped = false;
    const heard = new Promise<void>((resolve) => {
      this.#onHeard = resolve;
    });
    void this.beat();
    await heard;
  }

  /** Beats during work that may last, without a first beat at once. */
  startLater(): void {
    this.#isStopped = false;
    this.#schedule(this.#options.everyMs);
  }

  /** Asks to be woken when something comes, or no longer. True when the kernel has heard it. */
  async mark(wantsWaking: boolean): Promise<boolean> {
    this.#wantsWaking = wantsWaking;
    return await this.beat();
  }

  /** Beats now: after what is on its way, once for all who ask meanwhile. True when the kernel has heard it. */
  beat(): Promise<boolean> {
    if (this.#current === undefined) return this.#send();
    this.#next ??= this.#current.then(() => {
      this.#next = undefined;
      return this.#send();
    });
    return this.#next;
  }

  /** Stops, after a last word that nobody needs to wake this worker any more. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#onHeard();
    clearTimeout(this.#timer);
    await this.#current;
    if (this.#isMarked && this.#outage.isOver) await this.mark(false);
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
    const idle = this.#wantsWaking;
    const held = this.#options.held().map(({ id, attempt }) => ({ id, attempt }));
    try {
      const metrics = this.#options.metrics();
      const answer = await this.#kernel.heartbeat({ ...this.#options.about, idle, held, metrics });
      this.#isMarked = idle;
      this.#onHeard();
      this.#outage.worked("heartbeat");
      this.#schedule(this.#options.everyMs * (0.9 + Math.random() / 10));
      this.#options.answered(answer);
      return true;
    } catch (error) {
      this.#isMarked = false;
      this.#schedule(this.#outage.failed("heartbeat", error));
      return false;
    }
  }

  #schedule(ms: number): void {
    if (this.#isStopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => void this.beat(), ms);
  }
}
