/**
 * Runs jobs: calls their handlers, enforces their timeouts, and passes their ends on to be settled. It also decides
 * about a handler that does not return after its signal was aborted: the run is given up and its slot becomes free.
 */
import { checkInput } from "@jobforge/sdk-ts";
import type { Backend } from "../backend.ts";
import type { Demand } from "../claiming/demand.ts";
import type { Pace } from "../claiming/pace.ts";
import type { HeartbeatResponse, SettleResponse } from "../claiming/protocol.ts";
import type { Settlements } from "../claiming/settlements.ts";
import type { LoopSignal } from "../claiming/signal.ts";
import type { JobAbortedError } from "../errors.ts";
import type { HandledType } from "../handled-type.ts";
import type { WorkerLog } from "../reporting/log.ts";
import type { Reporting } from "../reporting/reporting.ts";
import { type ContextServices, RunContext } from "./context.ts";
import { callAs } from "./current.ts";
import { Deadlines } from "./deadlines.ts";
import { abortReasons, conclude, endRun, failure, noOutcome, type Outcome, refusal } from "./ending.ts";
import type { HeldRuns } from "./held-runs.ts";
import { callHandler, callThrough, type Item, type Middleware } from "./middleware.ts";
import { Overruns } from "./overruns.ts";
import type { Run, Verdict } from "./run.ts";
import type { Slots } from "./slots.ts";

export interface RunnerParts {
  readonly backend: Backend;
  readonly reporting: Reporting;
  readonly held: HeldRuns;
  readonly slots: Slots;
  readonly demand: Demand;
  readonly pace: Pace;
  readonly settlements: Settlements;
  readonly signal: LoopSignal;
  readonly middleware: readonly Middleware[];
  /** The time that a handler may continue after its signal was aborted. */
  readonly abortGraceMs: number;
  /** Whether the schedule of a run that ignores its timeout waits for the handler. A tick ends before that. */
  readonly waitsForOverruns: boolean;
  /** Whether uncaught errors must be traced to the run that caused them. */
  readonly handlesCrashes: boolean;
}

export class Runner implements ContextServices {
  readonly backend: Backend;
  readonly log: WorkerLog;
  readonly #parts: RunnerParts;
  readonly #deadlines = new Deadlines();
  /** The runs whose handler call takes a slot, and how many runs of the same call are open. */
  readonly #open = new Map<Run, { left: number }>();
  readonly #overruns: Overruns;

  constructor(parts: RunnerParts) {
    this.backend = parts.backend;
    this.log = parts.reporting.log;
    this.#parts = parts;
    this.#overruns = new Overruns(parts.waitsForOverruns);
  }

  /** Takes over a claimed job. If the worker holds an earlier attempt of the job, that attempt is lost. */
  hold(run: Run): void {
    const { held } = this.#parts;
    const earlier = held.ofJob(run.id);
    if (earlier !== undefined) this.lost(earlier);
    held.add(run);
  }

  /** Starts the jobs that wait and may start. */
  startWaiting(): void {
    const { slots } = this.#parts;
    for (let runs = slots.takeNext(); runs !== undefined; runs = slots.takeNext()) this.#start(runs);
  }

  /** Hands back a job that has not started. */
  handBack(run: Run): void {
    this.#settle(run, { status: "released" });
  }

  /** The type's timeout has changed: it also holds for runs that have started. */
  updateTimeouts(type: HandledType): void {
    const now = performance.now();
    for (const run of this.#open.keys()) {
      if (run.type === type && run.aborted === undefined) this.#limitTime(run, now - run.startedAt);
    }
  }

