/**
 * The lines of a run's log that are sent with its end, to be kept with the attempt: the last 200, and of these the last
 * 64 kB. The database has the same bounds (log_lines and log_bytes in defaults.sql), and masks secrets once more.
 */
import { bounds, type KeepLogs, type LogLevel, toStorableJson } from "@jobforge/sdk-ts";

/** The largest line with its fields. A line without fields is shorter, because its message is cut. */
const maxLineBytes = 16_384;

interface Line {
  readonly json: string;
  readonly bytes: number;
}

export class KeptLog {
  readonly #lines: Line[] = [];
  #bytes = 0;
  #dropped = 0;

  /** Adds a line. Its message and fields have no secrets. */
  add(level: LogLevel, fields: object | undefined, message: string): void {
    const json = lineJson({ at: new Date().toISOString(), level, message }, fields);
    const line = { json, bytes: Buffer.byteLength(json) };
    this.#lines.push(line);
    this.#bytes += line.bytes;
    while (this.#lines.length > bounds.logLines.max || this.#bytes > bounds.logBytes.max) this.#dropFirst();
  }

  /** The log as the database reads it. */
  get json(): string {
    return `{"lines":[${this.#lines.map(({ json }) => json).join()}],"dropped":${this.#dropped}}`;
  }

  #dropFirst(): void {
    this.#bytes -= this.#lines.shift()?.bytes ?? 0;
    this.#dropped += 1;
  }
}

/** Whether the log of a run that ends with this status is sent. Until the policy is known, the database decides. */
export function isSent(keepLogs: KeepLogs | undefined, status: string): boolean {
  return keepLogs === undefined || keepLogs === "all" || (keepLogs === "failed" && status === "failed");
}

/** Fields that are too large, or that have no JSON form, are left out, and the line says so. */
function lineJson(line: object, fields: object | undefined): string {
  if (fields !== undefined) {
    try {
      const { text } = toStorableJson({ ...line, fields }, "fields");
      if (Buffer.byteLength(text) <= maxLineBytes) return text;
    } catch {
      // A getter that throws, a BigInt or a cycle.
    }
  }
  return toStorableJson(fields === undefined ? line : { ...line, truncated: true }, "line").text;
}
