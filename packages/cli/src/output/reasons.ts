/** Reasons why a job does not run, or what a workflow waits for, as text. */
import type { JobReason } from "@jobforge/sdk-ts";
import type { Output } from "./output.ts";
import { plain } from "./terminal.ts";

/** One line per reason. A long line wraps: a reason that is cut explains nothing. */
export function reasonLines(output: Output, reasons: readonly JobReason[]): string {
  const width = Math.max(...reasons.map(({ code }) => code.length));
  return reasons
    .map(({ code, message }) => `${output.style("bold", code.padEnd(width))}  ${plain(message)}\n`)
    .join("");
}
