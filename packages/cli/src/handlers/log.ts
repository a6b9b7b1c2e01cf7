/** The log of a worker, as the command writes it. */
import type { Logger } from "@jobforge/worker-ts";
import { toJson } from "../output/output.ts";
import { shownOn } from "../output/terminal.ts";
import type { CliProcess, OutputStream } from "../process.ts";

const levels: readonly string[] = ["debug", "info", "warn", "error"];

export interface LogOptions {
  /** The lowest level that is written. Default: LOG_LEVEL, else `info`. */
  readonly least?: string;
  /** False omits lines about single jobs, for a command that reports them itself. */
  readonly jobs?: boolean;
}

/**
 * Writes JSON lines to a stream, and to a terminal without control characters. The worker's own logger writes readable
 * text in a terminal.
 */
export function jsonLogger(stream: OutputStream, env: CliProcess["env"], options: LogOptions = {}): Logger {
  const { least = env["LOG_LEVEL"] ?? "info", jobs = true } = options;
  const from = levels.indexOf(least.toLowerCase());
  const isLevelEnabled = (level: string): boolean => levels.indexOf(level) >= from;
  const at =
    (level: string) =>
    (fields: object, message?: string): void => {
      const isOfJob = "job_id" in fields && fields.job_id !== null;
      if (isLevelEnabled(level) && (jobs || !isOfJob))
        stream.write(shownOn(stream, `${toJson({ timestamp: new Date(), level, ...fields, message })}\n`));
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), isLevelEnabled };
}
