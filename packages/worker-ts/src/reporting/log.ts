/**
 * Structured logs. Every line has the same ten fields, null where they do not apply: timestamp, level, worker_id,
 * trace_id, job_id, job_type, tenant_id, attempt_no, message, duration_ms. No line contains a payload or a result, and
 * secrets are masked.
 */
import { failureLine, failureTrace, type JobLogger } from "@jobforge/sdk-ts";
import { clean, describeError, isError, part } from "@jobforge/sdk-ts/internal";
import { pino } from "pino";
import type { RunError } from "../claiming/protocol.ts";
import { ownFrame } from "../error-frames.ts";
import type { Run } from "../running/run.ts";
import { humanOutput } from "./human.ts";
import { KeptLog } from "./kept-log.ts";
import { type Redactor, redactor } from "./redact.ts";

export type Level = "debug" | "info" | "warn" | "error";

/** The destination of log lines: pino, or any object with its four methods. */
export type Logger = Readonly<Record<Level, (fields: object, message?: string) => void>> & {
  isLevelEnabled?(level: string): boolean;
};

const noJob = {
  trace_id: null,
  job_id: null,
  job_type: null,
  tenant_id: null,
  attempt_no: null,
  duration_ms: null,
};

const noError = { error_name: null, error: null, error_at: null };

interface ErrorFieldOptions {
  readonly stack?: boolean;
  readonly masking?: Redactor;
}

/** Writes log lines. Whatever the logger throws, jobs go on. */
export class WorkerLog {
  readonly #sink: Logger;
  readonly #workerId: string;
  readonly #showsStacks: boolean;
  #hasFailed = false;

  constructor(sink: Logger, workerId: string, showsStacks: boolean) {
    this.#sink = sink;
    this.#workerId = workerId;
    this.#showsStacks = showsStacks;
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

  /** Writes a line about a run. `fields` cannot replace the fields of the run. */
  job(level: Level, run: Run, fields: object | undefined, message: string): void {
    try {
      this.#line(level, run, fields && run.type.redactor.fields(fields), message);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Writes a line about a run, whose fields are masked already. */
  #line(
    level: Level,
    run: Run,
    masked: Readonly<Record<string, unknown>> | undefined,
    message: string,
  ): void {
    const own = this.#fieldsOfRun(run);
    this.#sink[level](masked === undefined ? own : { ...withoutLoggerFields(masked), ...own }, message);
  }

  /** Writes a line about a run that failed: what happened, with its causes, and where in the application's code. */
  failure(level: Level, run: Run, error: RunError | undefined, message: string, { stack = true } = {}): void {
    const masking = run.type.redactor;
    this.job(
      level,
      run,
      error === undefined ? noError : this.errorFields(error, { stack, masking }),
      message,
    );
  }

  /**
   * The fields for an error. It is masked first, because its keys are not in the texts that are made of it. Without
   * `stack`, stacks are left out even if this worker shows them.
   */
  errorFields(thrown: RunError, { stack = true, masking = redactor }: ErrorFieldOptions = {}): object {
    const error = masking.fields(thrown) as unknown as RunError;
    return {
      error_name: error.name,
      error: failureLine(error),
      error_at: ownFrame(error) ?? null,
      ...(stack && this.#showsStacks ? { stack: failureTrace(error) } : {}),
    };
  }

  /**
   * The logger for a handler. Its lines have the run's fields, and how long the run has taken so far. With `keeps`,
   * lines are also kept for the attempt, if the policy of the type may want them: debug lines only if they are written.
   */
  forRun(run: Run, keeps: boolean): JobLogger {
    const at =
      (level: Level) =>
      (first: unknown, second?: string): void => {
        try {
          const { redactor: masking, keepLogs } = run.type;
          const line = lineOf(first, second);
          const fields = line.fields && masking.fields(line.fields);
          const message = masking.text(line.message);
          if (keeps && keepLogs !== "off" && (level !== "debug" || this.isEnabled(level))) {
            run.keptLog ??= new KeptLog();
            run.keptLog.add(level, fields, message);
          }
          this.#line(level, run, fields, message);
        } catch (error) {
          this.#failed(error);
        }
      };
    return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
  }

  #write(level: Level, fields: object, message: string): void {
    try {
      this.#sink[level]({ worker_id: this.#workerId, ...noJob, ...redactor.fields(fields) }, message);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** Reports the first failure as a warning of the process, because there is no log to write it to. */
  #failed(error: unknown): void {
    if (this.#hasFailed) return;
    this.#hasFailed = true;
    const { name, message } = describeError(error);
    process.emitWarning(
      `A log line could not be written: ${name}: ${redactor.text(message)}`,
      "JobForgeWarning",
    );
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

/**
 * Interprets the arguments as pino does: fields and a message, a message alone, or an error with or without a message.
 */
function lineOf(first: unknown, message: unknown): { fields: object | undefined; message: string } {
  if (typeof first === "string") return { fields: undefined, message: clean(first) };
  if (typeof first !== "object" || first === null)
    return { fields: undefined, message: clean(message ?? first ?? "") };
  const fields = isError(first) ? { err: first } : first;
  return { fields, message: clean(message ?? part(first, "message") ?? "") };
}

/** Fields that the logger writes itself. A second value under the same name would hide the first one from readers. */
const loggerFields: ReadonlySet<string> = new Set(["timestamp", "level", "message"]);

function withoutLoggerFields(fields: Readonly<Record<string, unknown>>): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !loggerFields.has(name)));
}

let shared: Logger | undefined;

/** The logger of workers without a `logger` option: JSON lines on standard output, or formatted ones in a terminal. */
export function defaultLogger(): Logger {
  shared ??= createLogger();
  return shared;
}

/** Whether lines about failed runs have the whole stack, unless the option `logStacks` says so. */
export function wantsStacks(logger: Logger | undefined): boolean {
  const { LOG_STACKS } = process.env;
  if (LOG_STACKS !== undefined && LOG_STACKS !== "") return /^(?:1|true)$/i.test(LOG_STACKS);
  return logger === undefined && process.stdout.isTTY === true;
}

const levels = new Set(["trace", "debug", "info", "warn", "error", "fatal", "silent"]);

function createLogger(): Logger {
  const level = process.env["LOG_LEVEL"]?.toLowerCase() ?? "";
  const options = {
    level: levels.has(level) ? level : "info",
    messageKey: "message",
    base: null,
    timestamp,
    formatters: { level: (label: string) => ({ level: label }) },
  };
  return pino(options, process.stdout.isTTY ? humanOutput() : bufferedOutput());
}

let stampedAt = 0;
let stamp = "";

/** The field with the current time, formatted once per millisecond. */
function timestamp(): string {
  const now = Date.now();
  if (now !== stampedAt) {
    stampedAt = now;
    stamp = `,"timestamp":"${new Date(now).toISOString()}"`;
  }
  return stamp;
}

/**
 * Standard output, written once for all lines of a turn of the event loop. A write for each line would cost more than
 * the line itself.
 */
function bufferedOutput(): { write(line: string): void } {
  let lines = "";
  let isExiting = false;
  const flush = (): void => {
    const written = lines;
    lines = "";
    if (written !== "") process.stdout.write(written);
  };
  process.on("exit", () => {
    isExiting = true;
    flush();
  });
  return {
    write: (line) => {
      if (lines === "" && !isExiting) setImmediate(flush);
      lines += line;
      // What other listeners log while the process exits.
      if (isExiting) flush();
    },
  };
}
