/** Limits how often one caller or one address may send requests, with token buckets that refill over time. */
import { RequestError } from "./errors.ts";
import type { RateLimit } from "./options.ts";

interface Bucket {
  tokens: number;
  filledAt: number;
}

/** How many buckets are kept. Only buckets that are full again are forgotten. */
const defaultMaxBuckets = 100_000;

export interface RateLimiterOptions {
  /** What there were too many of, for the message. */
  readonly what: string;
  readonly maxBuckets?: number | undefined;
  readonly now?: (() => number) | undefined;
}

export class RateLimiter {
  readonly #limit: RateLimit;
  readonly #what: string;
  readonly #maxBuckets: number;
  readonly #now: () => number;
  /** In the order of their last use. */
  readonly #buckets: Map<string, Bucket> = new Map();
  /** When the limiter holds as many buckets as it may, new callers share this one. */
  readonly #shared: Bucket;

  constructor(limit: RateLimit, { what, maxBuckets, now }: RateLimiterOptions) {
    this.#limit = limit;
    this.#what = what;
    this.#maxBuckets = maxBuckets ?? defaultMaxBuckets;
    this.#now = now ?? (() => performance.now());
    this.#shared = { tokens: limit.burst, filledAt: this.#now() };
  }

  /** Takes a token from the bucket. If the bucket is empty, throws an error with the time of the next token. */
  take(name: string): void {
    this.require(name);
    this.charge(name);
  }

  /** Throws if the bucket is empty. Takes nothing. */
  require(name: string): void {
    const tokens = this.#tokensIn(this.#buckets.get(name) ?? (this.#isFull() ? this.#shared : undefined));
    if (tokens < 1) throw tooMany(this.#what, Math.ceil((1 - tokens) / this.#limit.perSecond));
  }

  /** Takes a token from the bucket, if there is one. */
  charge(name: string): void {
    this.#forget();
    const known = this.#buckets.get(name);
    const bucket = known ?? (this.#isFull() ? this.#shared : { tokens: this.#limit.burst, filledAt: 0 });
    bucket.tokens = Math.max(0, this.#tokensIn(bucket) - 1);
    bucket.filledAt = this.#now();
    if (bucket === this.#shared) return;
    // Moves the bucket to the end of the map.
    this.#buckets.delete(name);
    this.#buckets.set(name, bucket);
  }

  #tokensIn(bucket: Bucket | undefined): number {
    const { perSecond, burst } = this.#limit;
    if (bucket === undefined) return burst;
    return Math.min(burst, bucket.tokens + ((this.#now() - bucket.filledAt) * perSecond) / 1000);
  }

  #isFull(): boolean {
    return this.#buckets.size >= this.#maxBuckets;
  }

  /** Forgets the buckets that have not been used for so long that they are full again. A new one would be the same. */
  #forget(): void {
    if (!this.#isFull()) return;
    const { perSecond, burst } = this.#limit;
    const before = this.#now() - (burst / perSecond) * 1000;
    for (const [name, { filledAt }] of this.#buckets) {
      if (filledAt > before) return;
      this.#buckets.delete(name);
    }
  }
}

function tooMany(what: string, seconds: number): RequestError {
  return new RequestError(429, "PGRST429", `Too many ${what}`, {
    name: "too_many_requests",
    hint: `Try again in ${seconds} s.`,
    headers: { "retry-after": String(seconds) },
  });
}
