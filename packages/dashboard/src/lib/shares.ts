/** The parts of a whole, the largest first; what is small becomes one part together. */

export interface Part {
  readonly label: string;
  readonly value: number;
  /** Which of the colours it has. The same tenant has the same one in each strip. */
  readonly color: number;
}

export interface Shares {
  readonly total: number;
  readonly parts: readonly Part[];
}

/** How many parts have a colour of their own. */
export const colors = 6;

/** `all` decides which of them have a colour: the first ones, in their order. The others are one part. */
export function sharesOf<T>(
  all: readonly T[],
  amountOf: (each: T) => number,
  labelOf: (each: T) => string,
): Shares {
  const values = all.map(amountOf);
  const total = values.reduce((sum, value) => sum + value, 0);
  const own = all
    .slice(0, colors)
    .map((each, color) => ({ label: labelOf(each), value: values[color] ?? 0, color }))
    .filter(({ value }) => value > 0);
  const rest = values.slice(colors).reduce((sum, value) => sum + value, 0);
  return { total, parts: rest > 0 ? [...own, { label: "Others", value: rest, color: colors }] : own };
}
