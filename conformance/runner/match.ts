/** Compares what happened with what a scenario expects. */
import { isDeepStrictEqual } from "node:util";

/** What `$near` without `of` is compared with. */
export interface MatchContext {
  /** The time of the database, in epoch milliseconds. */
  readonly now: number;
}

type Operator = (argument: unknown, actual: unknown, at: string, context: MatchContext) => string[];

/**
 * The differences between a value and an expectation, each with its place; none if the value is as expected. An object
 * may have other keys than the expected ones; an array has exactly the expected elements.
 */
export function differences(expected: unknown, actual: unknown, context: MatchContext, at = ""): string[] {
  if (Array.isArray(expected)) return differencesOfArrays(expected, actual, context, at);
  if (typeof expected !== "object" || expected === null) {
    // An adapter may leave out a field that has no value.
    const isSame = isDeepStrictEqual(expected, actual) || (expected === null && actual === undefined);
    return isSame ? [] : [`${at || "the value"} is ${show(actual)}, not ${show(expected)}`];
  }
  const [name] = Object.keys(expected);
  const operator = operators[name ?? ""];
  if (operator !== undefined && Object.keys(expected).length === 1)
    return operator(Object.values(expected)[0], actual, at, context);
  if (name?.startsWith("$")) throw new Error(`${at}: there is no operator ${name}`);
  if (typeof actual !== "object" || actual === null || Array.isArray(actual))
    return [`${at || "the value"} is ${show(actual)}, not an object`];
  return Object.entries(expected).flatMap(([key, value]) =>
    differences(value, (actual as Record<string, unknown>)[key], context, at === "" ? key : `${at}.${key}`),
  );
}

function differencesOfArrays(
  expected: readonly unknown[],
  actual: unknown,
  context: MatchContext,
  at: string,
): string[] {
  if (!Array.isArray(actual)) return [`${at || "the value"} is ${show(actual)}, not an array`];
  if (actual.length !== expected.length)
    return [`${at || "the array"} has ${actual.length} elements, not ${expected.length}: ${show(actual)}`];
  return expected.flatMap((value, index) => differences(value, actual[index], context, `${at}[${index}]`));
}

const unless = (holds: boolean, message: string): string[] => (holds ? [] : [message]);

const operators: Readonly<Record<string, Operator>> = {
  $any: (_, actual, at) => unless(actual !== undefined && actual !== null, `${at} is missing`),
  $absent: (_, actual, at) => unless(actual === undefined || actual === null, `${at} is ${show(actual)}`),
  $type: (type, actual, at) => unless(typeof actual === type, `${at} is ${show(actual)}, not a ${type}`),
  $match: (pattern, actual, at) =>
    unless(
      typeof actual === "string" && new RegExp(String(pattern), "s").test(actual),
      `${at} is ${show(actual)}, which does not match ${pattern}`,
    ),
  $not: (expected, actual, at, context) =>
    unless(differences(expected, actual, context).length > 0, `${at} is ${show(actual)}`),
  $oneOf: (expected, actual, at, context) =>
    unless(
      (expected as unknown[]).some((each) => differences(each, actual, context).length === 0),
      `${at} is ${show(actual)}, none of ${show(expected)}`,
    ),
  $exactly: (expected, actual, at) =>
    unless(isDeepStrictEqual(actual, expected), `${at} is ${show(actual)}, not ${show(expected)}`),
  $min: (least, actual, at) =>
    unless(Number(actual) >= Number(least), `${at} is ${show(actual)}, less than ${least}`),
  $max: (most, actual, at) =>
    unless(Number(actual) <= Number(most), `${at} is ${show(actual)}, more than ${most}`),
  $length: (expected, actual, at, context) =>
    differences(expected, lengthOf(actual), context, `the length of ${at || "the value"}`),
  $every: (expected, actual, at, context) =>
    Array.isArray(actual)
      ? actual.flatMap((each, index) => differences(expected, each, context, `${at}[${index}]`))
      : [`${at} is ${show(actual)}, not an array`],
  $anyOrder: (expected, actual, at, context) => unordered(expected as unknown[], actual, at, context),
  $near: (argument, actual, at, { now }) => {
    const { seconds, within, of } = argument as { seconds: number; within: number; of?: string };
    const wanted = (of === undefined ? now : Date.parse(of)) + seconds * 1000;
    const found = Date.parse(String(actual));
    return unless(
      Math.abs(found - wanted) <= within * 1000,
      `${at} is ${show(actual)}, not within ${within} s of ${new Date(wanted).toISOString()}`,
    );
  },
};

function lengthOf(actual: unknown): number | undefined {
  return typeof actual === "string" || Array.isArray(actual) ? actual.length : undefined;
}

function unordered(expected: unknown[], actual: unknown, at: string, context: MatchContext): string[] {
  if (!Array.isArray(actual) || actual.length !== expected.length)
    return [`${at || "the array"} is ${show(actual)}, not ${expected.length} elements`];
  const left = [...actual];
  return expected.flatMap((each) => {
    const place = left.findIndex((candidate) => differences(each, candidate, context).length === 0);
    if (place < 0) return [`${at || "the array"} has no ${show(each)}: ${show(actual)}`];
    left.splice(place, 1);
    return [];
  });
}

function show(value: unknown): string {
  const text = JSON.stringify(value) ?? "missing";
  return text.length > 600 ? `${text.slice(0, 600)}…` : text;
}
