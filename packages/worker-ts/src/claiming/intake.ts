/** Takes claimed jobs in: makes a run of each, and lets it wait for a slot. */
import type { HandledType } from "../handled-type.ts";
import type { Reporting } from "../reporting/reporting.ts";
import type { Overdue } from "../running/overdue.ts";
import type { Policies } from "../running/policies.ts";
import { Run } from "../running/run.ts";
import type { Runner } from "../running/runner.ts";
import type { Slots } from "../running/slots.ts";
import type { Pace } from "./pace.ts";
import type { ClaimedJob, ClaimRequest } from "./protocol.ts";

export interface IntakeParts {
  readonly types: readonly HandledType[];
  readonly reporting: Reporting;
  readonly runner: Runner;
  readonly slots: Slots;
  readonly overdue: Overdue;
  readonly policies: Policies;
  readonly pace: Pace;
}

export class Intake {
  readonly #parts: IntakeParts;
  readonly #types: ReadonlyMap<string, HandledType>;

  constructor(parts: IntakeParts) {
    this.#parts = parts;
    this.#types = new Map(parts.types.map((type) => [type.name, type]));
  }

  /**
   * The jobs wait for a slot from now on; `runner.startWaiting` starts them. `isFull`: more jobs may be due, so batches
   * wait for them.
   */
  accept(jobs: readonly ClaimedJob[], request: ClaimRequest, isFull: boolean): void {
    const { slots, pace, policies, overdue } = this.#parts;
    const now = performance.now();
    const runs = this.#hold(jobs, now);
    for (const run of runs) slots.add(run);
    const perType = countByType(runs);
    for (const type of perType.keys()) {
      slots.expectMore(type, type.batchSize > 1 && isFull && !request.fillsBatches);
      policies.refresh(type, now);
    }
    pace.noteClaim(jobs.length, perType);
    overdue.watch();
  }

  /** Jobs that enqueues have handed to this worker. They wait for a slot as claimed jobs do. */
  receive(jobs: readonly ClaimedJob[]): void {
    const { slots, policies, overdue } = this.#parts;
    const now = performance.now();
    for (const run of this.#hold(jobs, now, true)) {
      slots.add(run);
      policies.refresh(run.type, now);
    }
    overdue.watch();
  }

  /** The response to a claim that was in flight when the shutdown began: its jobs go back at once. */
  handBack(jobs: readonly ClaimedJob[]): void {
    for (const run of this.#hold(jobs, performance.now())) this.#parts.runner.handBack(run);
  }

  #hold(jobs: readonly ClaimedJob[], now: number, isHanded = false): Run[] {
    const { runner, reporting } = this.#parts;
    const runs: Run[] = [];
    for (const job of jobs) {
      const type = this.#types.get(job.type);
      if (type === undefined) continue;
      const run = new Run(job, type, now, isHanded);
      runner.hold(run);
      runs.push(run);
    }
    reporting.report.claimed(runs.length);
    reporting.hooks.claimed(runs);
    return runs;
  }
}

function countByType(runs: readonly Run[]): Map<HandledType, number> {
  const counts = new Map<HandledType, number>();
  for (const { type } of runs) counts.set(type, (counts.get(type) ?? 0) + 1);
  return counts;
}
