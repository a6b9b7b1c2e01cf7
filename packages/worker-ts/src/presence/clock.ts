/**
 * The database's clock, as its answers tell it. Due times are the database's, and a worker's own clock may differ, or be set while it works: so the
 * time since an answer is taken from a clock that only goes forward.
 */
export class DatabaseClock {
  readonly #own: () => number;
  #ahead = 0;

  constructor(own: () => number = () => performance.timeOrigin + performance.now()) {
    this.#own = own;
  }

  /** The worker's own time, for `learn`. */
  mark(): number {
    return this.#own();
  }

  /** Learns from an answer that says what time it was, at some moment between the call and now. */
  learn(then: string, calledAt: number): void {
    const time = Date.parse(then);
    this.#ahead = Math.min(Math.max(this.#ahead, time - this.#own()), time - calledAt);
  }

  now(): number {
    return this.#own() + this.#ahead;
  }

  /** Milliseconds until a time of the database; negative when it has passed. */
  until(time: string): number {
    return Date.parse(time) - this.now();
  }

  /** The database's time in so many milliseconds. */
  in(ms: number): string {
    return new Date(this.now() + ms).toISOString();
  }
}
