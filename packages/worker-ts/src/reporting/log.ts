/**
 * Structured logs. Every line has the same ten fields, null where they mean nothing: timestamp, level, worker_id, trace_id, job_id,
 * job_type, tenant_id, attempt_no, message, duration_ms. No line holds a payload or a result, and secrets are masked.
 */
import type { JobLogger } from "@jobforge/sdk-ts";
import { pino } from "pino";
import pretty from "pino-pretty";
import { clean, describeError, isError, part } from "../errors.ts";
import type { Run } from "../running/run.ts";
import { redactor } from "./redact.ts";

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

/** Writes lines, and survives the logger: whatever it throws, jobs go on. */
export class WorkerLog {
  readonly #sink: Logger;
  readonly #workerId: string;
  #hasFailed = false;

  constructor(sink: Logger, workerId: string) {
    this.#sink = sink;
    this.#workerId = workerId;
  }

  isEnabled(level: Level): boolean {
    try {
      return this.#sink.isLevelEnabled?.(level) ?? true;
    } catch (error) {
      this.#failed(error);
      return true;
    }
  }

  debug(fields: object, message: string): void {
    this.#write("debug", fields, message);
  }

  info(fields: object, message: string): void {
    this.#write("info", fields, message);
  }

  warn(fields: object, message: string): void {
    this.#write("warn", fields, message);
  }

  error(fields: object, message: string): void {
    this.#write("error", fields, message);
  }

  /** A line about a run. Its fields are its own, whatever else is said. */
  job(level: Level, run: Run, fields: object | undefined, message: string): void {
    try {
      const own = this.#fieldsOfRun(run);
      this.#sink[level](
        fields === undefined ? own : { ...withoutFixed(run.type.redactor.fields(fields)), ...own },
        message,
      );
    } catch (error) {
      this.#failed(error);
    }
  }

  /** What a handler logs with: its lines carry the run's fields, and how long it has been going. */
  forRun(run: Run): JobLogger {
    const at =
      (level: Level) =>
      (said: unknown, message?: string): void => {
        const line = lineOf(said, message);
        this.job(level, run, line.fields, run.type.redactor.text(line.message));
      };
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  #write(level: Level, fields: object, message: string): void {
    try {
      this.#sink[level]({ worker_id: this.#workerId, ...NO_JOB, ...redactor.fields(fields) }, message);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Said once, where a process says things when it has no log. */
  #failed(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const { name, message } = describeError(error);
    process.emitWarning(`A line could not be logged: ${name}: ${redactor.text(message)}`, "JobForgeWarning");
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

/** What a handler said, as pino takes it: fields and a message, a message alone, or an error with or without one. */
function lineOf(said: unknown, message: unknown): { fields: object | undefined; message: string } {
  if (typeof said === "string") return { fields: undefined, message: clean(said) };
  if (typeof said !== "object" || said === null)
    return { fields: undefined, message: clean(message ?? said ?? "") };
  const fields = isError(said) ? { err: said } : said;
  return { fields, message: clean(message ?? part(said, "message") ?? "") };
}

/** The logger writes these. A second value under the same name would be the one that readers of the line see. */
const FIXED: ReadonlySet<string> = new Set(["timestamp", "level", "message"]);

function withoutFixed(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !FIXED.has(name)));
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
