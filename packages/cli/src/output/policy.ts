/** The settings of a policy in words. */
import type { Policy } from "@jobforge/sdk-ts";
import { span } from "./values.ts";

/** What a worker uses for a type without a timeout. A definition with `timeoutMs: null` has none. */
export const workerDefaultTimeoutMs = 3_600_000;

/** Describes when failed runs are tried again: `5 executions, 1s × 2 each time up to 1h`. */
export function retriesOf({ maxAttempts, baseMs, factor, capMs }: Policy): string {
  if (maxAttempts === 1) return "1 execution, no retries";
  const cap = capMs === undefined ? "" : ` up to ${span(capMs)}`;
  return `${maxAttempts} executions, ${span(baseMs)} × ${factor} each time${cap}`;
}

export function timeoutOf({ timeoutMs }: Policy): string {
  return timeoutMs === undefined ? `${span(workerDefaultTimeoutMs)} (worker default)` : span(timeoutMs);
}

export function historyOf({ keepHistory, retentionDays }: Policy): string {
  return keepHistory ? `${retentionDays ?? 30} days` : "none";
}

export function logsOf({ keepLogs }: Policy): string {
  return { off: "not kept", failed: "of failed runs", all: "of all runs" }[keepLogs];
}

/** Returns one line per setting that every type has. */
export function policyLines(policy: Policy): string[] {
  return [
    `retries   ${retriesOf(policy)}`,
    `timeout   ${timeoutOf(policy)}`,
    `lease     ${policy.leaseMs === undefined ? "while its worker is alive" : span(policy.leaseMs)}`,
    `history   ${historyOf(policy)}`,
    `logs      ${logsOf(policy)}`,
  ];
}
