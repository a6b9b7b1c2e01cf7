/** A queue whose first item is taken in constant time, unlike an array's. */
export class Fifo<Item> {
  #items: Item[] = [];
  #head = 0;

  get length(): number {
    return this.#items.length - this.#head;
  }

  get first(): Item | undefined {
    return this.#items[this.#head];
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  shift(): Item | undefined {
    const item = this.#items[this.#head];
    if (item === undefined) return undefined;
    this.#head += 1;
    this.#dropTaken();
    return item;
  }

  /** Takes up to `count` items from the front. */
  take(count: number): Item[] {
    const items = this.#items.slice(this.#head, this.#head + count);
    this.#head += items.length;
    this.#dropTaken();
    return items;
  }

  /**
   * Drops the items that were taken, when these are all or many. A queue that is never empty would otherwise keep every
   * item that was ever in it.
   */
  #dropTaken(): void {
    if (this.#head === this.#items.length) this.#items = [];
    else if (this.#head > 1024) this.#items = this.#items.slice(this.#head);
    else return;
    this.#head = 0;
  }
}
