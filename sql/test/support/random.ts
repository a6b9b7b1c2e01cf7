/** Random choices that can be made again: the same seed gives the same choices. */

export interface Random {
  /** A whole number from 0 up to, but not including, the limit. */
  below(limit: number): number;
  /** True in this share of the cases. */
  chance(share: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** Some of the items, in a random order. */
  some<Item>(items: readonly Item[], count: number): Item[];
}

/** Choices that follow from a seed. The generator is Marsaglia's xorshift with 32 bits, which never reaches zero. */
export function randomFrom(seed: number): Random {
  let state = (seed * 2_654_435_761 + 1) | 0 || 1;
  const next = (): number => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
  for (let n = 0; n < 8; n += 1) next();
  const below = (limit: number): number => next() % limit;
  const pick = <Item>(items: readonly Item[]): Item => {
    const item = items[below(items.length)];
    if (item === undefined) throw new Error("there is nothing to pick from");
    return item;
  };
  const some = <Item>(items: readonly Item[], count: number): Item[] => {
    const left = [...items];
    return Array.from({ length: Math.min(count, items.length) }, () =>
      left.splice(below(left.length), 1),
    ).flat();
  };
  return { below, pick, some, chance: (share) => next() < share * 4_294_967_296 };
}

/** The seed of a test run: the one asked for, to see a failure again, else a new one. */
export function seedOfRun(): number {
  return Number(process.env["JOBFORGE_PROOF_SEED"] ?? Date.now() % 1_000_000_000);
}
