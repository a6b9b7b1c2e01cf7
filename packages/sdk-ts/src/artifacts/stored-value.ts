/**
 * Values that are too large for the database. A payload or result that was offloaded is an artifact, and its job has
 * this reference instead of the value.
 */
import { createHash } from "node:crypto";
import { PayloadTooLargeError } from "../errors.ts";
import { ArtifactDamagedError } from "../sdk-errors.ts";
import { parseArtifactRef, type StoredArtifact } from "./store.ts";

export interface StoredValue {
  /** Such as `artifact:results/<tenant>/<job>/result-1.json`. */
  readonly $artifact: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** A larger value is offloaded. Postgres writes JSON with spaces, so this is less than what the kernel accepts. */
export const offloadBytes: number = 512 * 1024;
/** A larger value is refused, because clients and workers hold it in memory. */
export const maxOffloadBytes: number = 64 * 1024 * 1024;

const areas = ["payloads", "results"];

/** Whether a payload or result is the reference to an offloaded value. */
export function isStoredValue(value: unknown): value is StoredValue {
  if (typeof value !== "object" || value === null || !("$artifact" in value)) return false;
  const { $artifact: ref, bytes, sha256, ...others } = value as Partial<StoredValue>;
  if (typeof ref !== "string" || typeof bytes !== "number" || typeof sha256 !== "string") return false;
  return Object.keys(others).length === 0 && areas.includes(parseArtifactRef(ref)?.area ?? "");
}

export function storedValue({ ref, bytes, sha256 }: StoredArtifact): StoredValue {
  return { $artifact: ref, bytes, sha256 };
}

/** The value in the content of an artifact. Throws if the content is not what was stored. */
export async function readStoredValue(
  { $artifact: ref, bytes, sha256 }: StoredValue,
  content: AsyncIterable<Buffer>,
): Promise<unknown> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of content) {
    size += chunk.length;
    // No more than expected is held in memory.
    if (size > bytes || size > maxOffloadBytes) throw new ArtifactDamagedError(ref);
    chunks.push(chunk);
  }
  const whole = Buffer.concat(chunks);
  if (size !== bytes || createHash("sha256").update(whole).digest("hex") !== sha256)
    throw new ArtifactDamagedError(ref);
  return JSON.parse(whole.toString("utf8"));
}

export function checkOffloadable(text: string, field: string): Buffer {
  const content = Buffer.from(text);
  if (content.length > maxOffloadBytes)
    throw new PayloadTooLargeError(`Payload too large: ${field} is over ${maxOffloadBytes / 2 ** 20} MiB`, {
      field,
    });
  return content;
}
