/**
 * How fast jobs go, and therefore how many to claim ahead of their start. Jobs that take microseconds must be claimed
 * by the hundred; otherwise the worker would wait for the database most of the time. A job that takes a minute must not
 * be claimed before there is a slot for it, because another worker could run it now.
 */
import { type HandledType, PerType } from "../handled-type.ts";

/** Longer times count for more than shorter ones: the worker soon claims less ahead, and only slowly more. */
const weightUp = 0.3;
const weightDown = 0.05;
const minJobMs = 0.001;
/** The assumed duration of a job whose type has not yet run here: too long to claim it ahead. */
const unknownJobMs = 1_000;
/** By how much each claimed job reduces the weight of those before it. */
const fading = 0.98;
const minAheadMs = 5;
const maxAheadMs = 20;

/** A moving mean. */
class Mean {
  #value: number | undefined;

  get value(): number | undefined {
    return this.#value;
  }

  note(sample: number): void {
    const before = this.#value;
    if (before === undefined) this.#value = sample;
    else this.#value = before + (sample - before) * (sample > before ? weightUp : weightDown);
  }
}

/** What the pace knows of one type. */
class TypePace {
  /** Milliseconds that one job takes. */
  readonly jobMs = new Mean();
  /** The share of this type in the last claims. */
  share = 0;
}

export class Pace {
  readonly #types: readonly HandledType[];
  readonly #paces: PerType<TypePace>;
  /** Milliseconds from a call that settles and claims to its response. */
  readonly #roundTrip = new Mean();

  constructor(types: readonly HandledType[]) {
    this.#types = types;
    this.#paces = new PerType(types, () => new TypePace());
  }

  /** A handler call for `jobs` jobs of a type ended after `ms` milliseconds. */
  noteCall(type: HandledType, ms: number, jobs: number): void {
    this.#paces.of(type).jobMs.note(Math.max(ms / jobs, minJobMs));
  }

  /** A job has been running for `ms` milliseconds, so it takes at least that long. */
  noteStillRunning(type: HandledType, ms: number): void {
    const { jobMs } = this.#paces.of(type);
    if (ms > (jobMs.value ?? 0)) jobMs.note(ms);
  }

  noteRoundTrip(ms: number): void {
    this.#roundTrip.note(ms);
  }

  /** `jobs` jobs were claimed, of these types. The next claims are expected to be like the last ones. */
  noteClaim(jobs: number, perType: ReadonlyMap<HandledType, number>): void {
    const kept = fading ** jobs;
    for (const type of this.#types) {
      const pace = this.#paces.of(type);
      pace.share = pace.share * kept + ((perType.get(type) ?? 0) / jobs) * (1 - kept);
    }
  }

  /** How many jobs `slots` slots will start before another claim can return. Zero while nothing is known. */
  ahead(slots: number, jobMs: number = this.#expectedJobMs()): number {
    const roundTrip = (this.#roundTrip.value ?? 0) * 1.5;
    const aheadMs = Math.min(Math.max(roundTrip, minAheadMs), maxAheadMs);
    return Math.floor((slots * aheadMs) / jobMs);
  }

  /** The same for one type only. */
  aheadOf(type: HandledType): number {
    return this.ahead(type.cap, this.#paces.of(type).jobMs.value ?? unknownJobMs);
  }

  /** The expected duration of the next job: the mean of each type, weighted by the type's share in the last claims. */
  #expectedJobMs(): number {
    let ms = 0;
    let shares = 0;
    for (const type of this.#types) {
      const { share, jobMs } = this.#paces.of(type);
      ms += share * (jobMs.value ?? unknownJobMs);
      shares += share;
    }
    return shares > 0 ? ms / shares : unknownJobMs;
  }
}
