/**
 * Bounds the memory that requests hold at once: the bytes of all callers together, and a quarter of them for one
 * caller. What a caller takes, it gives back.
 */
import { RequestError } from "./errors.ts";

export interface ByteBudgetOptions {
  /** What has the bytes, for the message. */
  readonly what: string;
  /** The most bytes of all callers together. */
  readonly size: number;
}

/** One caller may hold this part of a budget. */
const callerShare = 1 / 4;

const retryAfterSeconds = "1";

export class ByteBudget {
  readonly #what: string;
  readonly #size: number;
  readonly #perCaller: number;
  #total = 0;
  /** The bytes by caller. Callers that hold none are not in the map. */
  readonly #held: Map<string, number> = new Map();

  constructor({ what, size }: ByteBudgetOptions) {
    this.#what = what;
    this.#size = size;
    this.#perCaller = size * callerShare;
  }

  /** The bytes of all callers together. */
  get total(): number {
    return this.#total;
  }

  /**
   * Takes bytes for a caller. Throws if they are more than are left. A caller that holds nothing may take more than its
   * part, and more than the whole budget if no caller holds any. So no size is refused for ever. Returns a function
   * that gives the bytes back; further calls of it have no effect.
   */
  take(caller: string, bytes: number): () => void {
    const held = this.#held.get(caller) ?? 0;
    if (held > 0 && held + bytes > this.#perCaller) throw callerHasTooMany(this.#what);
    if (this.#total > 0 && this.#total + bytes > this.#size) throw allHaveTooMany(this.#what);
    return this.charge(caller, bytes);
  }

  /** Throws if nothing is left for a caller. Takes nothing. */
  require(caller: string): void {
    if ((this.#held.get(caller) ?? 0) >= this.#perCaller) throw callerHasTooMany(this.#what);
    if (this.#total >= this.#size) throw allHaveTooMany(this.#what);
  }

  /** Takes bytes that are held already, even if they are more than are left. */
  charge(caller: string, bytes: number): () => void {
    this.#add(caller, bytes);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#add(caller, -bytes);
    };
  }

  #add(caller: string, bytes: number): void {
    this.#total += bytes;
    const held = (this.#held.get(caller) ?? 0) + bytes;
    if (held === 0) this.#held.delete(caller);
    else this.#held.set(caller, held);
  }
}

function callerHasTooMany(what: string): RequestError {
  return new RequestError(429, "PGRST429", `Too many bytes of this caller are in ${what}`, {
    name: "too_many_requests",
    hint: "Send fewer requests at once, and read the responses.",
    headers: { "retry-after": retryAfterSeconds },
  });
}

function allHaveTooMany(what: string): RequestError {
  return new RequestError(503, "PGRST003", `Too many bytes of all callers are in ${what}`, {
    name: "unavailable",
    hint: "Try again in a moment.",
    headers: { "retry-after": retryAfterSeconds },
  });
}
