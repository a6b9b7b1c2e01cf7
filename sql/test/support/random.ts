/** Reproducible random choices: the same seed gives the same choices. */

export interface Random {
  /** Returns an integer from 0 up to, but not including, the limit. */
  below(limit: number): number;
  /** Returns true with this probability. */
  chance(share: number): boolean;
  pick<Item>(items: readonly Item[]): Item;
  /** Returns up to `count` of the items, in random order. */
  some<Item>(items: readonly Item[], count: number): Item[];
}

/** Returns choices determined by a seed. The generator is Marsaglia's 32-bit xorshift, which never reaches zero. */
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
    if (item === undefined) throw new Error("cannot pick from an empty list");
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

/** Returns the seed of a test run: JOBFORGE_PROOF_SEED, to reproduce a failure, otherwise a new one. */
export function seedOfRun(): number {
  return Number(process.env["JOBFORGE_PROOF_SEED"] ?? Date.now() % 1_000_000_000);
}
