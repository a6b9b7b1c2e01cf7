/** The access log: one JSON line for each request, with its trace. No line contains a body, a token or a query. */
import { randomBytes } from "node:crypto";
import type { MiddlewareHandler } from "hono";
import { routePath } from "hono/route";
import { type Logger, type LoggerOptions, pino } from "pino";
import type { Environment } from "./services.ts";

export interface LogOptions {
  /** The lowest level that is written. Default: `LOG_LEVEL`, else `info`. */
  readonly level?: string | undefined;
  /** Writes a line. Default: to standard output. */
  readonly write?: ((line: string) => void) | undefined;
}

/** Creates the default logger, which writes JSON lines. */
export function createLogger(options: LogOptions = {}): Logger {
  const { level = process.env["LOG_LEVEL"] ?? "info", write } = options;
  const levels = [...Object.keys(pino.levels.values), "silent"];
  if (!levels.includes(level))
    throw new TypeError(`The log level (LOG_LEVEL) must be one of ${levels.join(", ")}, not ${level}`);
  const settings: LoggerOptions = {
    level,
    messageKey: "message",
    base: null,
    timestamp: () => `,"timestamp":"${new Date().toISOString()}"`,
    formatters: { level: (label) => ({ level: label }) },
  };
  return write === undefined ? pino(settings) : pino(settings, { write });
}

const traceparentPattern = /^00-(?!0{32})([0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/;

export function accessLog(logger: Logger): MiddlewareHandler<Environment> {
  return async (c, next) => {
    const started = performance.now();
    const given = c.req.header("traceparent") ?? "";
    const traceparent = traceparentPattern.test(given) ? given : newTraceparent();
    c.set("traceparent", traceparent);
    await next();
    const { status } = c.res;
    const fields = {
      trace_id: traceparentPattern.exec(traceparent)?.[1] ?? null,
      method: c.req.method,
      // The pattern, not the path: a path may contain a secret.
      route: routePath(c, -1),
      status,
      duration_ms: Math.round(performance.now() - started),
      role: c.get("role") ?? null,
      tenant_id: c.get("tenantId") ?? null,
    };
    logger[status >= 500 ? "error" : "info"](fields, "Request");
  };
}

/** The longest text of an error that is logged. */
const maxErrorText = 4000;

/**
 * What the log shows of an error. Its other properties are left out, because errors of the database and of Node carry
 * rows, statements and URLs in them.
 */
export function describeError(error: unknown): Readonly<Record<string, unknown>> {
  if (!(error instanceof Error)) return { type: typeof error };
  const { name, message, stack } = error;
  const code = "code" in error && typeof error.code === "string" ? { code: error.code } : {};
  return { type: name, ...code, message: cut(message), stack: cut(stack ?? "") };
}

function cut(text: string): string {
  return text.slice(0, maxErrorText);
}

function newTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
}
