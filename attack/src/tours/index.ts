/** All tours, in the order in which they are played. */
import type { Tour } from "../tour.ts";
import { escapeTour } from "./escape.ts";
import { filtersTour } from "./filters.ts";
import { inputsTour } from "./inputs.ts";
import { settingsTour } from "./settings.ts";
import { sqlTour } from "./sql.ts";
import { tokensTour } from "./tokens.ts";
import { transactionsTour } from "./transactions.ts";

export const tours: readonly Tour[] = [
  sqlTour,
  escapeTour,
  transactionsTour,
  tokensTour,
  filtersTour,
  settingsTour,
  inputsTour,
];

/** Returns the tours with these names. Throws if there is no tour of a name. */
export function toursNamed(names: readonly string[]): Tour[] {
  const unknown = names.filter((name) => !tours.some((tour) => tour.name === name));
  if (unknown.length > 0)
    throw new RangeError(
      `Unknown tours: ${unknown.join(", ")}. Tours: ${tours.map(({ name }) => name).join(", ")}`,
    );
  return tours.filter(({ name }) => names.includes(name));
}
