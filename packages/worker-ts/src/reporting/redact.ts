/**
 * Masks secrets in log lines. The rules are those with which the database masks stored errors (redact.sql): well-known
 * keys and formats, and the keys that a type's policy lists. A test checks both with the same cases.
 *
 * A handler may log what others wrote, so every rule takes a time that grows no faster than the text: a rule that could
 * start at each word of a long name starts only at the beginning of the name.
 */
import { cutText } from "@jobforge/sdk-ts";

const mask = "[redacted]";
const unreadable = "[unreadable]";
const maxDepth = 16;
const maxStackLength = 4000;
const maxTextLength = 8192;

const secretWords =
  "passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|cookie";
/** A name that contains one of the words, from its beginning. */
const secretName = `(?<![a-z0-9_-])(?:(?!${secretWords})[a-z0-9_-])*(?:${secretWords})[a-z0-9_-]*`;
/** The characters between a key and its value, and the value: masked already, quoted, or up to the next separator. */
const secretValue = `(\\\\?["']?\\s*[=:]\\s*)(?:\\[redacted\\]|\\\\?"[^"]*(?:"|$)|'[^']*(?:'|$)|[^\\s"'\\\\,;&)}\\]]+)`;

const secretKey = new RegExp(`${secretWords}|authorization`, "i");

const rules: readonly (readonly [RegExp, string])[] = [
  [/-----BEGIN [A-Z ]*PRIVATE KEY-----(?:[^-]|-(?!----END))*(?:-----END [A-Z ]*PRIVATE KEY-----)?/g, mask],
  [/(:\/\/[^\s/:@"']*):[^\s/"']+@/g, `$1:${mask}@`],
  [/(:\/\/)[^\s/:@"']{16,}@/g, `$1${mask}@`],
  [
    /(authorization\\?["']?\s*[=:]\s*\\?["']?)(?:(?:basic|bearer|digest|token|apikey)\s+)?(?:\[redacted\]|[^\s"'\\,;&)}\]]+)/gi,
    `$1${mask}`,
  ],
  [/(bearer\s+)(?=[^\s]*[0-9._-])[a-z0-9._~+/=-]{6,}/gi, `$1${mask}`],
  // A JSON web token, with what is before it in the same word.
  [
    /(?<![A-Za-z0-9_-])((?:(?!eyJ)[A-Za-z0-9_-])*)eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?/g,
    `$1${mask}`,
  ],
  [
    /(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}/g,
    mask,
  ],
  [new RegExp(`(${secretName})${secretValue}`, "gi"), `$1$2${mask}`],
];

/** Masks by the well-known rules, however long the text is. */
export function maskText(text: string): string {
  return rules.reduce((masked, [rule, replacement]) => masked.replace(rule, replacement), text);
}

/** Masks by the well-known rules, and the keys that a type's policy or definition lists. */
export class Redactor {
  readonly #listed: ReadonlySet<string>;
  readonly #listedRule: RegExp | undefined;

  constructor(listed: readonly string[] = []) {
    const keys = listed.filter((key) => key !== "");
    this.#listed = new Set(keys.map((key) => key.toLowerCase()));
    const escaped = keys.map((key) => key.replaceAll(/\W/g, String.raw`\$&`)).join("|");
    this.#listedRule =
      keys.length === 0 ? undefined : new RegExp(`((?<!\\w)(?:${escaped}))${secretValue}`, "gi");
  }

  /** Masks a text. A longer text is cut to 8,192 characters, and says so. */
  text(text: string): string {
    if (text.length <= maxTextLength) return this.#mask(text);
    return `${this.#cut(text, maxTextLength)}… [cut: ${text.length} characters]`;
  }

  #mask(text: string): string {
    const masked = maskText(text);
    return this.#listedRule === undefined ? masked : masked.replace(this.#listedRule, `$1$2${mask}`);
  }

  /** The first cut leaves no part of a secret. What is masked may be cut anywhere. */
  #cut(text: string, length: number): string {
    return this.#mask(cutText(text, 2 * length)).slice(0, length);
  }

  /** Returns a copy without secrets. Errors become plain objects; a value with a `toJSON` method stays as it is. */
  value(value: unknown, depth = 0): unknown {
    if (typeof value === "string") return this.text(value);
    if (typeof value !== "object" || value === null) return value;
    if (depth >= maxDepth) return "[nested too deep]";
    if (Array.isArray(value)) return value.map((item) => this.value(item, depth + 1));
    if (value instanceof Error) return this.#error(value, depth);
    if ("toJSON" in value) return value;
    return this.fields(value, depth);
  }

  fields(fields: object, depth = 0): Record<string, unknown> {
    const masked: Record<string, unknown> = {};
    for (const key of Object.keys(fields)) masked[key] = this.#read(fields, key, depth);
    return masked;
  }

  /** A getter may throw. The line is written all the same. */
  #read(fields: object, key: string, depth: number): unknown {
    try {
      return this.#field(key, (fields as Readonly<Record<string, unknown>>)[key], depth);
    } catch {
      return unreadable;
    }
  }

  #field(key: string, value: unknown, depth: number): unknown {
    if (this.#listed.has(key.toLowerCase())) return mask;
    if (typeof value === "string" && secretKey.test(key)) return mask;
    if (typeof value === "string" && key === "stack") return this.#cut(value, maxStackLength);
    return this.value(value, depth + 1);
  }

  #error(error: Error, depth: number): Record<string, unknown> {
    const { name, message, stack, cause } = error;
    const { errors } = error as { readonly errors?: unknown };
    const parts = {
      type: name,
      message,
      stack,
      ...(cause === undefined ? {} : { cause }),
      // The members of an AggregateError are not enumerable.
      ...(errors === undefined ? {} : { errors }),
    };
    return this.fields(Object.assign(parts, error), depth);
  }
}

/** Masks by the well-known rules only. */
export const redactor: Redactor = new Redactor();
