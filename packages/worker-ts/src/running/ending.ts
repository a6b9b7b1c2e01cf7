/** Turns the outcome of a handler into the end that is reported to the database. */
import { checkOutput, checkResult, maxPayloadBytes, resultForm, toStorableJson } from "@jobforge/sdk-ts";
import { describeError } from "@jobforge/sdk-ts/internal";
import type { RunEnd } from "../claiming/protocol.ts";
import { JobAbortedError } from "../errors.ts";
import { isSent } from "../reporting/kept-log.ts";
import type { Run, Verdict } from "./run.ts";

/** What the handler of a run returned, or what it threw. */
export type Outcome = { readonly value: unknown } | { readonly thrown: unknown };

/** The outcome of a run for which the handler returned nothing at all. */
export function noOutcome(): Outcome {
  return { thrown: new Error("The handler returned no result for this job") };
}

/**
 * Sets the run's end. An end that cannot be written as JSON fails the job, because a retry would give the same result.
 */
export function endRun(run: Run, verdict: Verdict): void {
  const end: RunEnd = { id: run.id, attempt: run.attempt, ...verdict };
  const isPlain = run.costCents === undefined && run.nextRunAt === undefined;
  run.end = isPlain ? end : { ...end, cost_cents: run.costCents, next_run_at: run.nextRunAt };
  if (
    verdict.status === "succeeded" &&
    isPlain &&
    (verdict.result ?? verdict.children ?? verdict.steps) === undefined
  ) {
    run.endJson = `{"id":"${run.id}","attempt":${run.attempt},"status":"succeeded"}`;
    addLog(run, verdict);
    return;
  }
  try {
    const { result, ...rest } = run.end;
    const text = toStorableJson(rest, "end").text;
    run.endJson =
      result === undefined ? text : `${text.slice(0, -1)},"result":${toStorableJson(result, "result").text}}`;
  } catch (error) {
    endRun(run, refusal(error));
    return;
  }
  // The database would fail the job as well, but then only its row would say why.
  if (run.endJson.length * 3 > maxPayloadBytes && isOversized(verdict.result)) endRun(run, oversized);
  else addLog(run, verdict);
}

/** Adds what the handler has logged to the end, unless the policy of the type does not want it. */
function addLog(run: Run, { status }: Verdict): void {
  const { keptLog, type } = run;
  if (keptLog === undefined || !isSent(type.keepLogs, status)) return;
  run.endJson = `${run.endJson.slice(0, -1)},"logs":${keptLog.json}}`;
}

const oversized: Verdict = {
  status: "failed",
  retry: false,
  error: { name: "InvalidResult", message: "Payload too large: result is over 1 MiB" },
};

/** Whether the database would refuse the result for its size. Postgres never prints it shorter than this. */
function isOversized(result: unknown): boolean {
  return result !== undefined && Buffer.byteLength(toStorableJson(result, "result").text) > maxPayloadBytes;
}

/** Replaces an end that the database cannot read by one that it can. */
export function endUnreadable(run: Run, error: unknown): void {
  run.costCents = undefined;
  run.nextRunAt = undefined;
  run.keptLog = undefined;
  const message = `The end of the run was refused: ${describeError(error).message}`;
  endRun(run, { status: "failed", retry: false, error: { name: "InvalidResult", message } });
}

/** The end of a run whose handler has returned or thrown. */
export async function conclude(run: Run, outcome: Outcome): Promise<Verdict> {
  const { aborted, verdict } = run;
  if (aborted?.kind === "timeout") return failure(aborted);
  if (verdict !== undefined) return verdict;
  if ("value" in outcome) return await concludeSuccess(run, outcome.value);
  if (aborted?.kind === "shutdown") return { status: "released" };
  return failure(aborted?.kind === "canceled" ? aborted : outcome.thrown);
}

/** The end of a run whose handler returned a value: a success, unless the value or a child violates its definition. */
export async function concludeSuccess(run: Run, value: unknown): Promise<Verdict> {
  const { definition } = run.type.handler;
  try {
    if (definition.output === undefined) checkResult(value, "result");
    else await checkOutput(definition, resultForm(value, "result"));
    const { children, added } = run;
    if (children === undefined && added === undefined) return { status: "succeeded", result: value };
    return {
      status: "succeeded",
      result: value,
      ...(children === undefined ? {} : { children: await Promise.all(children) }),
      ...(added === undefined ? {} : { steps: added.w.json, detached: added.detached }),
    };
  } catch (error) {
    return refusal(error);
  }
}

/** A failure that is retried as the policy says. */
export function failure(thrown: unknown): Verdict {
  return { status: "failed", error: describeError(thrown) };
}

/** A failure that is not retried, because a retry would fail in the same way. */
export function refusal(thrown: unknown): Verdict {
  return { status: "failed", retry: false, error: describeError(thrown) };
}

/** The reasons for which a run is aborted from outside of its handler. */
export const abortReasons = {
  timeout: (ms: number, isDefault = false): JobAbortedError =>
    new JobAbortedError(
      "timeout",
      isDefault
        ? `The handler took longer than ${ms} ms, the default. Set timeoutMs in its definition; null means no limit`
        : `The handler took longer than ${ms} ms`,
    ),
  canceled: (): JobAbortedError => new JobAbortedError("canceled", "The job was canceled"),
  lost: (): JobAbortedError =>
    new JobAbortedError("lost", "The lease was lost: another worker may run the job"),
  shutdown: (): JobAbortedError => new JobAbortedError("shutdown", "The worker is shutting down"),
};
