/** The streams of a server: each client is served by a group, and all groups together use few connections. */
import { RequestError } from "../errors.ts";
import { StreamGroup, type Subscriber } from "./group.ts";
import type { Glance } from "./watch.ts";

/** All groups together look a quarter of the time, as if there were one connection, however many and dear they are. */
const SHARE = 4;
const LONGEST_REST_MS = 10_000;

export interface Membership {
  leave(): void;
  /** The member was told of what it saw, and must be told of everything from then on. */
  begin(seen: Glance): void;
}

export class StreamHub {
  readonly #groups: Map<string, StreamGroup> = new Map();
  readonly #places: number;
  readonly #most: number;
  readonly #callers: Map<string, number> = new Map();
  #taken = 0;
  readonly #waiting: (() => void)[] = [];

  /** `places` looks at the database at once, so that streams leave connections to requests; `most` streams of one caller. */
  constructor(places: number, most: number) {
    this.#places = Math.max(1, places);
    this.#most = most;
  }

  get size(): number {
    return this.#groups.size;
  }

  /** Joins the group of a caller's key, whose members see the same. */
  join(
    caller: string,
    key: string,
    look: (since: string | undefined) => Promise<Glance>,
    subscriber: Subscriber,
  ): Membership {
    const left = this.#enter(caller);
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
    const unsubscribe = joined.subscribe(subscriber);
    return {
      leave: () => {
        unsubscribe();
        left();
      },
      begin: (seen) => joined.begin(seen),
    };
  }

  /** Counts a stream of a caller; the answer, called once or more, ends that. */
  #enter(caller: string): () => void {
    const count = this.#callers.get(caller) ?? 0;
    if (count >= this.#most)
      throw new RequestError(429, "PGRST429", `This token has ${count} live streams already`, {
        name: "too_many_requests",
        hint: "End some of them, or share one.",
        headers: { "retry-after": "10" },
      });
    this.#callers.set(caller, count + 1);
    let isIn = true;
    return () => {
      if (!isIn) return;
      isIn = false;
      const now = (this.#callers.get(caller) ?? 1) - 1;
      if (now === 0) this.#callers.delete(caller);
      else this.#callers.set(caller, now);
    };
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
