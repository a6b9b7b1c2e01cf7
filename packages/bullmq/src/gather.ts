/** Gathers the calls of one tick, so that they share a call to Redis. */

interface Waiting<Item, Result> {
  readonly item: Item;
  readonly resolve: (result: Result) => void;
  readonly reject: (error: unknown) => void;
}

export class Gathered<Item, Result> {
  readonly #call: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>;
  #waiting: Waiting<Item, Result>[] = [];

  /** `call` resolves to the result of each item, or to the error of that item alone. */
  constructor(call: (items: readonly Item[]) => Promise<readonly (Result | Error)[]>) {
    this.#call = call;
  }

  async add(item: Item): Promise<Result> {
    return await new Promise<Result>((resolve, reject) => {
      // Promises that are settled by now still add theirs before the next tick.
      if (this.#waiting.push({ item, resolve, reject }) === 1) process.nextTick(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    const waiting = this.#waiting;
    this.#waiting = [];
    try {
      const results = await this.#call(waiting.map(({ item }) => item));
      for (const [place, { resolve, reject }] of waiting.entries()) {
        const result = results[place];
        if (result instanceof Error) reject(result);
        else resolve(result as Result);
      }
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }
}
