/**
 * Structured logs. Every line has the same ten fields, null where they mean nothing: timestamp, level, worker_id, trace_id, job_id,
 * job_type, tenant_id, attempt_no, message, duration_ms. No line holds a payload or a result, and secrets are masked.
 */
import type { JobLogger } from "@jobforge/sdk-ts";
import { pino } from "pino";
import pretty from "pino-pretty";
import { redactor } from "./redact.ts";
import type { Run } from "./run.ts";

export type Level = "debug" | "info" | "warn" | "error";

/** Where lines go: pino, or anything with its four methods. */
export type Logger = JobLogger & { isLevelEnabled?(level: string): boolean };

const NO_JOB = {
  trace_id: null,
  job_id: null,
  job_type: null,
  tenant_id: null,
  attempt_no: null,
  duration_ms: null,
};

export class WorkerLog {
  readonly #sink: Logger;
  readonly #workerId: string;

  constructor(sink: Logger, workerId: string) {
    this.#sink = sink;
    this.#workerId = workerId;
  }

  isEnabled(level: Level): boolean {
    return this.#sink.isLevelEnabled?.(level) ?? true;
  }

  debug(fields: object, message: string): void {
    this.#sink.debug(this.#fieldsOf(fields), message);
  }

  info(fields: object, message: string): void {
    this.#sink.info(this.#fieldsOf(fields), message);
  }

  warn(fields: object, message: string): void {
    this.#sink.warn(this.#fieldsOf(fields), message);
  }

  error(fields: object, message: string): void {
    this.#sink.error(this.#fieldsOf(fields), message);
  }

  /** A line about a run. Its fields are its own, whatever else is said. */
  job(level: Level, run: Run, fields: object | undefined, message: string): void {
    const own = this.#fieldsOfRun(run);
    this.#sink[level](fields === undefined ? own : { ...run.type.redactor.fields(fields), ...own }, message);
  }

  /** What a handler logs with: its lines carry the run's fields, and how long it has been going. */
  forRun(run: Run): JobLogger {
    const at =
      (level: Level) =>
      (fields: object | string, message?: string): void => {
        const { redactor } = run.type;
        if (typeof fields === "string") this.job(level, run, undefined, redactor.text(fields));
        else this.job(level, run, fields, redactor.text(message ?? ""));
      };
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  #fieldsOf(fields: object): object {
    return { worker_id: this.#workerId, ...NO_JOB, ...redactor.fields(fields) };
  }

  #fieldsOfRun(run: Run): object {
    const { job } = run;
    return {
      worker_id: this.#workerId,
      trace_id: job.trace_id,
      job_id: job.id,
      job_type: job.type,
      tenant_id: job.tenant_id,
      attempt_no: job.attempts,
      duration_ms: run.durationMs,
    };
  }
}

let shared: Logger | undefined;

/** The logger of workers that were given none: JSON lines to standard output, or pretty ones to a terminal. */
export function defaultLogger(): Logger {
  shared ??= createLogger();
  return shared;
}

const LEVELS = new Set(["trace", "debug", "info", "warn", "error", "fatal", "silent"]);

function createLogger(): Logger {
  const asked = process.env["LOG_LEVEL"]?.toLowerCase() ?? "";
  const options = {
    level: LEVELS.has(asked) ? asked : "info",
    messageKey: "message",
    base: null,
    timestamp,
    formatters: { level: (level: string) => ({ level }) },
  };
  if (process.stdout.isTTY) {
    const ignore = "trace_id,tenant_id,worker_id";
    return pino(options, pretty({ messageKey: "message", timestampKey: "timestamp", ignore, sync: true }));
  }
  return pino(options, bufferedOutput());
}

let stampedAt = 0;
let stamp = "";

/** The field of the current time, written once a millisecond. */
function timestamp(): string {
  const now = Date.now();
  if (now !== stampedAt) {
    stampedAt = now;
    stamp = `,"timestamp":"${new Date(now).toISOString()}"`;
  }
  return stamp;
}

/** Standard output, written once for all the lines of a turn of the event loop: a write for each would cost more than the line. */
function bufferedOutput(): { write(line: string): void } {
  let lines = "";
  const flush = (): void => {
    const written = lines;
    lines = "";
    if (written !== "") process.stdout.write(written);
  };
  process.on("exit", flush);
  return {
    write: (line) => {
      if (lines === "") setImmediate(flush);
      lines += line;
    },
  };
}
