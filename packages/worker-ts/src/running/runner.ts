/**
 * Runs jobs: calls their handlers, watches over their time, and hands their ends over to be settled. What becomes of a handler
 * that does not come back is decided here, too: its run is given up and its slot is freed.
 */
import { checkInput } from "@jobforge/sdk-ts";
import type { Tracer } from "@opentelemetry/api";
import type { Kernel } from "../claiming/kernel.ts";
import type { Pace } from "../claiming/pace.ts";
import type { HeartbeatAnswer, Held, SettleAnswer } from "../claiming/protocol.ts";
import type { JobAbortedError } from "../errors.ts";
import type { HandledType } from "../handled-type.ts";
import type { Hooks, Middleware } from "../reporting/hooks.ts";
import type { WorkerLog } from "../reporting/log.ts";
import type { Report } from "../reporting/report.ts";
import { startTrace } from "../reporting/trace.ts";
import { type ContextServices, RunContext } from "./context.ts";
import { Deadlines } from "./deadlines.ts";
import { abortReasons, conclude, endRun, failure, type Outcome, refusal } from "./ending.ts";
import { callHandler, callThrough, type Item } from "./middleware.ts";
import type { Run, Verdict } from "./run.ts";

export interface RunnerParts {
  readonly kernel: Kernel;
  readonly log: WorkerLog;
  readonly hooks: Hooks;
  readonly report: Report;
  readonly middleware: readonly Middleware[];
  readonly tracer: Tracer | undefined;
  readonly pace: Pace;
  /** How long a handler may take to react to its aborted signal. */
  readonly abortGraceMs: number;
  /** The run's end is known and must be settled. */
  ended(run: Run): void;
  /** A handler call no longer takes a slot. */
  freed(type: HandledType): void;
}

export class Runner implements ContextServices {
  readonly kernel: Kernel;
  readonly log: WorkerLog;
  readonly #parts: RunnerParts;
  readonly #deadlines = new Deadlines();
  /** What the worker holds: from the claim until the kernel has answered for its end. */
  readonly #held = new Map<string, Run>();
  /** Runs of a handler call that it still waits for. */
  readonly #open = new Map<Run, { left: number }>();

  constructor(parts: RunnerParts) {
    this.kernel = parts.kernel;
    this.log = parts.log;
    this.#parts = parts;
  }

