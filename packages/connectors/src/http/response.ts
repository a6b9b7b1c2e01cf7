/** What is kept of a response: nothing that the database cannot store, and no secret. */
import { isUtf8 } from "node:buffer";
import { toJson } from "@jobforge/sdk-ts";
import type { Scrubber } from "../secrets/scrub.ts";

const previewBytes = 1024;
/** JSON writes some characters as six. A text that grows more than base64 would is kept in base64. */
const maxGrowth = 1.4;

export interface KeptBody {
  readonly body?: string | undefined;
  readonly body_encoding?: "base64" | undefined;
  readonly json?: unknown;
}

/** The beginning of a body, for people. */
export function previewOf(bytes: Buffer): string {
  // A character may be cut in two at the end.
  const text = bytes
    .subarray(0, previewBytes)
    .toString("utf8")
    .replace(/\uFFFD$/, "");
  return text.replaceAll("\u0000", "\uFFFD");
}

/** The body in the form that the payload asks for, if it can be stored in that form. */
export function keptBody(
  bytes: Buffer,
  form: "auto" | "text" | "base64" | "none",
  contentType: string | undefined,
  isWhole: boolean,
): KeptBody {
  if (form === "none") return {};
  if (form === "auto" && isWhole && /[/+]json\b/i.test(contentType ?? "")) {
    const json = storableJson(bytes);
    if (json !== undefined) return { json };
  }
  const text = form === "base64" ? undefined : storableText(bytes);
  return text === undefined ? { body: bytes.toString("base64"), body_encoding: "base64" } : { body: text };
}

function storableText(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString("utf8");
  if (text.includes("\u0000") || JSON.stringify(text).length > bytes.length * maxGrowth + 16)
    return undefined;
  return text;
}

/** The parsed body. Undefined if it is not JSON, or if Postgres would write it much longer than it is. */
function storableJson(bytes: Buffer): unknown {
  try {
    const json: unknown = JSON.parse(bytes.toString("utf8"));
    const { text } = toJson(json, "body");
    // Postgres writes 1e300 with 300 zeros.
    return /\de[+-]?\d/i.test(text) || text.length > bytes.length * maxGrowth + 16 ? undefined : json;
  } catch {
    return undefined;
  }
}

/** The headers that the payload asks for, without secrets. Several values of one header are joined. */
export function keptHeaders(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  names: readonly string[],
  redacted: readonly string[],
  scrubber: Scrubber,
): Record<string, string> {
  const masked = new Set(redacted.map((name) => name.toLowerCase()));
  const kept: Record<string, string> = {};
  for (const name of names.map((each) => each.toLowerCase())) {
    const found = headers[name];
    if (found === undefined) continue;
    const text = Array.isArray(found) ? found.join(", ") : found;
    kept[name] = masked.has(name) ? "[redacted]" : scrubber.text(text.replaceAll("\u0000", "\uFFFD"));
  }
  return kept;
}
