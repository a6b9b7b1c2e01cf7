/** A worker's log as the command shows it. */
import type { Logger } from "@jobforge/worker-ts";
import { toJson } from "../output/output.ts";
import type { CliProcess, OutputStream } from "../process.ts";

const levels: readonly string[] = ["debug", "info", "warn", "error"];

export interface LogOptions {
  /** The first level that is written. Default: LOG_LEVEL, else `info`. */
  readonly least?: string;
  /** False leaves out lines about single jobs, where the command tells of them itself. */
  readonly jobs?: boolean;
}

/** JSON lines to a stream; the worker's own logger writes pretty ones in a terminal. */
export function jsonLogger(stream: OutputStream, env: CliProcess["env"], options: LogOptions = {}): Logger {
  const { least = env["LOG_LEVEL"] ?? "info", jobs = true } = options;
  const from = levels.indexOf(least.toLowerCase());
  const isLevelEnabled = (level: string): boolean => levels.indexOf(level) >= from;
  const at =
    (level: string) =>
    (fields: object, message?: string): void => {
      const isOfJob = "job_id" in fields && fields.job_id !== null;
      if (isLevelEnabled(level) && (jobs || !isOfJob))
        stream.write(`${toJson({ timestamp: new Date(), level, ...fields, message })}\n`);
    };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), isLevelEnabled };
}
