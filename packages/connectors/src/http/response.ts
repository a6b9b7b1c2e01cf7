/** What is kept of a response: nothing that the database cannot store, and no secret. */
import { isUtf8 } from "node:buffer";
import { toJson } from "@jobforge/sdk-ts";
import { readBody } from "../egress/body.ts";
import type { Exchange } from "../egress/exchange.ts";
import { ConnectorError } from "../errors.ts";
import type { Scrubber } from "../secrets/scrub.ts";

export const previewBytes = 1024;
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

/**
 * The beginning of a body of which only the status counts. One that is too long, too slow or breaks off does not change
 * what the status says.
 */
export async function beginningOf(
  exchange: Exchange,
  maxBytes: number,
  scrubber: Scrubber,
): Promise<{ readonly preview: string; readonly bytes: number }> {
  try {
    const { bytes, total, truncated } = await readBody(exchange.body, maxBytes);
    return { preview: previewOf(scrubber.bytes(bytes, !truncated)), bytes: total };
  } catch (error) {
    const failure = exchange.failure(error);
    if (failure instanceof ConnectorError) return { preview: "", bytes: 0 };
    throw failure;
  }
}

/** The body in the form that the payload asks for, if it can be stored in that form. Its bytes have no secrets. */
export function keptBody(
  bytes: Buffer,
  form: "auto" | "text" | "base64" | "none",
  contentType: string | undefined,
  isWhole: boolean,
  scrubber: Scrubber,
): KeptBody {
  if (form === "none") return {};
  if (form === "auto" && isWhole && /[/+]json\b/i.test(contentType ?? "")) {
    const json = storableJson(bytes, scrubber);
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

/**
 * The parsed body without secrets. Undefined if it is not JSON, if it is nested too deeply to be searched, or if
 * Postgres would write it much longer than it is.
 */
function storableJson(bytes: Buffer, scrubber: Scrubber): unknown {
  try {
    const json = scrubber.json(JSON.parse(bytes.toString("utf8")));
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
    // A payload may name `constructor`, which every object has.
    const found = Object.hasOwn(headers, name) ? headers[name] : undefined;
    if (found === undefined) continue;
    const text = Array.isArray(found) ? found.join(", ") : found;
    kept[name] = masked.has(name) ? "[redacted]" : scrubber.text(text.replaceAll("\u0000", "\uFFFD"));
  }
  return kept;
}
