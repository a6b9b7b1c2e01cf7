/**
 * Masks secrets in log lines. The rules are those with which the database masks stored errors (redact.sql): well-known
 * keys and formats, and the keys that a type's policy lists. A test checks both with the same cases.
 */

const mask = "[redacted]";
const unreadable = "[unreadable]";
const maxDepth = 16;
const maxStackLength = 4000;

const secretWords =
  "passw(?:or)?d|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|credential|cookie";
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
  [
    /eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*)?|(?:sk|pk|rk)[-_][A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,}|glpat-[A-Za-z0-9_-]{16,}|npm_[A-Za-z0-9]{20,}|xox[abeprs]-[A-Za-z0-9-]{10,}|AKIA[0-9A-Z]{16}|AIza[A-Za-z0-9_-]{30,}/g,
    mask,
  ],
  [new RegExp(`((?:${secretWords})[a-z0-9_-]*)${secretValue}`, "gi"), `$1$2${mask}`],
];

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

  text(text: string): string {
    let masked = text;
    for (const [rule, replacement] of rules) masked = masked.replace(rule, replacement);
    return this.#listedRule === undefined ? masked : masked.replace(this.#listedRule, `$1$2${mask}`);
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
    if (typeof value === "string" && key === "stack")
      return this.text(value.slice(0, 2 * maxStackLength)).slice(0, maxStackLength);
    return this.value(value, depth + 1);
  }

  #error(error: Error, depth: number): Record<string, unknown> {
    const { name, message, stack, cause } = error;
    const parts = { type: name, message, stack, ...(cause === undefined ? {} : { cause }) };
    return this.fields(Object.assign(parts, error), depth);
  }
}

/** Masks by the well-known rules only. */
export const redactor: Redactor = new Redactor();
