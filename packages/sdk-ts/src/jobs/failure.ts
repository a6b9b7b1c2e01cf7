/**
 * Texts for the error of a run: one line with the messages of its causes, and the whole with stacks. The database
 * writes the same line (full_message in job_errors.sql); a test gives both the same cases.
 */

/** An error as it is stored. Clients in other languages may write other properties, so nothing but this is certain. */
export interface ErrorParts {
  readonly message: string;
  readonly [key: string]: unknown;
}

const maxCauses = 10;
const maxMemberDepth = 3;
const membersShown = 3;
const maxLineLength = 2000;
/** The characters before a cut that may be a part of a secret. */
const splitLength = 200;

/**
 * The message of an error and those of its causes, such as `fetch failed: connect ECONNREFUSED 127.0.0.1:1`. The first
 * three members of an AggregateError follow its own message. A message that repeats a part of the line is left out.
 */
export function failureLine(failure: ErrorParts): string {
  return lineOf(failure, 0);
}

function lineOf(error: unknown, depth: number): string {
  let line = "";
  let current: unknown = error;
  for (let causes = 0; causes < maxCauses; causes += 1) {
    const members = depth < maxMemberDepth ? memberLines(current, depth + 1) : "";
    for (const part of [ownMessage(current), members]) {
      if (part !== "" && !line.includes(part)) line = line === "" ? part : `${line}: ${part}`;
    }
    current = isObject(current) ? current["cause"] : undefined;
    if (!isObject(current) && typeof current !== "string") break;
  }
  return cutText(line, maxLineLength);
}

/**
 * The text, cut to at most `length` characters, so that it can be masked afterwards. A cut may split a secret, and the
 * rules for masking do not recognize a part of it. So the last word is left out: what follows the last blank or quote
 * in the last 200 characters, or all of these. The rest of an unfinished address goes too. The database cuts in the
 * same way (cut_text in redact.sql).
 */
export function cutText(text: string, length: number): string {
  if (text.length <= length) return text;
  // A character has at most two code units.
  const characters = [...text.slice(0, 2 * length + 2)];
  if (characters.length <= length) return text;
  const start = Math.max(length - splitLength, 0);
  const end = characters.slice(start, length).join("");
  const whole = characters.slice(0, start).join("") + end.replace(/[^\s"']*$/, "");
  return whole.replace(/:\/\/[^\s/"']*$/, "://");
}

function memberLines(error: unknown, depth: number): string {
  const { errors, omittedErrors } = isObject(error) ? error : {};
  if (!Array.isArray(errors) || errors.length === 0) return "";
  const shown = errors.slice(0, membersShown).map((member) => lineOf(member, depth));
  const more = errors.length - membersShown + (typeof omittedErrors === "number" ? omittedErrors : 0);
  return [...shown, ...(more > 0 ? [`and ${more} more`] : [])].join("; ");
}

function ownMessage(error: unknown): string {
  if (typeof error === "string") return error;
  if (!isObject(error)) return "";
  const { message, code, name } = error;
  if (isText(message)) return message;
  if ("cause" in error || "errors" in error) return "";
  if (isText(code) || typeof code === "number") return String(code);
  return isText(name) ? name : "";
}

/** The error with its stack, then each cause and each member with its own: as many lines as there are. */
export function failureTrace(failure: ErrorParts): string {
  return traceOf(failure, "", 0).join("\n");
}

function traceOf(error: unknown, label: string, depth: number): string[] {
  if (depth > maxCauses) return [];
  if (!isObject(error)) return typeof error === "string" ? [`${label}${error}`] : [];
  const { name, code, stack, cause, errors, omittedErrors } = error;
  const message = ownMessage(error);
  const head = [isText(name) ? name : "Error", message].filter((part) => part !== "").join(": ");
  const text = isText(stack) ? stack : head;
  // The stack of an error usually begins with its name and message, but a library may have changed the message since.
  const lines = [`${label}${text.includes(message) ? text : `${head}\n${text}`}`];
  if (isText(code) && !lines[0]?.includes(code)) lines.push(`    code: ${code}`);
  for (const member of Array.isArray(errors) ? errors : [])
    lines.push(...traceOf(member, "Member: ", depth + 1));
  if (typeof omittedErrors === "number") lines.push(`Member: and ${omittedErrors} more`);
  if (cause !== undefined) lines.push(...traceOf(cause, "Caused by: ", depth + 1));
  return lines;
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}
