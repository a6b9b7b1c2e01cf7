/**
 * Lets handlers' transactions in, a few at a time. Each keeps a connection for as long as it lasts, and heartbeats, settling, claiming and
 * `progress()` take theirs from the same pool: if transactions could have them all, the worker would fall silent and lose its leases.
 */
import type { Transport } from "@jobforge/sdk-ts";

/** Connections that no transaction gets: one for heartbeats and progress, one for settling and claiming. */
const KEPT_FREE = 2;

/** All workers on a transport share its connections. */
const turnstiles = new WeakMap<Transport, Turnstile>();

/** The turnstile in front of a transport's connections. Where nobody knows how many there are, everybody comes in. */
export function turnstileOf(transport: Transport): Turnstile {
  let turnstile = turnstiles.get(transport);
  if (turnstile === undefined) {
    const { maxConnections = Number.POSITIVE_INFINITY } = transport;
    turnstile = new Turnstile(Math.max(1, maxConnections - KEPT_FREE));
    turnstiles.set(transport, turnstile);
  }
  return turnstile;
}

export class Turnstile {
  readonly #waiting = new Set<() => void>();
  #free: number;

  constructor(most: number) {
    this.#free = most;
  }

  /** Does the work when its turn comes, in the order of asking. Fails with the signal's reason if that is aborted while it waits. */
  async run<T>(signal: () => AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#turn(signal());
    try {
      return await work();
    } finally {
      this.#leave();
    }
  }

  async #turn(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiting.delete(enter);
        reject(signal.reason);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiting.add(enter);
    });
  }

  #leave(): void {
    const [next] = this.#waiting;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiting.delete(next);
    next();
  }
}
