/**
 * Wakes workers for single enqueues. The first enqueue of a type notifies in its own commit. Enqueues that follow
 * within a few milliseconds do not, because every NOTIFY makes commits wait for each other and wakes every listener.
 * One call notifies for all of them a moment later.
 */
import type { Transport } from "../transport/transport.ts";

const togetherMs = 5;

export class Waker {
  readonly #transport: Transport;
  /**
   * Types that were notified a moment ago, with the earliest due time of the enqueues that followed. Null means now.
   */
  readonly #followers = new Map<string, Date | null | undefined>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether an enqueue of the type notifies by itself. If not, call `follow` after its commit. */
  leads(type: string): boolean {
    if (this.#followers.has(type)) return false;
    this.#followers.set(type, undefined);
    this.#schedule();
    return true;
  }

  follow(type: string, runAt: Date | undefined): void {
    const known = this.#followers.get(type);
    const earliest = runAt === undefined || known === null ? null : known && known < runAt ? known : runAt;
    this.#followers.set(type, earliest);
    this.#schedule();
  }

  #schedule(): void {
    this.#timer ??= setTimeout(() => void this.flush(), togetherMs);
  }

  /** Sends pending wake-ups. Best effort: workers also poll, so failures are not reported. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const wakes = [...this.#followers].filter(([, time]) => time !== undefined);
    this.#followers.clear();
    if (wakes.length > 0) {
      const call = this.#transport.call("jobforge_wake_workers", { p_wakes: Object.fromEntries(wakes) });
      this.#sending = Promise.all([this.#sending, call.catch(() => undefined)]);
    }
    await this.#sending;
  }
}
