/** Log lines for people: formatted by pino-pretty, without empty fields, and with whole stacks. */
import pretty from "pino-pretty";

/** A destination that writes JSON lines to the terminal as readable text. */
export function humanOutput(): { write(line: string): void } {
  const ignore = "trace_id,tenant_id,worker_id";
  const formatted = pretty({ messageKey: "message", timestampKey: "timestamp", ignore, sync: true });
  return { write: (line) => void formatted.write(humanLine(withoutControls(line))) };
}

/**
 * Removes the fields that are null. A stack follows the message, line by line, and replaces the fields that repeat a
 * part of it.
 */
export function humanLine(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const { stack } = fields;
  const hasStack = typeof stack === "string";
  const kept = Object.entries(fields).filter(
    ([name, value]) => value !== null && !(hasStack && stackFields.has(name)),
  );
  const shown = Object.fromEntries(kept);
  if (hasStack) shown["message"] = `${fields["message"]}\n${stack.replaceAll(/^/gm, "    ")}`;
  return `${JSON.stringify(shown)}\n`;
}

const stackFields: ReadonlySet<string> = new Set(["stack", "error", "error_name", "error_at"]);

/**
 * Replaces control characters, and those that change the direction of text, in the texts of a JSON line, because data
 * of others must not manipulate the terminal. Line breaks and tabs stay.
 */
export function withoutControls(line: string): string {
  const escapesAndUnsafe =
    /\\(?:u[0-9a-f]{4}|.)|[\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gi;
  return line.replaceAll(escapesAndUnsafe, (found) => (/^\\["\\/nt]$/.test(found) ? found : " "));
}

/** Replaces the same characters in a text that is not JSON. */
export function printable(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters must not reach a terminal
  const unsafe = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
  return text.replaceAll(unsafe, " ");
}
