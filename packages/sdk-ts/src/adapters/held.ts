/**
 * The jobs that an adapter has claimed, with the fence of each, so that interfaces that name only an id can end them.
 */
import { JobNotHeldError } from "../errors.ts";

export interface Hold {
  readonly workerId: string;
  readonly attempt: number;
}

/** The fence of a job as arguments of the kernel's calls. */
export function fenceOf(id: string, { workerId, attempt }: Hold): Readonly<Record<string, unknown>> {
  return { p_job_id: id, p_worker_id: workerId, p_attempt: attempt };
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

  /**
   * Ends a job with its fence. The hold is dropped if the job has ended or is lost, and kept if the call failed
   * otherwise.
   */
  async end<T>(id: string, call: (hold: H) => Promise<T>): Promise<T> {
    const hold = this.get(id);
    try {
      const result = await call(hold);
      this.#drop(id, hold);
      return result;
    } catch (error) {
      if (error instanceof JobNotHeldError) this.#drop(id, hold);
      throw error;
    }
  }

  /** Drops this hold. A hold of a later claim stays. */
  #drop(id: string, hold: H): void {
    if (this.#held.get(id) === hold) this.#held.delete(id);
  }
}
