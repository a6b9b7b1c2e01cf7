/** Maps in layers: a transaction's writes hide committed values, and are merged or dropped as a whole. */

/** A map whose writes stay in this layer until they are merged into the layer below. */
export class Layer<Value> {
  readonly #written = new Map<string, Value | undefined>();
  readonly #below: Layer<Value> | undefined;
  readonly #onWrite: ((key: string) => void) | undefined;

  constructor(below?: Layer<Value>, onWrite?: (key: string) => void) {
    this.#below = below;
    this.#onWrite = onWrite;
  }

  get(key: string): Value | undefined {
    return this.#written.has(key) ? this.#written.get(key) : this.#below?.get(key);
  }

  set(key: string, value: Value): void {
    this.#written.set(key, value);
    this.#onWrite?.(key);
  }

  delete(key: string): void {
    this.#written.set(key, undefined);
    this.#onWrite?.(key);
  }

  /** Returns whether this layer itself wrote the key: in Postgres, whether its transaction holds the row. */
  wrote(key: string): boolean {
    return this.#written.has(key);
  }

  /** Returns the keys that this layer itself wrote. */
  written(): string[] {
    return [...this.#written.keys()];
  }

  entries(): [string, Value][] {
    return [...this.#all()].flatMap(([key, value]) => (value === undefined ? [] : [[key, value]]));
  }

  values(): Value[] {
    return this.entries().map(([, value]) => value);
  }

  /** Writes all values of this layer into the layer below. */
  merge(): void {
    for (const [key, value] of this.#written) {
      if (value === undefined) this.#below?.delete(key);
      else this.#below?.set(key, value);
    }
  }

  #all(): Map<string, Value | undefined> {
    const all = this.#below === undefined ? new Map<string, Value | undefined>() : this.#below.#all();
    for (const [key, value] of this.#written) all.set(key, value);
    return all;
  }
}
