/** Random cron expressions, and instants near and far from clock changes of a zone. */
import { firstInstant, lastInstant, spansOf } from "./cron-zones.ts";
import type { Random } from "./random.ts";

export interface CronCase {
  readonly expression: string;
  readonly zone: string;
  /** Milliseconds since 1970, UTC. */
  readonly after: number;
}

export interface Field {
  readonly low: number;
  readonly high: number;
  readonly names?: readonly string[];
}

const seconds: Field = { low: 0, high: 59 };
const minutes: Field = { low: 0, high: 59 };
const hours: Field = { low: 0, high: 23 };
const days: Field = { low: 1, high: 31 };
const months: Field = {
  low: 1,
  high: 12,
  names: ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"],
};
const weekdays: Field = { low: 0, high: 6, names: ["sun", "mon", "tue", "wed", "thu", "fri", "sat"] };

const upTo = (random: Random, low: number, high: number): number => low + random.below(high - low + 1);

function value(random: Random, field: Field, number: number): string {
  const name = field.names?.[number - field.low];
  if (name === undefined || random.chance(0.5)) return random.chance(0.1) ? `0${number}` : `${number}`;
  return random.chance(0.5) ? name : name.toUpperCase();
}

function range(random: Random, field: Field): string {
  const from = upTo(random, field.low, field.high);
  return `${value(random, field, from)}-${value(random, field, upTo(random, from, field.high))}`;
}

function plainTerm(random: Random, field: Field): string {
  const one = value(random, field, upTo(random, field.low, field.high));
  // Mostly small, because a large step leaves only one value.
  const step = upTo(random, 1, random.chance(0.8) ? Math.min(15, field.high) : field.high - field.low + 1);
  switch (random.below(8)) {
    case 0:
      return range(random, field);
    case 1:
      return `${range(random, field)}/${step}`;
    case 2:
      return `${one}/${step}`;
    case 3:
      return `*/${step}`;
    default:
      return one;
  }
}

function list(random: Random, term: () => string): string {
  return Array.from({ length: random.chance(0.7) ? 1 : upTo(random, 2, 4) }, term).join(",");
}

function plainField(random: Random, field: Field, free: number): string {
  return random.chance(free) ? "*" : list(random, () => plainTerm(random, field));
}

function daysOfMonth(random: Random): string {
  if (random.chance(0.5)) return random.chance(0.8) ? "*" : "?";
  return list(random, () =>
    random.chance(0.2) ? random.pick(["L", "l"] as const) : plainTerm(random, days),
  );
}

function daysOfWeek(random: Random): string {
  if (random.chance(0.5)) return random.chance(0.8) ? "*" : "?";
  return list(random, () => {
    const day = random.chance(0.1) ? "7" : value(random, weekdays, upTo(random, 0, 6));
    switch (random.below(6)) {
      case 0:
        return `${day}#${upTo(random, 1, 5)}`;
      case 1:
        return `${day}${random.pick(["L", "#L", "l"] as const)}`;
      default:
        return plainTerm(random, weekdays);
    }
  });
}

const nicknames = ["@yearly", "@annually", "@monthly", "@weekly", "@daily", "@midnight", "@hourly"] as const;

/** Returns a typical or an unusual expression. It may name a day that no month has. */
export function randomExpression(random: Random): string {
  if (random.chance(0.02)) return random.pick(nicknames);
  const fields = [
    plainField(random, minutes, 0.3),
    plainField(random, hours, 0.35),
    daysOfMonth(random),
    plainField(random, months, 0.7),
    daysOfWeek(random),
  ];
  if (random.chance(0.2)) fields.unshift(plainField(random, seconds, 0.2));
  return fields.join(random.chance(0.9) ? " " : "  ");
}

/**
 * Returns an instant. If the zone has clock changes, half are within two days of one, and half of these within two
 * hours.
 */
export function randomInstant(random: Random, zone: string): number {
  const shifts = spansOf(zone)
    .map(({ to }) => to)
    .filter((at) => at > firstInstant && at < lastInstant);
  const fraction = random.chance(0.7) ? 0 : random.below(1000);
  if (shifts.length > 0 && random.chance(0.5)) {
    const near = random.pick([7200, 172_800] as const);
    return random.pick(shifts) + (random.below(2 * near) - near) * 1000 + fraction;
  }
  return firstInstant + random.below((lastInstant - firstInstant) / 1000) * 1000 + fraction;
}

/** Returns a text made of pieces of cron expressions, which is mostly invalid. */
export function randomNonsense(random: Random): string {
  const pieces = [
    "*",
    "?",
    "5",
    "0",
    "7",
    "31",
    "60",
    "99",
    "-",
    "/",
    ",",
    "#",
    "L",
    "fri",
    "feb",
    "W",
    "+",
    "@",
    "x",
  ];
  const field = (): string => {
    if (random.chance(0.6)) return random.pick(["*", "5", "1-5", "*/2"] as const);
    return Array.from({ length: upTo(random, 1, 4) }, () => random.pick(pieces)).join("");
  };
  return Array.from({ length: random.pick([4, 5, 5, 5, 5, 6, 6, 7] as const) }, field).join(" ");
}
