/** Why a run was aborted, and how an error is told to the kernel. */
import type { RunError } from "./claiming/protocol.ts";

/** Why a handler's `signal` was aborted: the signal's reason. */
export class JobAbortedError extends Error {
  override readonly name: string;
  readonly kind: "timeout" | "canceled" | "lost" | "shutdown";

  constructor(kind: JobAbortedError["kind"], message: string) {
    super(message);
    this.name = NAMES[kind];
    this.kind = kind;
  }
}

const NAMES = {
  timeout: "JobTimeoutError",
  canceled: "JobCanceledError",
  lost: "LeaseLostError",
  shutdown: "WorkerShutdownError",
} as const;

/** Thrown by `defer()`, `fail()` and `retryAfter()` to leave the handler. What they said is kept by the run, also when it is caught. */
export class RunOver extends Error {
  override readonly name = "RunOver";
}

const NAME_LENGTH = 200;
const STACK_LENGTH = 4000;
const MESSAGE_LENGTH = 4000;

/**
 * An error as JSON: name, message, stack, and the code and cause that many have. Whatever was thrown: libraries put objects where texts
 * belong, and an error that cannot be told must not keep its run from ending.
 */
export function describeError(thrown: unknown): RunError {
  if (!isError(thrown)) return { name: "NonError", message: clean(thrown).slice(0, MESSAGE_LENGTH) };
  const [stack, code, cause] = [part(thrown, "stack"), part(thrown, "code"), part(thrown, "cause")];
  return {
    name: clean(part(thrown, "name") ?? "Error").slice(0, NAME_LENGTH),
    message: clean(part(thrown, "message") ?? "").slice(0, MESSAGE_LENGTH),
    ...(typeof stack === "string" ? { stack: clean(stack).slice(0, STACK_LENGTH) } : {}),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(isError(cause) ? { cause: clean(part(cause, "message") ?? "").slice(0, MESSAGE_LENGTH) } : {}),
  };
}

/** Text that Postgres can keep in jsonb: no NUL, no half of a surrogate pair. What is no text is described. */
export function clean(text: unknown): string {
  return textOf(text)
    .replaceAll("\u0000", "\uFFFD")
    .replace(/\p{Surrogate}/gu, "\uFFFD");
}

export function isError(value: unknown): value is Error {
  try {
    return value instanceof Error;
  } catch {
    return false;
  }
}

/** A property that may be a getter, and the getter may throw. */
export function part(error: object, name: "name" | "message" | "stack" | "code" | "cause"): unknown {
  try {
    return (error as Partial<Record<typeof name, unknown>>)[name];
  } catch {
    return undefined;
  }
}

function textOf(value: unknown): string {
  if (typeof value === "string") return value;
  try {
    const text = String(value);
    // Says nothing; its JSON does.
    return text === "[object Object]" ? JSON.stringify(value) : text;
  } catch {
    return `something that has no text (${typeof value})`;
  }
}

/** The SQLSTATE of an error of the transport, if it has one. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether the kernel refused what a call carried, so that the same call would be refused again. */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (/^(22|23|54)/.test(state) || state === "JF002" || state === "JF008");
}

/** Whether the kernel said that this worker does not hold the job (any more). */
export function isNotHeld(error: unknown): boolean {
  return sqlState(error) === "JF003";
}
