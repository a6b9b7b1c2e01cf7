/**
 * An estimate of the database's clock, learnt from its responses. Due times are the database's, and the worker's own
 * clock may differ from it or be set while the worker runs. So the time since a response is measured with a clock that
 * only goes forward.
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

  /** Learns from a response: the database's time was `then` at some moment between the call and now. */
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

  /** The database's time `ms` milliseconds from now. */
  in(ms: number): string {
    return new Date(this.now() + ms).toISOString();
  }
}
