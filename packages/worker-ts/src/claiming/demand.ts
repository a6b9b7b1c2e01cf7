/**
 * What to claim next: as many jobs as can start now, and those that will start in the next milliseconds. Never more of a
 * type than its cap lets start, so nothing has to be handed back.
 */
import type { HandledType } from "../handled-type.ts";
import type { Slots } from "../running/slots.ts";
import type { Pace } from "./pace.ts";
import type { Ask } from "./protocol.ts";

/** The kernel claims at most this many in a call. */
const MOST_PER_CALL = 1000;

export interface DemandLimits {
  /** Jobs in one call, at most. */
  readonly batchSize: number;
  /** Jobs claimed ahead of their start, at most. */
  readonly prefetch: number;
}

export class Demand {
  readonly #slots: Slots;
  readonly #types: readonly HandledType[];
  readonly #pace: Pace;
  readonly #limits: DemandLimits;
  readonly #everyName: readonly string[];
  readonly #batched: readonly HandledType[];
  /** In slots: what calls on their way may bring. */
  #expected = 0;
  #careful = true;

  constructor(slots: Slots, types: readonly HandledType[], pace: Pace, limits: DemandLimits) {
    this.#slots = slots;
    this.#types = types;
    this.#pace = pace;
    this.#limits = limits;
    this.#everyName = types.map((type) => type.name);
    this.#batched = types.filter((type) => type.batchSize > 1);
  }

  /** The next claim, of at most so many jobs; nothing when there is no room for any. */
  next(most: number): Ask | undefined {
    return this.#toFill(most) ?? this.#toStart(Math.min(most, this.#limits.batchSize));
  }

  /** A call goes out: what it may bring is spoken for. */
  expect(ask: Ask): void {
    this.#count(ask, ask.limit);
  }

  /** The call came back, with whatever it brought. */
  arrived(ask: Ask): void {
    this.#count(ask, -ask.limit);
    if (!ask.fill) return;
    for (const type of this.#batched) if (ask.types.includes(type.name)) type.hasMore = false;
  }

  /** Nothing more will be claimed for now: batches start as they are. */
  giveUpFilling(): void {
    for (const type of this.#batched) type.hasMore = false;
  }

  /** Batches of one type that could be fuller. */
  #toFill(most: number): Ask | undefined {
    const { free } = this.#slots;
    if (free <= 0) return undefined;
    for (const type of this.#batched) {
      if (!type.hasMore || type.expected > 0) continue;
      const calls = Math.min(free, type.cap - type.calls);
      const limit = Math.min(most, MOST_PER_CALL, calls * type.batchSize - type.unstarted);
      if (limit > 0) return { limit, types: [type.name], all: false, fill: true };
      type.hasMore = false;
    }
    return undefined;
  }

  #toStart(most: number): Ask | undefined {
    const ahead = Math.min(this.#pace.ahead(this.#slots.concurrency), this.#limits.prefetch);
    const want = Math.min(most, Math.floor(this.#slots.free + ahead - this.#slots.waiting - this.#expected));
    // While every slot is busy, a few jobs more are not worth a call.
    if (want < 1 || (this.#slots.free - this.#slots.waiting - this.#expected <= 0 && want < ahead / 4))
      return undefined;
    // What fills up a batch is claimed by a call of its own.
    const open = this.#types.filter((type) => !type.hasMore && this.#hasRoom(type));
    const least = Math.min(...open.map((type) => this.#room(type)));
    if (open.length === 0) return undefined;
    if (least >= want) return { limit: want, types: this.#names(open), all: true, fill: false };
    // Some type has less room than that. In turn: all of them up to the least room, and the others in full.
    this.#careful = !this.#careful;
    const wide = open.filter((type) => this.#room(type) >= want);
    if (this.#careful || wide.length === 0) {
      return { limit: least, types: this.#names(open), all: true, fill: false };
    }
    return { limit: want, types: this.#names(wide), all: false, fill: false };
  }

  /** Jobs of the type that can start now or in the next milliseconds. */
  #room(type: HandledType): number {
    if (!type.isCapped) return Number.POSITIVE_INFINITY;
    const ahead = Math.min(this.#pace.aheadOf(type), this.#limits.prefetch);
    return (type.cap - type.calls) * type.batchSize + ahead - type.unstarted - type.expected;
  }

  #hasRoom(type: HandledType): boolean {
    const hasRoom = this.#room(type) >= 1;
    if (!hasRoom) type.wasLeftOut = true;
    return hasRoom;
  }

  #names(types: readonly HandledType[]): readonly string[] {
    return types.length === this.#types.length ? this.#everyName : types.map((type) => type.name);
  }

  #count(ask: Ask, jobs: number): void {
    this.#expected += ask.fill ? 0 : jobs;
    if (ask.types === this.#everyName && !this.#types.some((type) => type.isCapped || type.batchSize > 1))
      return;
    for (const type of this.#types) if (ask.types.includes(type.name)) type.expected += jobs;
  }
}
