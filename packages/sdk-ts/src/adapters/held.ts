/** What an adapter has claimed: the fence of each job, so that interfaces which name only an id can end it. */
import { JobNotHeldError } from "../errors.ts";

export interface Hold {
  readonly workerId: string;
  readonly attempt: number;
}

export class HeldJobs<H extends Hold> {
  readonly #held = new Map<string, H>();

  add(id: string, hold: H): void {
    this.#held.set(id, hold);
  }

  get(id: string): H {
    const hold = this.#held.get(id);
    if (hold === undefined)
      throw new JobNotHeldError(`Job ${id} is not held here`, {
        hint: "End what this very object has claimed, once.",
      });
    return hold;
  }

  /** Whether this very hold is still the job's. */
  has(id: string, hold: H): boolean {
    return this.#held.get(id) === hold;
  }

  /** Ends a job with its fence. It is let go when it has ended or is lost, and kept when the database did not answer. */
  async end<T>(id: string, call: (hold: H) => Promise<T>): Promise<T> {
    const hold = this.get(id);
    try {
      const answer = await call(hold);
      this.#letGo(id, hold);
      return answer;
    } catch (error) {
      if (error instanceof JobNotHeldError) this.#letGo(id, hold);
      throw error;
    }
  }

  /** Unless it was claimed again meanwhile. */
  #letGo(id: string, hold: H): void {
    if (this.has(id, hold)) this.#held.delete(id);
  }
}
