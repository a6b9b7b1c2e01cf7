/** Names the option that a caller probably meant. */

/** What other libraries call these options, and what to say about the difference. */
export type Aliases = Readonly<Record<string, string>>;

/**
 * Returns a sentence such as "Did you mean concurrency?", or the list of all options. `aliases` maps a name in lower
 * case without separators to a sentence, or to the name of an option.
 */
export function suggest(name: string, known: readonly string[], aliases: Aliases = {}): string {
  const plain = plainOf(name);
  const alias = Object.hasOwn(aliases, plain) ? aliases[plain] : undefined;
  if (alias !== undefined) return known.includes(alias) ? `Did you mean ${alias}?` : alias;
  const [nearest] = known
    .map((each) => ({ each, distance: distanceOf(plain, plainOf(each)) }))
    .filter(({ each, distance }) => distance <= Math.max(1, Math.floor(each.length / 4)))
    .sort((a, b) => a.distance - b.distance);
  return nearest === undefined ? `Known options: ${known.join(", ")}.` : `Did you mean ${nearest.each}?`;
}

function plainOf(name: string): string {
  return name.replaceAll(/[-_]/g, "").toLowerCase();
}

/** How many letters must be inserted, removed, replaced or swapped with the next to get from one word to the other. */
function distanceOf(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (const [place, letter] of [...from].entries()) {
    const next = [place + 1];
    for (const [index, other] of [...to].entries()) {
      const replaced = (row[index] ?? 0) + (letter === other ? 0 : 1);
      const isSwapped = index > 0 && place > 0 && letter === to[index - 1] && other === from[place - 1];
      const swapped = isSwapped ? (before[index - 1] ?? 0) + 1 : replaced;
      next.push(Math.min((row[index + 1] ?? 0) + 1, (next[index] ?? 0) + 1, replaced, swapped));
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}
