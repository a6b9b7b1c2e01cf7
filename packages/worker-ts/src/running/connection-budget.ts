/**
 * Limits how many transactions of handlers are open at the same time. Each transaction keeps a connection until it
 * ends, and heartbeats, settling, claiming and `progress()` take theirs from the same pool. If transactions could take
 * all of them, the worker would fall silent and lose its leases.
 */
import type { Transport } from "@jobforge/sdk-ts";
import { reservedConnections } from "../defaults.ts";

/** All workers on a transport share its connections. */
const budgets = new WeakMap<Transport, ConnectionBudget>();

/** The budget of a transport's connections. Without a limit where the transport does not know how many it has. */
export function connectionBudgetOf(transport: Transport): ConnectionBudget {
  let budget = budgets.get(transport);
  if (budget === undefined) {
    const { maxConnections = Number.POSITIVE_INFINITY } = transport;
    budget = new ConnectionBudget(Math.max(1, maxConnections - reservedConnections));
    budgets.set(transport, budget);
  }
  return budget;
}

export class ConnectionBudget {
  readonly #waiters = new Set<() => void>();
  #free: number;

  constructor(connections: number) {
    this.#free = connections;
  }

  /**
   * Does the work as soon as a connection is free, first come, first served. Rejects with the signal's reason if that
   * is aborted first.
   */
  async run<T>(signal: () => AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await this.#waitForConnection(signal());
    try {
      return await work();
    } finally {
      this.#passOn();
    }
  }

  async #waitForConnection(signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const enter = (): void => {
        signal.removeEventListener("abort", giveUp);
        resolve();
      };
      const giveUp = (): void => {
        this.#waiters.delete(enter);
        reject(signal.reason);
      };
      signal.addEventListener("abort", giveUp, { once: true });
      this.#waiters.add(enter);
    });
  }

  /** Gives the connection to the next waiter, or back to the budget. */
  #passOn(): void {
    const [next] = this.#waiters;
    if (next === undefined) {
      this.#free += 1;
      return;
    }
    this.#waiters.delete(next);
    next();
  }
}