  /** What the worker holds. */
  held(): readonly Held[] {
    return [...this.#held.values()];
  }

  /** Takes over a claimed job. If it was held before, that was an earlier attempt which is lost. */
  hold(run: Run): void {
    const earlier = this.#held.get(run.id);
    if (earlier !== undefined) this.lost(earlier);
    this.#held.set(run.id, run);
  }

  /** The kernel has answered for the run's end, or it does not matter any more. */
  letGo(run: Run): void {
    run.state = "over";
    if (this.#held.get(run.id) === run) this.#held.delete(run.id);
  }

  /** Calls the type's handler for these runs: one, or a batch. */
  start(type: HandledType, runs: readonly Run[]): void {
    const now = performance.now();
    const call = { left: runs.length };
    for (const run of runs) {
      this.#open.set(run, call);
      run.startedAt = now;
      // Lost or canceled while it waited: it ends without its handler.
      if (run.state === "waiting") run.state = "running";
      if (run.aborted === undefined) this.#announce(run);
    }
    this.#run(type, runs).catch((error: unknown) => this.#rescue(runs, error));
  }

  #announce(run: Run): void {
    const { hooks, tracer } = this.#parts;
    if (this.log.isEnabled("debug")) this.log.job("debug", run, undefined, "Job started");
    hooks.started(run);
    this.#limitTime(run, 0);
    if (tracer !== undefined) {
      this.#traced(run, () => {
        run.trace = startTrace(tracer, run);
      });
    }
  }

  /** Does something about a run's span. The SDK is the application's, and must not keep a run from starting or ending. */
  #traced(run: Run, work: () => void): void {
    try {
      work();
    } catch (error) {
      this.log.job("error", run, { err: error }, "The run's span failed; the job is not affected");
    }
  }

  /** The type's timeout has changed: runs that have started keep to it as well. */
  retime(type: HandledType): void {
    const now = performance.now();
    for (const run of this.#open.keys()) {
      if (run.type === type && run.aborted === undefined) this.#limitTime(run, now - run.startedAt);
    }
  }

  /** Somebody canceled the job. */
  cancel(run: Run): void {
    if (run.state === "running" || run.state === "waiting") this.#abort(run, abortReasons.canceled());
  }

  /** The kernel says that the job is no longer this worker's. Its handler is told, its result is dropped. */
  lost(run: Run): void {
    if (run.state !== "running" && run.state !== "waiting") return;
    this.letGo(run);
    this.#parts.report.stale(run);
    this.#abort(run, abortReasons.lost());
  }

  /** Aborts whatever runs, because the worker goes, and waits so long at most. */
  abortAll(graceMs: number): void {
    for (const run of this.#open.keys()) this.#abort(run, abortReasons.shutdown(), graceMs);
  }

  /** Gives a job back that has not started. */
  handBack(run: Run): void {
    run.state = "ending";
    endRun(run, { status: "released" });
    this.#parts.ended(run);
  }

  /** What runs now counts as at least as slow as it has been so far. */
  noteLasting(): void {
    const now = performance.now();
    for (const run of this.#open.keys()) this.#parts.pace.noteLasting(run.type, now - run.startedAt);
  }

  /** Does what a heartbeat's answer says. Runs that end just now are left alone: the answer to their end decides. */
  heed(answer: HeartbeatAnswer): void {
    for (const { id, attempt } of answer.cancel) {
      const run = this.#held.get(id);
      if (run?.attempt === attempt) this.cancel(run);
    }
    for (const { id, attempt } of answer.lost) {
      const run = this.#held.get(id);
      if (run?.attempt === attempt) this.lost(run);
    }
  }

  /** The run's end was committed with the handler's own writes. */
  settled(run: Run, answer: SettleAnswer): void {
    run.endedAt = performance.now();
    this.letGo(run);
    const [settled] = answer.settled;
    if (settled !== undefined) this.#parts.report.kept(run, settled);
  }

  stop(): void {
    this.#deadlines.stop();
  }

  async #run(type: HandledType, runs: readonly Run[]): Promise<void> {
    const items: Item[] = [];
    const itemRuns: Run[] = [];
    for (const run of runs) {
      const input = await this.#input(run);
      if (input === undefined) continue;
      items.push({ input: input.value, job: new RunContext(run, this) });
      itemRuns.push(run);
    }
    if (items.length === 0) return;
    const { middleware } = this.#parts;
    const call = (): Promise<readonly Outcome[]> =>
      middleware.length === 0
        ? callHandler(type.handler, items)
        : callThrough(middleware, type.handler, items);
    const trace = itemRuns[0]?.trace;
    const outcomes = await (trace === undefined ? call() : trace.run(call));
    for (const [place, run] of itemRuns.entries()) {
      await this.#finish(
        run,
        outcomes[place] ?? { thrown: new Error("The handler gave no result") },
        runs.length,
      );
    }
  }

  /** The last resort: whatever went wrong beside the handlers, their runs end as failed and their slot is freed. */
  #rescue(runs: readonly Run[], error: unknown): void {
    for (const run of runs) {
      if (!this.#open.has(run)) continue;
      this.log.job("error", run, { err: error }, "The run could not be ended as usual; it has failed");
      this.#conclude(run, failure(error));
    }
  }

  /** The checked payload. Without one the run has ended: it was aborted before it began, or its payload is invalid. */
  async #input(run: Run): Promise<{ readonly value: unknown } | undefined> {
    const { definition } = run.type.handler;
    if (run.aborted !== undefined) {
      this.#conclude(run, { status: "released" });
      return undefined;
    }
    if (definition.input === undefined) return { value: run.job.payload };
    try {
      return { value: await checkInput(definition, run.job.payload) };
    } catch (error) {
      this.#conclude(run, refusal(error));
      return undefined;
    }
  }

  /** The handler has come back. */
  async #finish(run: Run, outcome: Outcome, jobs: number): Promise<void> {
    // Given up before.
    if (!this.#open.has(run)) return;
    this.#parts.pace.noteCall(run.type, performance.now() - run.startedAt, jobs);
    const verdict = await conclude(run, outcome);
    this.#conclude(run, verdict);
  }

  /** Ends the run, if nobody has, and frees its slot. */
  #conclude(run: Run, verdict: Verdict): void {
    const call = this.#open.get(run);
    if (call === undefined) return;
    this.#open.delete(run);
    this.#deadlines.clear(run);
    try {
      if (run.state === "running") {
        run.endedAt = performance.now();
        run.state = "ending";
        endRun(run, verdict);
        this.#parts.ended(run);
      }
      this.#traced(run, () => run.trace?.end(run.end?.error));
    } finally {
      call.left -= 1;
      if (call.left === 0) this.#parts.freed(run.type);
    }
  }

  #limitTime(run: Run, elapsedMs: number): void {
    const { timeoutMs } = run.type;
    if (timeoutMs === undefined) return;
    this.#deadlines.set(run, timeoutMs - elapsedMs, () => this.#abort(run, abortReasons.timeout(timeoutMs)));
  }

  #abort(run: Run, reason: JobAbortedError, graceMs: number = this.#parts.abortGraceMs): void {
    run.abort(reason);
    if (this.#open.has(run)) this.#waitFor(run, graceMs);
  }

  #waitFor(run: Run, graceMs: number): void {
    this.#deadlines.set(run, graceMs, () => this.#giveUp(run));
  }

  /** The handler ignores its signal. It cannot be stopped, but nobody waits for it any more. */
  #giveUp(run: Run): void {
    if (run.state === "ending") {
      this.#waitFor(run, this.#parts.abortGraceMs);
      return;
    }
    const reason = run.aborted;
    this.log.job(
      "error",
      run,
      { reason: reason?.kind ?? null },
      "The handler ignores its aborted signal; its slot is freed while it goes on",
    );
    void conclude(run, { thrown: reason }).then((verdict) => this.#conclude(run, verdict));
  }
}
