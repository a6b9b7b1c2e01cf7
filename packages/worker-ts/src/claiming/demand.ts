/**
 * What to claim next: as many jobs as can start now, and those that will start within the next milliseconds. Never more
 * of a type than its cap allows to start, so that no job has to be handed back.
 */
import { maxBatchSize } from "../defaults.ts";
import { type HandledType, PerType } from "../handled-type.ts";
import type { Slots } from "../running/slots.ts";
import type { Pace } from "./pace.ts";
import type { ClaimRequest } from "./protocol.ts";

export interface DemandLimits {
  /** The number of jobs in one call, at most. */
  readonly batchSize: number;
  /** The number of jobs claimed ahead of their start, at most. */
  readonly prefetch: number;
}

/** What the demand knows of one type. */
interface TypeDemand {
  /** The number of jobs that calls in flight may bring. */
  expected: number;
  /** Whether a claim left this type out, because its cap was reached. */
  wasLeftOut: boolean;
}

export class Demand {
  readonly #slots: Slots;
  readonly #types: readonly HandledType[];
  readonly #pace: Pace;
  readonly #limits: DemandLimits;
  readonly #perType: PerType<TypeDemand>;
  readonly #allNames: readonly string[];
  readonly #batched: readonly HandledType[];
  /** Whether every type may take every slot, one job per call: then nothing has to be counted per type. */
  readonly #isUniform: boolean;
  /** The number of slots that the jobs of calls in flight may take. */
  #expected = 0;
  #isNarrowTurn = true;

  constructor(slots: Slots, types: readonly HandledType[], pace: Pace, limits: DemandLimits) {
    this.#slots = slots;
    this.#types = types;
    this.#pace = pace;
    this.#limits = limits;
    this.#perType = new PerType(types, () => ({ expected: 0, wasLeftOut: false }));
    this.#allNames = types.map((type) => type.name);
    this.#batched = types.filter((type) => type.batchSize > 1);
    this.#isUniform = !types.some((type) => type.isCapped || type.batchSize > 1);
  }

  /** The next claim, of at most `limit` jobs; undefined when there is no room for any. */
  next(limit: number): ClaimRequest | undefined {
    return this.#toFill(limit) ?? this.#toStart(Math.min(limit, this.#limits.batchSize));
  }

  /** A call goes out: the room for the jobs that it may bring is reserved. */
  expect(request: ClaimRequest): void {
    this.#count(request, request.limit);
  }

  /** The call has returned, with however many jobs. */
  arrived(request: ClaimRequest): void {
    this.#count(request, -request.limit);
    if (!request.fillsBatches) return;
    for (const type of this.#batched) {
      if (request.types.includes(type.name)) this.#slots.expectMore(type, false);
    }
  }

  /** No job will be claimed for now: batches start as they are. */
  stopFilling(): void {
    for (const type of this.#batched) this.#slots.expectMore(type, false);
  }

  /** Returns whether a claim has left this type out since the last call of this method. */
  takeLeftOut(type: HandledType): boolean {
    const state = this.#perType.of(type);
    const { wasLeftOut } = state;
    state.wasLeftOut = false;
    return wasLeftOut;
  }

  /** A claim that fills up the incomplete batches of one type. */
  #toFill(most: number): ClaimRequest | undefined {
    const { available } = this.#slots;
    if (available <= 0) return undefined;
    for (const type of this.#batched) {
      if (!this.#slots.expectsMore(type) || this.#perType.of(type).expected > 0) continue;
      const calls = Math.min(available, type.cap - this.#slots.calls(type));
      const limit = Math.min(most, maxBatchSize, calls * type.batchSize - this.#slots.unstarted(type));
      if (limit > 0) return { limit, types: [type.name], coversAll: false, fillsBatches: true };
      this.#slots.expectMore(type, false);
    }
    return undefined;
  }

  #toStart(most: number): ClaimRequest | undefined {
    const ahead = Math.min(this.#pace.ahead(this.#slots.concurrency), this.#limits.prefetch);
    const room = this.#slots.available - this.#slots.needed - this.#expected;
    const want = Math.min(most, Math.floor(room + ahead));
    // While every slot is busy, a few more jobs are not worth a call.
    if (want < 1 || (room <= 0 && want < ahead / 4)) return undefined;
    // A batch that expects more jobs is filled by a call of its own.
    const open = this.#types.filter((type) => !this.#slots.expectsMore(type) && this.#hasRoom(type));
    const least = Math.min(...open.map((type) => this.#room(type)));
    if (open.length === 0) return undefined;
    if (least >= want) return this.#request(want, open, true);
    // Some types have less room. Alternate: claim all types up to the least room, then only those with enough room.
    this.#isNarrowTurn = !this.#isNarrowTurn;
    const wide = open.filter((type) => this.#room(type) >= want);
    if (this.#isNarrowTurn || wide.length === 0) return this.#request(least, open, true);
    return this.#request(want, wide, false);
  }

  /** The number of jobs of the type that can start now or within the next milliseconds. */
  #room(type: HandledType): number {
    if (!type.isCapped) return Number.POSITIVE_INFINITY;
    const ahead = Math.min(this.#pace.aheadOf(type), this.#limits.prefetch);
    const { expected } = this.#perType.of(type);
    const calls = type.cap - this.#slots.calls(type);
    return calls * type.batchSize + ahead - this.#slots.unstarted(type) - expected;
  }

  #hasRoom(type: HandledType): boolean {
    const hasRoom = this.#room(type) >= 1;
    if (!hasRoom) this.#perType.of(type).wasLeftOut = true;
    return hasRoom;
  }

  #request(limit: number, types: readonly HandledType[], coversAll: boolean): ClaimRequest {
    const names = types.length === this.#types.length ? this.#allNames : types.map((type) => type.name);
    return { limit, types: names, coversAll, fillsBatches: false };
  }

  #count(request: ClaimRequest, jobs: number): void {
    this.#expected += request.fillsBatches ? 0 : jobs;
    if (request.types === this.#allNames && this.#isUniform) return;
    for (const type of this.#types) {
      if (request.types.includes(type.name)) this.#perType.of(type).expected += jobs;
    }
  }
}
