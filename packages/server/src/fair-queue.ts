/**
 * Shares a number of places between callers. No caller holds more than its part. Groups of callers, such as tenants,
 * take turns, and so do the callers of a group. A group that holds a place leaves some places free for groups that hold
 * none. So a caller with many slow requests does not delay the first request of another, and neither does a tenant with
 * many callers.
 */
import { RequestError } from "./errors.ts";

export interface FairQueueOptions {
  /** How many places there are. */
  readonly size: number;
  /** The most places of one caller at once. */
  readonly perCaller: number;
  /** The most requests of one caller that may wait. Default: no limit. */
  readonly maxWaiting?: number | undefined;
  /** How long a request may wait. 0, the default: no limit. */
  readonly timeoutMs?: number | undefined;
}

export interface WaitOptions {
  /**
   * The group that the caller belongs to. A request without one waits in a group of its own, and may take the last free
   * places.
   */
  readonly group?: string | undefined;
  /** A request that is aborted while it waits never gets a place. */
  readonly signal?: AbortSignal | undefined;
}

interface Waiter {
  enter(): void;
}

/** The requests that wait, by caller, in the order of the callers' turns. Every set has a member. */
type Callers = Map<string, Set<Waiter>>;

export class FairQueue {
  readonly #perCaller: number;
  readonly #maxWaiting: number;
  readonly #timeoutMs: number;
  /** How many places a group that holds one leaves free. */
  readonly #kept: number;
  #free: number;
  /** The number of places by caller. */
  readonly #held: Map<string, number> = new Map();
  /** The number of places by group. */
  readonly #heldByGroup: Map<string, number> = new Map();
  /** The groups that wait, in the order of their turns. Every group has a caller. */
  readonly #groups: Map<string, Callers> = new Map();

  constructor({ size, perCaller, maxWaiting, timeoutMs }: FairQueueOptions) {
    this.#free = size;
    this.#kept = Math.max(1, Math.floor(size / 4));
    this.#perCaller = perCaller;
    this.#maxWaiting = maxWaiting ?? Number.POSITIVE_INFINITY;
    this.#timeoutMs = timeoutMs ?? 0;
  }

  /** The number of requests that wait. */
  get waiting(): number {
    let count = 0;
    for (const callers of this.#groups.values()) for (const { size } of callers.values()) count += size;
    return count;
  }

  /**
   * Runs work in a place of the caller. Throws if too many of its requests wait already, or if no place became free
   * in time.
   */
  async run<T>(caller: string, work: () => Promise<T>, { group, signal }: WaitOptions = {}): Promise<T> {
    const key = group ?? ungrouped(caller);
    if (this.#groupMayEnter(key) && this.#callerMayEnter(caller)) this.#enter(key, caller);
    else await this.#wait(key, caller, signal);
    try {
      return await work();
    } finally {
      this.#leave(key, caller);
    }
  }

  /**
   * Whether a place is free for the group. Every request that waits here although its group may enter belongs to a
   * caller with its full part. So a new request passes none of its group.
   */
  #groupMayEnter(group: string): boolean {
    if (isUngrouped(group) || !this.#heldByGroup.has(group)) return this.#free > 0;
    return this.#free > this.#kept;
  }

  #callerMayEnter(caller: string): boolean {
    return (this.#held.get(caller) ?? 0) < this.#perCaller;
  }

  #enter(group: string, caller: string): void {
    this.#free -= 1;
    add(this.#held, caller, 1);
    add(this.#heldByGroup, group, 1);
  }

  #leave(group: string, caller: string): void {
    this.#free += 1;
    add(this.#held, caller, -1);
    add(this.#heldByGroup, group, -1);
    // Two may enter at once: one because a place is free, and one because its group now holds none.
    while (this.#admitNext());
  }

  /**
   * Gives a free place to the first group in turn that may have it and has a caller without its full part, and there to
   * the first such caller. Puts both last. Returns whether a request entered.
   */
  #admitNext(): boolean {
    if (this.#free === 0) return false;
    for (const [group, callers] of this.#groups) {
      if (!this.#groupMayEnter(group)) continue;
      for (const [caller, waiters] of callers) {
        if (!this.#callerMayEnter(caller)) continue;
        const [first] = waiters;
        moveToEnd(callers, caller, waiters);
        moveToEnd(this.#groups, group, callers);
        this.#enter(group, caller);
        first?.enter();
        return true;
      }
    }
    return false;
  }

  #wait(group: string, caller: string, signal: AbortSignal | undefined): Promise<void> {
    const callers: Callers = this.#groups.get(group) ?? new Map();
    const waiters = callers.get(caller) ?? new Set();
    if (waiters.size >= this.#maxWaiting) throw tooManyWait();
    return new Promise((resolve, reject) => {
      let timer: NodeJS.Timeout | undefined;
      const leave = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
        waiters.delete(waiter);
        if (waiters.size === 0) callers.delete(caller);
        if (callers.size === 0) this.#groups.delete(group);
      };
      const abort = (): void => {
        leave();
        reject(gone());
      };
      const waiter: Waiter = {
        enter: () => {
          leave();
          resolve();
        },
      };
      if (this.#timeoutMs > 0)
        timer = setTimeout(() => {
          leave();
          reject(noneFree());
        }, this.#timeoutMs);
      waiters.add(waiter);
      callers.set(caller, waiters);
      this.#groups.set(group, callers);
      signal?.addEventListener("abort", abort);
      if (signal?.aborted === true) abort();
    });
  }
}

function moveToEnd<V>(map: Map<string, V>, key: string, value: V): void {
  map.delete(key);
  map.set(key, value);
}

function add(counts: Map<string, number>, key: string, count: number): void {
  const sum = (counts.get(key) ?? 0) + count;
  if (sum === 0) counts.delete(key);
  else counts.set(key, sum);
}

/** The group of a request without one. */
const ungroupedPrefix = "no group: ";

function ungrouped(caller: string): string {
  return `${ungroupedPrefix}${caller}`;
}

function isUngrouped(group: string): boolean {
  return group.startsWith(ungroupedPrefix);
}

const retryAfterSeconds = "1";

function tooManyWait(): RequestError {
  return new RequestError(429, "PGRST429", "Too many requests of this caller wait for a connection", {
    name: "too_many_requests",
    hint: "Send fewer requests at once.",
    headers: { "retry-after": retryAfterSeconds },
  });
}

function noneFree(): RequestError {
  return new RequestError(503, "PGRST003", "No connection to the database became free in time", {
    name: "unavailable",
    hint: "Try again in a moment.",
    headers: { "retry-after": retryAfterSeconds },
  });
}

/** No client reads this response. The log shows it with the status that is usual for it. */
function gone(): RequestError {
  return new RequestError(499, "PGRST003", "The client has closed its connection", {
    name: "client_closed_request",
  });
}
