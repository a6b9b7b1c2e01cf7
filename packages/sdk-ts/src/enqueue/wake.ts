/**
 * Wakes workers for single enqueues. The first of a type notifies in its own commit. Those that follow at once do not, because every NOTIFY
 * makes commits wait for each other and wakes every listener; they are told together a moment later.
 */
import type { Transport } from "../transport/transport.ts";

const togetherMs = 5;

export class Waker {
  readonly #transport: Transport;
  /** Types that were notified a moment ago, and the earliest time of those that followed; null is now. */
  readonly #followers = new Map<string, Date | null | undefined>();
  #timer: NodeJS.Timeout | undefined;
  #sending: Promise<unknown> = Promise.resolve();

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Whether an enqueue of the type is to notify by itself. If not, `follow` is called when it is committed. */
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

  /** Tells what is to be told. A courtesy: workers look now and then all the same, so failures are not reported. */
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
