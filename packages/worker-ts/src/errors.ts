/** The reasons of aborts, and what errors of the database mean. */
import type { ChildError } from "@jobforge/sdk-ts";
import type { RunError } from "@jobforge/sdk-ts/internal";

/** The reason of a handler's aborted `signal`. */
export class JobAbortedError extends Error {
  override readonly name: string;
  readonly kind: "timeout" | "canceled" | "lost" | "shutdown";

  constructor(kind: JobAbortedError["kind"], message: string) {
    super(message);
    this.name = errorNames[kind];
    this.kind = kind;
  }
}

const errorNames = {
  timeout: "JobTimeoutError",
  canceled: "JobCanceledError",
  lost: "LeaseLostError",
  shutdown: "WorkerShutdownError",
} as const;

/**
 * Thrown by `defer()`, `fail()` and `retryAfter()` to leave the handler. Their request holds even if this is caught.
 */
export class RunOver extends Error {
  override readonly name = "RunOver";
}

/** A child that `job.run` or `job.all` waited for ended badly. */
export class ChildFailedError extends Error {
  override readonly name = "ChildFailedError";
  /** The type of the job, or the name of the workflow. */
  readonly type: string;
  /** Its place in the list of children. */
  readonly index: number;
  readonly jobId: string | undefined;
  /** Of a child that is a workflow. */
  readonly workflowId: string | undefined;
  readonly failure: ChildError | undefined;

  constructor(
    type: string,
    index: number,
    ids: { readonly jobId: string | undefined; readonly workflowId: string | undefined },
    failure: ChildError | undefined,
  ) {
    super(`The child ${index} (${type}) ended badly: ${failure?.message ?? "it was canceled"}`);
    this.type = type;
    this.index = index;
    this.jobId = ids.jobId;
    this.workflowId = ids.workflowId;
    this.failure = failure;
  }
}

/** The error that a checkpoint has kept. The first execution throws the same form, so that both go the same way. */
export function reviveError({ name, message, stack, code }: RunError): Error {
  const error = new Error(message);
  error.name = name;
  if (stack !== undefined) error.stack = stack;
  return code === undefined ? error : Object.assign(error, { code });
}

/** The SQLSTATE of an error of the transport, if there is one. */
export function sqlState(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null) return undefined;
  const { code } = error as { code?: unknown };
  return typeof code === "string" && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** Whether the database refused the content of a call, so that it would refuse the same call again. */
export function isDataError(error: unknown): boolean {
  const state = sqlState(error);
  return state !== undefined && (/^(22|23|54)/.test(state) || state === "JF002" || state === "JF008");
}

/** Whether the database says that this worker does not hold the job, or no longer does. */
export function isNotHeld(error: unknown): boolean {
  return sqlState(error) === "JF003";
}
