/** Why a run was aborted, and how an error is told to the kernel. */
import type { RunError } from "./protocol.ts";

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

const STACK_LENGTH = 4000;
const MESSAGE_LENGTH = 4000;

/** An error as JSON: name, message, stack, and the code and cause that many have. Whatever was thrown. */
export function describeError(thrown: unknown): RunError {
  if (!(thrown instanceof Error)) {
    return { name: "NonError", message: clean(String(thrown)).slice(0, MESSAGE_LENGTH) };
  }
  const { code } = thrown as { code?: unknown };
  return {
    name: clean(thrown.name),
    message: clean(thrown.message).slice(0, MESSAGE_LENGTH),
    ...(thrown.stack === undefined ? {} : { stack: clean(thrown.stack).slice(0, STACK_LENGTH) }),
    ...(typeof code === "string" || typeof code === "number" ? { code } : {}),
    ...(thrown.cause instanceof Error ? { cause: clean(thrown.cause.message).slice(0, MESSAGE_LENGTH) } : {}),
  };
}

/** Text that Postgres can keep in jsonb: no NUL, no half of a surrogate pair. */
export function clean(text: string): string {
  return text.replaceAll("\u0000", "\uFFFD").replace(/\p{Surrogate}/gu, "\uFFFD");
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
