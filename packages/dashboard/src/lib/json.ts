/** JSON whose numbers keep every digit. A browser's own JSON.parse rounds 9007199254740993. */
import { isLosslessNumber, type LosslessNumber, parse, stringify } from "lossless-json";

export type Exact =
  | null
  | boolean
  | string
  | LosslessNumber
  | readonly Exact[]
  | { readonly [key: string]: Exact };

export function parseExact(text: string): Exact {
  return parse(text) as Exact;
}

export function writeExact(value: Exact, indent?: number): string {
  return stringify(value, undefined, indent) ?? "null";
}

export function isNumber(value: Exact | undefined): value is LosslessNumber {
  return isLosslessNumber(value);
}

export function isArray(value: Exact | undefined): value is readonly Exact[] {
  return Array.isArray(value);
}

export function isObject(value: Exact | undefined): value is { readonly [key: string]: Exact } {
  return typeof value === "object" && value !== null && !isArray(value) && !isNumber(value);
}

/** A field of an object, or undefined. */
export function field(value: Exact | undefined, key: string): Exact | undefined {
  return isObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

/** The error of a text that is not JSON, with its line, or undefined. */
export function jsonError(text: string): string | undefined {
  try {
    parse(text);
    return undefined;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const position = /position (\d+)/.exec(message)?.[1];
    if (position === undefined) return message;
    const line = text.slice(0, Number(position)).split("\n").length;
    return `Line ${line}: ${message.replace(/ ?at position \d+/, "")}`;
  }
}

/** Whether a JSON text has values that the policy of the type hides from people. */
export function hasMasks(text: string): boolean {
  return text.includes('"[redacted]"');
}
