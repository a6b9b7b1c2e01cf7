/** Limits how often one caller may send requests, with a token bucket that refills over time. */
import { RequestError } from "./errors.ts";
import type { RateLimit } from "./options.ts";

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** How many buckets are kept. The callers that have been quiet for longest are forgotten first. */
const maxBuckets = 10_000;

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #now: () => number;
  readonly #buckets: Map<string, Bucket> = new Map();

  constructor(limit: RateLimit, now: () => number = () => performance.now()) {
    this.#limit = limit;
    this.#now = now;
  }

  /** Takes a token from the caller's bucket. If there is none, throws an error that says when there will be one. */
  take(caller: string): void {
    const { perSecond, burst } = this.#limit;
    const now = this.#now();
    const { tokens, filledAt } = this.#buckets.get(caller) ?? { tokens: burst, filledAt: now };
    const filled = Math.min(burst, tokens + ((now - filledAt) * perSecond) / 1000);
    // Moves the caller to the end of the map, so that the map is ordered by the last request.
    this.#buckets.delete(caller);
    this.#buckets.set(caller, { tokens: filled < 1 ? filled : filled - 1, filledAt: now });
    this.#forget();
    if (filled < 1) throw tooMany(Math.ceil((1 - filled) / perSecond));
  }

  #forget(): void {
    for (const caller of this.#buckets.keys()) {
      if (this.#buckets.size <= maxBuckets) return;
      this.#buckets.delete(caller);
    }
  }
}

function tooMany(seconds: number): RequestError {
  return new RequestError(429, "PGRST429", "Too many requests with this token", {
    name: "too_many_requests",
    hint: `Try again in ${seconds} s.`,
    headers: { "retry-after": String(seconds) },
  });
}
