/** What all faults have in common. */
import type { Random } from "../../../sql/test/support/random.ts";
import type { World } from "../world.ts";

export interface Fault {
  readonly name: string;
  /** How long it lasts. */
  readonly holdMs: number;
  /** While it lasts, no call reaches the database, so processes can only wait. */
  readonly silences: boolean;
  /** Injects the fault. Resolves to a description of what exactly was done, for the log. */
  inject(): Promise<string>;
  heal(): Promise<void>;
}

export interface FaultKind {
  readonly name: string;
  /** A short description for `--list`. */
  readonly about: string;
  /** Whether it makes sense only in a world without limits. */
  readonly isPlain?: true;
  /** Creates a fault with a random severity. */
  make(world: World, random: Random): Fault;
}

/** A random number between two bounds, both included. */
export function between(random: Random, min: number, max: number): number {
  return min + random.below(max - min + 1);
}
