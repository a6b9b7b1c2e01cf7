/**
 * How fast jobs go, and so how many to claim ahead of their start. Jobs that take microseconds must be claimed by the hundred,
 * or the worker waits for the database most of the time; a job that takes a minute must not be claimed before there is a
 * slot, because another worker could run it now.
 */
import type { HandledType } from "../handled-type.ts";

/** Becomes careful fast and bold slowly. */
const WEIGHT_UP = 0.3;
const WEIGHT_DOWN = 0.05;
const FASTEST_MS = 0.001;
/** What a job of a type that never ended here is taken to last: too long to claim it ahead. */
const UNKNOWN_MS = 1_000;
/** By how much one claimed job makes those before it count less. */
const FADING = 0.98;
const SHORTEST_AHEAD_MS = 5;
const LONGEST_AHEAD_MS = 20;

/** A mean that follows what it is told. */
export class Mean {
  #value: number | undefined;

  get value(): number | undefined {
    return this.#value;
  }

  note(sample: number): void {
    const before = this.#value;
    if (before === undefined) this.#value = sample;
    else this.#value = before + (sample - before) * (sample > before ? WEIGHT_UP : WEIGHT_DOWN);
  }
}

export class Pace {
  readonly #types: readonly HandledType[];
  /** Milliseconds from a settle+claim to its answer. */
  readonly #roundTrip = new Mean();

  constructor(types: readonly HandledType[]) {
    this.#types = types;
  }

  /** A handler call for so many jobs of a type ended. */
  noteCall(type: HandledType, ms: number, jobs: number): void {
    type.jobMs.note(Math.max(ms / jobs, FASTEST_MS));
  }

  /** A job has been going for so long; it is at least that slow. */
  noteLasting(type: HandledType, ms: number): void {
    if (ms > (type.jobMs.value ?? 0)) type.jobMs.note(ms);
  }

  noteRoundTrip(ms: number): void {
    this.#roundTrip.note(ms);
  }

  /** So many jobs were claimed, of these types: what came last is what will come next. */
  noteClaim(jobs: number, ofType: ReadonlyMap<HandledType, number>): void {
    const kept = FADING ** jobs;
    for (const type of this.#types) {
      type.share = type.share * kept + ((ofType.get(type) ?? 0) / jobs) * (1 - kept);
    }
  }

  /** How many jobs so many slots will start before the answer to another claim can be there. None while nothing is known. */
  ahead(slots: number, jobMs: number = this.#expectedMs()): number {
    const roundTrip = (this.#roundTrip.value ?? 0) * 1.5;
    const aheadMs = Math.min(Math.max(roundTrip, SHORTEST_AHEAD_MS), LONGEST_AHEAD_MS);
    return Math.floor((slots * aheadMs) / jobMs);
  }

  /** The same for one type only. */
  aheadOf(type: HandledType): number {
    return this.ahead(type.cap, type.jobMs.value ?? UNKNOWN_MS);
  }

  /** What the next job will last: the types' own means, by their share in what was claimed. */
  #expectedMs(): number {
    let ms = 0;
    let shares = 0;
    for (const type of this.#types) {
      ms += type.share * (type.jobMs.value ?? UNKNOWN_MS);
      shares += type.share;
    }
    return shares > 0 ? ms / shares : UNKNOWN_MS;
  }
}
