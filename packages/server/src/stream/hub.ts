/** The streams of a server: each client is served by a group, and all groups together use few connections. */
import { StreamGroup, type Subscriber } from "./group.ts";
import type { Glance } from "./watch.ts";

/** All groups together look a quarter of the time, as if there were one connection, however many and dear they are. */
const SHARE = 4;
const LONGEST_REST_MS = 10_000;

export interface Membership {
  leave(): void;
  /** From when on the member must be told what ended. */
  beginAt(time: string): void;
}

export class StreamHub {
  readonly #groups: Map<string, StreamGroup> = new Map();
  readonly #places: number;
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  /** `places` looks at the database at once, so that streams leave connections to requests. */
  constructor(places: number) {
    this.#places = Math.max(1, places);
  }

  get size(): number {
    return this.#groups.size;
  }

  /** Joins the group of a key, whose members see the same. */
  join(
    key: string,
    look: (since: string | undefined) => Promise<Glance>,
    subscriber: Subscriber,
  ): Membership {
    let group = this.#groups.get(key);
    if (group === undefined) {
      const made = new StreamGroup(
        (since) => this.#inTurn(() => look(since)),
        (tookMs) => Math.min(tookMs * SHARE * this.#groups.size, LONGEST_REST_MS),
        () => {
          if (this.#groups.get(key) === made) this.#groups.delete(key);
        },
      );
      group = made;
      this.#groups.set(key, made);
    }
    const joined = group;
    return { leave: joined.subscribe(subscriber), beginAt: (time) => joined.beginAt(time) };
  }

  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#taken >= this.#places) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#taken += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#taken -= 1;
      else next();
    }
  }
}
