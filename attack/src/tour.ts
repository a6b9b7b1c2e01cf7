/** What a tour is, and how it counts its steps and reports what it finds. */
import type { TestServerAddress } from "@jobforge/testing";
import { type Random, randomFrom } from "../../sql/test/support/random.ts";
import type { Subject } from "./subjects.ts";

/** A series of attacks of one kind. The seed decides which attacks are made, and in which order. */
export interface Tour {
  readonly name: string;
  /** What the tour tries, in one line. */
  readonly about: string;
  play(server: TestServerAddress, steps: Steps): Promise<void>;
}

/** A promise that an attack broke. */
export interface Violation {
  readonly tour: string;
  readonly seed: number;
  readonly step: number;
  readonly subject: Subject;
  readonly what: string;
  /** The SQL or the HTTP request, with the caller. */
  readonly request: string;
}

export interface Bounds {
  /** The most steps of a tour. */
  readonly count?: number | undefined;
  /** When no new step begins, in the time of `performance.now()`. The first step always begins. */
  readonly until?: number | undefined;
}

export interface StepsOptions extends Bounds {
  readonly tour: string;
  readonly seed: number;
  /** Called every few seconds, and for each violation. */
  onProgress(message: string): void;
}

const progressMs = 5_000;
const maxRequestLength = 2_000;

/** The steps of one tour: the random choices of each, the bounds, and the violations. */
export class Steps {
  readonly violations: Violation[] = [];
  /** How often each outcome was seen, such as an SQLSTATE or an HTTP status. */
  readonly outcomes: Map<string, number> = new Map();
  readonly #options: StepsOptions;
  #number = 0;
  #random: Random;
  #reportedAt = performance.now();

  constructor(options: StepsOptions) {
    this.#options = options;
    this.#random = randomFrom(options.seed);
  }

  /** The number of the current step, from 1. */
  get number(): number {
    return this.#number;
  }

  /** The choices of this step. They depend on the seed and on the step's number only. */
  get random(): Random {
    return this.#random;
  }

  /** Begins the next step. Returns false if the tour is over. */
  next(): boolean {
    const { count = Number.POSITIVE_INFINITY, until = Number.POSITIVE_INFINITY } = this.#options;
    if (this.#number >= count || (this.#number > 0 && performance.now() >= until)) return false;
    this.#number += 1;
    this.#random = randomFrom(this.#options.seed * 1_000_003 + this.#number);
    if (performance.now() - this.#reportedAt > progressMs) {
      this.#reportedAt = performance.now();
      this.#options.onProgress(`${this.#options.tour}: ${this.#number} steps`);
    }
    return true;
  }

  /** Returns the items in an order that the seed decides. The order differs from round to round. */
  shuffled<Item>(items: readonly Item[], round: number): Item[] {
    return randomFrom(this.#options.seed * 31 + round).some(items, items.length);
  }

  /**
   * Begins one step for each item, round after round in a new order, until the tour is over. The first round skips
   * no item, so a tour with enough steps makes every attack.
   */
  async each<Item>(items: readonly Item[], play: (item: Item) => Promise<void>): Promise<void> {
    for (let round = 0; ; round += 1)
      for (const item of this.shuffled(items, round)) {
        if (!this.next()) return;
        await play(item);
      }
  }

  /** Counts an outcome. */
  saw(outcome: string): void {
    this.outcomes.set(outcome, (this.outcomes.get(outcome) ?? 0) + 1);
  }

  /** Records that an attack succeeded. */
  violated(subject: Subject, what: string, request: string): void {
    const { tour, seed } = this.#options;
    const shown = request.length > maxRequestLength ? `${request.slice(0, maxRequestLength)}…` : request;
    this.violations.push({ tour, seed, step: this.#number, subject, what, request: shown });
    this.#options.onProgress(`✗ ${tour}: step ${this.#number}: ${subject}: ${what}`);
  }
}
