/**
 * Ids of tenants that are not uuids. The kernel's `jobforge_tenant_id` and the server do the same for SQL and for the
 * claims of a JWT. conformance/vectors/tenant-id.json has the examples that all of them are tested with.
 */
import { createHash } from "node:crypto";
import { InvalidArgumentError } from "./errors.ts";

/** The namespace of the uuids of tenants. It never changes, because the ids of tenants depend on it. */
export const tenantNamespace = "6f1d6a3e-6d0b-4c1e-9d52-3a5b8f0c7e41";

/** The spellings of a uuid that Postgres accepts. */
const spelledUuid = /^(?:\{[0-9a-f]{4}(?:-?[0-9a-f]{4}){7}\}|[0-9a-f]{4}(?:-?[0-9a-f]{4}){7})$/i;
/** The most characters of an id that is not a uuid. */
const mostCharacters = 255;
/** Texts that a mistake makes. Each would silently be a tenant of its own. */
const mistakes: readonly RegExp[] = [
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for.
  /[\u0000-\u001f\u007f-\u009f]/,
  // White space at an end, in the definition of JavaScript. The kernel lists the same characters.
  /^\s|\s$/,
  // A uuid with a digit too few or too many.
  /^[0-9a-f{}-]{30,40}$/i,
  /^(?:-[0-9]+|0+|-?[0-9]+\.[0-9]+)$/,
  // What a program writes when it has no id.
  /^(?:undefined|null|nil|none|nan|true|false|\[object object\])$/i,
  // Unpaired surrogates cannot be stored, and two texts with them could have the same bytes.
  /\p{Surrogate}/u,
];

/**
 * The tenant for an id that your application uses, such as `org_123` or 42: always the same uuid. A uuid stays what it
 * is, in one spelling. Throws an InvalidArgumentError for a value that names no tenant.
 */
export function tenantId(id: string | number | bigint): string {
  const found = tenantOf(typeof id === "bigint" ? String(id) : id);
  if (found === undefined)
    throw new InvalidArgumentError("Invalid argument: id is not the id of a tenant", {
      field: "id",
      hint: `Pass a UUID, another text of 1 to ${mostCharacters} characters, or a positive whole number.`,
    });
  return found;
}

/** The tenant that a value names, such as a claim of a JWT; undefined if it names none. */
export function tenantOf(value: unknown): string | undefined {
  if (typeof value === "number") return Number.isSafeInteger(value) ? tenantOf(String(value)) : undefined;
  if (typeof value !== "string") return undefined;
  if (spelledUuid.test(value)) return hyphenated(value.replaceAll(/[-{}]/g, "").toLowerCase());
  if (value === "" || value.length > 2 * mostCharacters || [...value].length > mostCharacters)
    return undefined;
  if (mistakes.some((mistake) => mistake.test(value))) return undefined;
  const namespace = Buffer.from(tenantNamespace.replaceAll("-", ""), "hex");
  const hash = createHash("sha1").update(namespace).update(value).digest();
  hash[6] = ((hash[6] ?? 0) & 0x0f) | 0x50;
  hash[8] = ((hash[8] ?? 0) & 0x3f) | 0x80;
  return hyphenated(hash.toString("hex", 0, 16));
}

function hyphenated(hex: string): string {
  return hex.replace(/^(.{8})(.{4})(.{4})(.{4})(.{12})$/, "$1-$2-$3-$4-$5");
}
