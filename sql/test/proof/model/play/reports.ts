/** The runs that a worker's process knows, and how it reports their ends. */

import { type End, plainEnd, type RunReference } from "../runs.ts";
import type { Outcome } from "../state.ts";
import { type DrawnEnd, typeNames } from "../steps.ts";
import { bits, boomMessage, describeSpec, documentOf, specOf, time } from "./specs.ts";
import type { Process, Report, Stage } from "./stage.ts";

/** How many runs that a worker held earlier later steps may still refer to. */
const rememberedRuns = 12;

export function shownRun(run: RunReference): string {
  return `${run.name}/${run.attempt ?? "?"}`;
}

/** The process no longer holds these runs. Other steps may still refer to them. */
export function forgetRuns(stage: Stage, process: Process, runs: readonly RunReference[]): void {
  const isGone = (run: RunReference): boolean =>
    runs.some((other) => other.name === run.name && other.attempt === run.attempt);
  process.held = process.held.filter((run) => !isGone(run));
  stage.past.push(...runs);
  stage.past.splice(0, stage.past.length - rememberedRuns);
}

/** Returns the types that a worker requests: those that the bits select, or all types of the scenario. */
export function typesOf(stage: Stage, types: number | null): readonly string[] | null {
  if (types === null) return null;
  const taking = typeNames.slice(0, stage.breadth.types);
  const named = bits(taking, types);
  return named.length === 0 ? taking : named;
}

/** Returns the end that a step drew, with absolute times. */
export function endOf(stage: Stage, drawn: DrawnEnd): End {
  const hasTime = drawn.status === "failed" || drawn.status === "deferred";
  const outcome: Outcome = { value: drawn.result, reference: drawn.reference ? "s3://kept" : null };
  return {
    ...plainEnd,
    status: drawn.status,
    message: drawn.message && drawn.status !== "succeeded" ? boomMessage : null,
    retry: drawn.retry,
    at: hasTime && drawn.in !== null ? stage.now + drawn.in : null,
    counts: drawn.counts,
    cost: drawn.cost,
    outcome: outcome.value === null && outcome.reference === null ? null : outcome,
    children: drawn.status === "succeeded" ? drawn.children.map((child) => specOf(stage, child)) : [],
  };
}

/** Returns an end as jobforge_settle_jobs takes it. */
export function reportDocument(stage: Stage, { run, end }: Report): Record<string, unknown> {
  return {
    id: stage.idOf(run.name),
    attempt: run.attempt,
    status: end.status,
    retry: end.retry,
    counts: end.counts,
    ...(end.message === null ? {} : { error: { message: end.message } }),
    ...(end.at === null ? {} : { [end.status === "failed" ? "retry_at" : "run_at"]: time(end.at) }),
    ...(end.cost === null ? {} : { cost_cents: end.cost }),
    ...(end.outcome?.value == null ? {} : { result: end.outcome.value }),
    ...(end.outcome?.reference == null ? {} : { artifact_ref: end.outcome.reference }),
    ...(end.children.length === 0 ? {} : { children: end.children.map(documentOf) }),
  };
}

/** Describes an end in a few words. */
export function describeReport(stage: Stage, { run, end }: Report): string {
  const words = [
    `${shownRun(run)} ${end.status}`,
    end.retry || end.status !== "failed" ? "" : "no retry",
    end.at === null ? "" : `in ${(end.at - stage.now) / 1000} s`,
    end.counts || end.status !== "deferred" ? "" : "free",
    end.children.length === 0
      ? ""
      : `children (${end.children.map((spec) => describeSpec(stage, spec)).join("; ")})`,
  ];
  return words.filter((word) => word !== "").join(" ");
}