  /** Tells the pace how long the open runs have taken so far. */
  noteStillRunning(): void {
    const now = performance.now();
    for (const run of this.#open.keys()) this.#parts.pace.noteStillRunning(run.type, now - run.startedAt);
  }

  // What the database says about runs.

  /**
   * Aborts the runs that a heartbeat's response names. Runs that are ending are left alone: the reply to their end
   * decides.
   */
  heed(response: HeartbeatResponse): void {
    const { held } = this.#parts;
    for (const key of response.cancel) {
      const run = held.find(key);
      if (run !== undefined) this.cancel(run);
    }
    for (const key of response.lost) {
      const run = held.find(key);
      if (run !== undefined) this.lost(run);
    }
  }

  /** The job was canceled. */
  cancel(run: Run): void {
    if (run.state === "running" || run.state === "waiting") this.#abort(run, abortReasons.canceled());
  }

  /** The worker no longer holds the job: the handler's signal is aborted and its result is dropped. */
  lost(run: Run): void {
    if (run.state !== "running" && run.state !== "waiting") return;
    this.#parts.held.letGo(run);
    this.#parts.reporting.report.stale(run);
    this.#abort(run, abortReasons.lost());
  }

  /** The run's end was committed with the handler's own writes. */
  settled(run: Run, { settled: [reply] }: SettleResponse): void {
    run.stopClock();
    this.#parts.held.letGo(run);
    if (reply !== undefined) this.#parts.reporting.report.settled(run, reply);
  }

  /** The handler waits: the run ends, and its promise never settles. */
  suspend(run: Run, verdict: Verdict): void {
    run.verdict = verdict;
    this.#end(run, verdict);
  }

  /** The handler stops at a durable step, because the run was aborted. */
  leave(run: Run): void {
    if (run.aborted !== undefined && this.#open.has(run)) void this.#endAborted(run);
  }

  // Shutdown.

  /** Aborts every open run because the worker shuts down. Handlers get `graceMs` to return. */
  abortAll(graceMs: number): void {
    for (const run of this.#open.keys()) this.#abort(run, abortReasons.shutdown(), graceMs);
  }

  /** Ends the runs whose handlers ignore their timeout: nothing will keep their leases. */
  async endOverruns(): Promise<void> {
    await Promise.all(this.#overruns.all.map((run) => this.#endAborted(run)));
  }

  stop(): void {
    this.#deadlines.stop();
  }

  /** The runs whose handlers are in progress. */
  get openRuns(): readonly Run[] {
    return [...this.#open.keys()];
  }

  /** The process dies: the runs that caused it fail with the error, and the others are released. */
  crash(culprits: readonly Run[], error: unknown): void {
    for (const run of this.openRuns) {
      run.abort(abortReasons.shutdown());
      this.#end(run, culprits.includes(run) ? failure(error) : { status: "released" });
    }
  }

  // From the start of a handler call to the end of its runs.

  /** Calls the handler for one run, or for a batch of runs of one type. */
  #start(runs: readonly Run[]): void {
    const now = performance.now();
    const call = { left: runs.length };
    for (const run of runs) {
      this.#open.set(run, call);
      run.start(now);
      // A run that was lost or canceled while it waited ends without its handler.
      if (run.aborted === undefined) this.#announce(run);
    }
    this.#call(runs).catch((error: unknown) => this.#rescue(runs, error));
  }

  #announce(run: Run): void {
    const { hooks, spans } = this.#parts.reporting;
    if (this.log.isEnabled("debug")) this.log.job("debug", run, undefined, "Job started");
    hooks.started(run);
    this.#limitTime(run, 0);
    spans.start(run);
  }

  async #call(runs: readonly Run[]): Promise<void> {
    const items: Item[] = [];
    const called: Run[] = [];
    for (const run of runs) {
      const input = await this.#input(run);
      if (input === undefined) continue;
      items.push({ input: input.value, job: new RunContext(run, this) });
      called.push(run);
    }
    const [first] = called;
    if (first === undefined) return;
    const { handler } = first.type;
    const { middleware } = this.#parts;
    const call = (): Promise<readonly Outcome[]> =>
      middleware.length === 0 ? callHandler(handler, items) : callThrough(middleware, handler, items);
    const traced = (): Promise<readonly Outcome[]> =>
      first.trace === undefined ? call() : first.trace.run(call);
    const outcomes = await (this.#parts.handlesCrashes
      ? callAs({ runs: called, log: this.log }, traced)
      : traced());
    for (const [place, run] of called.entries()) {
      await this.#returned(run, outcomes[place] ?? noOutcome(), runs.length);
    }
  }

  /**
   * The checked payload; undefined when the run ends here because it was aborted, or because the payload is invalid.
   */
  async #input(run: Run): Promise<{ readonly value: unknown } | undefined> {
    const { definition } = run.type.handler;
    if (run.aborted !== undefined) {
      this.#end(run, { status: "released" });
      return undefined;
    }
    if (definition.input === undefined) return { value: run.job.payload };
    try {
      return { value: await checkInput(definition, run.job.payload) };
    } catch (error) {
      this.#end(run, refusal(error));
      return undefined;
    }
  }

  /** The handler has returned or thrown. Nothing happens if the run was given up before. */
  async #returned(run: Run, outcome: Outcome, jobs: number): Promise<void> {
    if (!this.#open.has(run)) return;
    this.#parts.pace.noteCall(run.type, performance.now() - run.startedAt, jobs);
    const verdict = await conclude(run, outcome);
    this.#end(run, verdict);
  }

  /** The last resort: after an error outside of the handler, the runs of the call fail and their slot becomes free. */
  #rescue(runs: readonly Run[], error: unknown): void {
    for (const run of runs) {
      if (!this.#open.has(run)) continue;
      this.log.job("error", run, { err: error }, "The run could not be ended as usual; it has failed");
      this.#end(run, failure(error));
    }
  }

  /** Ends the run, unless it has ended already. The last run of a handler call frees its slot. */
  #end(run: Run, verdict: Verdict): void {
    const call = this.#open.get(run);
    if (call === undefined) return;
    this.#open.delete(run);
    this.#overruns.delete(run);
    this.#deadlines.clear(run);
    try {
      if (run.state === "running") {
        run.stopClock();
        this.#settle(run, verdict);
      }
      this.#parts.reporting.spans.end(run);
    } finally {
      call.left -= 1;
      if (call.left === 0) this.#free(run.type);
    }
  }

