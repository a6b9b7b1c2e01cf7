/**
 * The reference model of one workflow: needs and their policies, signals, suspended runs, cancels, retries and
 * resolved steps. Written from docs/reference/sql/workflows.md, not from the SQL.
 */

export type Policy = "cancel" | "run" | "wait" | "compensate";

export interface ModelStep {
  readonly name: string;
  readonly kind: "job" | "signal";
  readonly needs: readonly { readonly step: string; readonly policy: Policy }[];
  readonly optional: boolean;
  readonly cleanup: boolean;
}

export type StepStatus =
  | "blocked"
  | "queued"
  | "running"
  | "waiting"
  | "succeeded"
  | "failed"
  | "canceled"
  | "skipped";

interface State {
  status: StepStatus;
  /** Whether it was canceled because of a need. */
  doomed: boolean;
  cancelRequested: boolean;
  suspended: boolean;
}

const ended = (status: StepStatus): boolean =>
  ["succeeded", "failed", "canceled", "skipped"].includes(status);
const isBad = (status: StepStatus): boolean => status === "failed" || status === "canceled";

export class WorkflowModel {
  readonly steps: readonly ModelStep[];
  status: "running" | "succeeded" | "failed" | "canceled" = "running";
  /** Signals that no step has taken. */
  mail = 0;
  isStopped = false;
  readonly #states: Map<string, State>;

  constructor(steps: readonly ModelStep[]) {
    this.steps = steps;
    this.#states = new Map(
      steps.map(({ name }) => [
        name,
        { status: "blocked", doomed: false, cancelRequested: false, suspended: false },
      ]),
    );
    this.#settleDown();
  }

  state(name: string): State {
    const state = this.#states.get(name);
    if (state === undefined) throw new Error(`the model has no step ${name}`);
    return state;
  }

  statuses(): Record<string, StepStatus> {
    return Object.fromEntries(this.steps.map(({ name }) => [name, this.state(name).status]));
  }

  /** Returns the steps with a status whose runs are not suspended. */
  those(status: StepStatus): string[] {
    return this.steps.map(({ name }) => name).filter((name) => this.#is(name, status));
  }

  start(name: string): void {
    this.state(name).status = "running";
  }

  end(name: string, status: "succeeded" | "failed"): void {
    const state = this.state(name);
    state.status = state.cancelRequested ? "canceled" : status;
    this.#settleDown();
  }

  /** A run waits for a signal to its job. A run whose cancel was requested ends. */
  suspend(name: string): void {
    const state = this.state(name);
    if (state.cancelRequested) this.end(name, "failed");
    else Object.assign(state, { status: "queued", suspended: true });
  }

  resume(name: string): void {
    this.state(name).suspended = false;
  }

  signal(): void {
    this.mail += 1;
    this.#settleDown();
  }

  cancel(): void {
    this.isStopped = true;
    for (const { name, cleanup } of this.steps) {
      const state = this.state(name);
      if (cleanup) continue;
      if (state.status === "running") state.cancelRequested = true;
      if (state.status === "queued" || state.status === "waiting") state.status = "canceled";
    }
    this.#settleDown();
  }

  /** Cancels one step: at once, when its run ends, or when its needs have ended. */
  cancelStep(name: string): void {
    const state = this.state(name);
    if (state.status === "queued") state.status = "canceled";
    else state.cancelRequested = true;
    this.#settleDown();
  }

  canBeRetried(): boolean {
    const isOpen = this.status === "failed" || (this.status === "running" && !this.isStopped);
    return isOpen && this.#seeds().length > 0;
  }

  retry(): void {
    this.#reopen(this.#seeds());
    this.#settleDown();
  }

  /** Returns the steps that can be resolved. */
  resolvable(): string[] {
    const isOpen = this.status === "failed" || (this.status === "running" && !this.isStopped);
    return isOpen ? this.steps.map(({ name }) => name).filter((name) => isBad(this.state(name).status)) : [];
  }

  resolve(name: string, status: "succeeded" | "skipped"): void {
    this.#reopen([name]);
    this.state(name).status = status;
    this.#settleDown();
  }

  #is(name: string, status: StepStatus): boolean {
    const state = this.state(name);
    return state.status === status && !state.suspended;
  }

  #seeds(): string[] {
    return this.steps
      .map(({ name }) => name)
      .filter((name) => isBad(this.state(name).status) && !this.state(name).doomed);
  }

  /** Opens steps again, with those that were canceled or skipped because of them. */
  #reopen(seeds: readonly string[]): void {
    const again = new Set(seeds);
    for (const { name, needs } of this.steps) {
      const isBecause = this.state(name).doomed && needs.some(({ step }) => again.has(step));
      if (isBecause) again.add(name);
    }
    for (const name of again)
      Object.assign(this.state(name), {
        status: "blocked",
        doomed: false,
        cancelRequested: false,
        suspended: false,
      });
    this.status = "running";
    this.isStopped = false;
  }

  /** Decides steps until nothing changes. A step comes after its needs, so one pass is enough for them. */
  #settleDown(): void {
    for (const step of this.steps) if (this.state(step.name).status === "blocked") this.#decide(step);
    for (const { name, kind } of this.steps) {
      if (kind === "signal" && this.state(name).status === "waiting" && this.mail > 0) {
        this.mail -= 1;
        this.state(name).status = "succeeded";
        this.#settleDown();
        return;
      }
    }
    if (this.status === "running" && this.steps.every(({ name }) => ended(this.state(name).status))) {
      const failed = this.steps.some(({ name, optional }) => !optional && isBad(this.state(name).status));
      this.status = this.isStopped ? "canceled" : failed ? "failed" : "succeeded";
    }
  }

  #decide({ name, kind, needs, cleanup }: ModelStep): void {
    const state = this.state(name);
    const dooms: boolean[] = [];
    for (const { step, policy } of needs) {
      const end = this.state(step).status;
      if (!ended(end) || (policy === "wait" && isBad(end) && !this.isStopped)) return;
      if ((policy === "cancel" || policy === "wait") && end !== "succeeded") dooms.push(end === "skipped");
      if (policy === "compensate" && !isBad(end)) dooms.push(true);
    }
    if (state.cancelRequested) state.status = "canceled";
    else if (dooms.length > 0) {
      state.doomed = true;
      state.status = dooms.every(Boolean) ? "skipped" : "canceled";
    } else if (this.isStopped && !cleanup) state.status = "canceled";
    else state.status = kind === "job" ? "queued" : "waiting";
  }
}
