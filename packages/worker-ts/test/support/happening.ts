/** Waiting for what happens in a test. */
import { sleep } from "@jobforge/sdk-ts";

/** Something that happens once or several times, and can be awaited. */
export class Happening<Value = void> {
  readonly values: Value[] = [];
  readonly #waiters: { readonly count: number; readonly resolve: () => void }[] = [];

  /** It happens. An arrow function, so that it can be passed as a hook. */
  readonly now = (value: Value): void => {
    this.values.push(value);
    for (const waiter of this.#waiters) if (this.values.length >= waiter.count) waiter.resolve();
  };

  /** Resolves when it has happened `count` times, to the values so far. */
  async times(count: number): Promise<Value[]> {
    if (this.values.length < count) {
      await new Promise<void>((resolve) => this.#waiters.push({ count, resolve }));
    }
    return this.values;
  }

  /** Resolves when it has happened, to the first value. */
  async once(): Promise<Value> {
    const [value] = await this.times(1);
    return value as Value;
  }
}

/** Resolves when the condition holds. For conditions without an event to wait for. */
export async function until(condition: () => Promise<boolean> | boolean): Promise<void> {
  while (!(await condition())) await sleep(5);
}

/** Counts how many are inside at the same time, and the most there were. */
export class Crowd {
  now = 0;
  most = 0;

  async during<Result>(work: () => Promise<Result>): Promise<Result> {
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    try {
      return await work();
    } finally {
      this.now -= 1;
    }
  }
}