  /** Passes the run's end on to be settled. */
  #settle(run: Run, verdict: Verdict): void {
    run.beginEnding();
    endRun(run, verdict);
    this.#parts.settlements.add(run);
    this.#parts.signal.schedule();
  }

  #free(type: HandledType): void {
    const { slots, demand, signal } = this.#parts;
    slots.free(type);
    this.startWaiting();
    // A type that was left out of claims has room again, and jobs of it may be due.
    if (demand.takeLeftOut(type)) signal.noteDue();
    signal.schedule();
  }

  // Aborts.

  #limitTime(run: Run, elapsedMs: number): void {
    const { timeoutMs, hasDefaultTimeout } = run.type;
    if (timeoutMs === undefined) {
      this.#deadlines.clear(run);
      return;
    }
    const timedOut = (): void => this.#abort(run, abortReasons.timeout(timeoutMs, hasDefaultTimeout));
    this.#deadlines.set(run, timeoutMs - elapsedMs, timedOut);
  }

  #abort(run: Run, reason: JobAbortedError, graceMs: number = this.#parts.abortGraceMs): void {
    run.abort(reason);
    if (this.#open.has(run)) this.#waitFor(run, graceMs);
  }

  #waitFor(run: Run, graceMs: number): void {
    this.#deadlines.set(run, graceMs, () => this.#giveUp(run));
  }

  /** The handler ignores its signal. It cannot be stopped, but the worker no longer waits for it. */
  #giveUp(run: Run): void {
    if (run.state === "ending") {
      this.#waitFor(run, this.#parts.abortGraceMs);
      return;
    }
    if (this.#overruns.accepts(run)) {
      this.#waitForHandler(run);
      return;
    }
    const reason = run.aborted?.kind ?? null;
    if (!this.#overruns.has(run)) {
      const message = "The handler ignores its aborted signal; its slot becomes free while it continues";
      this.log.job("error", run, { reason }, message);
    }
    void this.#endAborted(run);
  }

  async #endAborted(run: Run): Promise<void> {
    this.#end(run, await conclude(run, { thrown: run.aborted }));
  }

  /** Frees the slot of a run that has run into its timeout, and ends it when its handler returns, or at the latest. */
  #waitForHandler(run: Run): void {
    const call = this.#open.get(run);
    if (call === undefined) return;
    const message = "The handler ignores its timeout; its slot becomes free, and its schedule waits for it";
    this.log.job("error", run, { reason: "timeout" }, message);
    // The run no longer takes part in the slot of its call.
    this.#open.set(run, { left: 0 });
    this.#deadlines.set(run, this.#overruns.add(run), () => this.#giveUp(run));
    call.left -= 1;
    if (call.left === 0) this.#free(run.type);
  }
}
