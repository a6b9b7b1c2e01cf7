/** The database's clock, as its answers tell it. Due times are the database's, and a worker's own clock may differ. */
export class DatabaseClock {
  #ahead = 0;

  /** Learns from an answer that says what time it was, at some moment between the call and now. */
  learn(then: string, calledAt: number): void {
    const time = Date.parse(then);
    this.#ahead = Math.min(Math.max(this.#ahead, time - Date.now()), time - calledAt);
  }

  now(): number {
    return Date.now() + this.#ahead;
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
