/** The live streams of a server. Each client belongs to a group, and all groups together use few connections. */
import { RequestError } from "../errors.ts";
import { type ReadSince, StreamGroup, type Subscriber } from "./group.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Makes all groups together read about a quarter of the time, as if they shared one connection, however many groups
 * there are and however long a read takes.
 */
const restPerRead = 4;
const maxRestMs = 10_000;
const retryAfterSeconds = 10;

export interface Membership {
  leave(): void;
  /** Says what the member has read itself. It receives everything that changes after that. */
  begin(seen: Snapshot): void;
}

export class StreamHub {
  readonly #groups: Map<string, StreamGroup> = new Map();
  readonly #maxReads: number;
  readonly #maxStreams: number;
  readonly #callers: Map<string, number> = new Map();
  #reads = 0;
  readonly #waiting: (() => void)[] = [];

  /**
   * At most `maxReads` reads run at once, so that requests find free connections. A caller has at most `maxStreams`.
   */
  constructor(maxReads: number, maxStreams: number) {
    this.#maxReads = Math.max(1, maxReads);
    this.#maxStreams = maxStreams;
  }

  /** The number of groups. */
  get size(): number {
    return this.#groups.size;
  }

  /** Joins the group of `key`. All members of a group see the same jobs. */
  join(caller: string, key: string, readSince: ReadSince, subscriber: Subscriber): Membership {
    const uncount = this.#count(caller);
    let group = this.#groups.get(key);
    if (group === undefined) {
      const created = new StreamGroup(
        (since) => this.#inTurn(() => readSince(since)),
        (tookMs) => Math.min(tookMs * restPerRead * this.#groups.size, maxRestMs),
        () => {
          if (this.#groups.get(key) === created) this.#groups.delete(key);
        },
      );
      group = created;
      this.#groups.set(key, created);
    }
    const joined = group;
    const unsubscribe = joined.subscribe(subscriber);
    return {
      leave: () => {
        unsubscribe();
        uncount();
      },
      begin: (seen) => joined.begin(seen),
    };
  }

  /** Counts a stream of a caller. Returns a function that ends the count; further calls of it have no effect. */
  #count(caller: string): () => void {
    const count = this.#callers.get(caller) ?? 0;
    if (count >= this.#maxStreams)
      throw new RequestError(429, "PGRST429", `This token already has ${count} live streams`, {
        name: "too_many_requests",
        hint: "Close some of them, or share one stream.",
        headers: { "retry-after": String(retryAfterSeconds) },
      });
    this.#callers.set(caller, count + 1);
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      const left = (this.#callers.get(caller) ?? 1) - 1;
      if (left === 0) this.#callers.delete(caller);
      else this.#callers.set(caller, left);
    };
  }

  /** Runs work when fewer than `maxReads` reads are running. */
  async #inTurn<T>(work: () => Promise<T>): Promise<T> {
    if (this.#reads >= this.#maxReads) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#reads += 1;
    try {
      return await work();
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#reads -= 1;
      else next();
    }
  }
}
