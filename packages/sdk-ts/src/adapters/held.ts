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
        hint: "Use a job that this very object has claimed and not ended yet.",
      });
    return hold;
  }

  values(): Iterable<H> {
    return this.#held.values();
  }

  /** Ends a job with its fence. It is let go when it has ended or is lost, and kept when the database did not answer. */
  async end<T>(id: string, call: (hold: H) => Promise<T>): Promise<T> {
    const hold = this.get(id);
    try {
      const result = await call(hold);
      this.#letGo(id, hold);
      return result;
    } catch (error) {
      if (error instanceof JobNotHeldError) this.#letGo(id, hold);
      throw error;
    }
  }

  /** Keeps a hold of a later claim. */
  #letGo(id: string, hold: H): void {
    if (this.#held.get(id) === hold) this.#held.delete(id);
  }
}
