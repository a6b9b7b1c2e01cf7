/** The live streams of a server. Each client belongs to a group, and all groups together use few connections. */
import { RequestError } from "../errors.ts";
import { FairQueue } from "../fair-queue.ts";
import { type ReadSince, StreamGroup, type Subscriber } from "./group.ts";
import type { Snapshot } from "./snapshot.ts";

/**
 * Makes all groups together read about a quarter of the time, as if they shared one connection, however many groups
 * there are and however long a read takes. Callers have equal parts of it, however many groups each has.
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
  readonly #reads: FairQueue;
  readonly #maxStreams: number;
  /** The number of streams by caller. */
  readonly #callers: Map<string, number> = new Map();
  /** The number of groups by caller. */
  readonly #groupCounts: Map<string, number> = new Map();

  /**
   * At most `maxReads` reads run at once, so that requests find free connections. A caller has at most `maxStreams`.
   */
  constructor(maxReads: number, maxStreams: number) {
    const size = Math.max(1, maxReads);
    this.#reads = new FairQueue({ size, perCaller: size });
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
        (since) => this.#reads.run(caller, () => readSince(since)),
        (tookMs) => Math.min(tookMs * restPerRead * this.#share(caller), maxRestMs),
        () => {
          if (this.#groups.get(key) !== created) return;
          this.#groups.delete(key);
          add(this.#groupCounts, caller, -1);
        },
      );
      group = created;
      this.#groups.set(key, created);
      add(this.#groupCounts, caller, 1);
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
      throw new RequestError(429, "PGRST429", `This caller already has ${count} live streams`, {
        name: "too_many_requests",
        hint: "Close some of them, or share one stream.",
        headers: { "retry-after": String(retryAfterSeconds) },
      });
    add(this.#callers, caller, 1);
    let isCounted = true;
    return () => {
      if (!isCounted) return;
      isCounted = false;
      add(this.#callers, caller, -1);
    };
  }

  /** How many groups there would be if every caller had as many as this one. */
  #share(caller: string): number {
    return this.#groupCounts.size * (this.#groupCounts.get(caller) ?? 1);
  }
}

function add(counts: Map<string, number>, caller: string, count: number): void {
  const sum = (counts.get(caller) ?? 0) + count;
  if (sum === 0) counts.delete(caller);
  else counts.set(caller, sum);
}
