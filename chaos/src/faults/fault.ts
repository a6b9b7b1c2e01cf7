/** What all faults have in common. */
import type { Random } from "../../../sql/test/support/random.ts";
import type { World } from "../world.ts";

export interface Fault {
  readonly name: string;
  /** How long it lasts. */
  readonly holdMs: number;
  /** While it lasts no call gets through, so processes have nothing to do but wait. */
  readonly silences: boolean;
  /** What exactly was done, for the log. */
  inject(): Promise<string>;
  heal(): Promise<void>;
}

export interface FaultKind {
  readonly name: string;
  /** In a few words, for people. */
  readonly about: string;
  /** Chooses how bad it gets. */
  make(world: World, random: Random): Fault;
}

/** Milliseconds between two bounds. */
export function between(random: Random, least: number, most: number): number {
  return least + random.below(most - least + 1);
}
