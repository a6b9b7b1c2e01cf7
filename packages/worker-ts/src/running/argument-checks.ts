/** Checks of what a handler passes to the methods of `job`. Plain JavaScript may pass anything. */
import { type ChildCall, InvalidArgumentError } from "@jobforge/sdk-ts";
import { requireKnown, requireWhole } from "../option-checks.ts";

const maxRetries = 10_000;

function refuse(method: string, message: string, hint: string): never {
  throw new InvalidArgumentError(`Invalid argument: ${method}() ${message}`, { field: method, hint });
}

/** A time, as a Date or as milliseconds from now. */
export function requireTime(when: unknown, method: string): void {
  const ms = when instanceof Date ? when.getTime() : when;
  if (typeof ms !== "number" || !Number.isFinite(ms))
    refuse(method, "takes milliseconds or a valid Date", "For 5 minutes, pass 5 * 60_000.");
}

/** The argument of `defer()`. */
export function requireDelay(options: unknown): void {
  const { at, inMs } = (options ?? {}) as { readonly at?: unknown; readonly inMs?: unknown };
  if (typeof options !== "object" || (at === undefined) === (inMs === undefined))
    refuse("defer", "takes { inMs } or { at }", "For 5 minutes, pass { inMs: 5 * 60_000 }.");
  requireTime(at ?? inMs, "defer");
}

/** The name of a step identifies it in later executions. */
export function requireStep(name: unknown, work: unknown, method: string): void {
  if (typeof name !== "string" || name === "" || typeof work !== "function")
    refuse(method, "takes a name and a function", `Pass job.${method}("name", async () => { … }).`);
}

/** A misspelled option would have no effect, and the work would not be tried again. */
export function requireStepOptions(options: { readonly retries?: number | undefined }): void {
  const aliases = { retry: "retries", maxattempts: "Did you mean retries? It does not count the first try." };
  requireKnown(options, ["retries", "backoffMs"], { what: "an option of step()", aliases });
  if (options.retries !== undefined) requireWhole("retries", options.retries, 0, maxRetries);
}

export function requireSignals(signals: readonly unknown[], timeoutMs: unknown): void {
  if (signals.length === 0 || !signals.every((each) => typeof each === "string" && each !== ""))
    refuse("waitFor", "takes the names of signals", 'Pass "approved", or ["paid", "canceled"].');
  if (timeoutMs !== undefined) requireTime(timeoutMs, "waitFor");
}

export function requireCalls(calls: readonly ChildCall[]): void {
  const isCall = (each: unknown): boolean =>
    typeof each === "object" && each !== null && "definition" in each;
  if (!Array.isArray(calls) || !calls.every(isCall))
    refuse(
      "all",
      "takes an array of calls",
      "Pass [job.call(definition, input), …]. job.run() waits by itself.",
    );
}
