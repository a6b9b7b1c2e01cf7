/** Runs jobs: calls their handlers, and passes their ends on to be settled. */
import type { Backend } from "../backend.ts";
import type { Demand } from "../claiming/demand.ts";
import type { Pace } from "../claiming/pace.ts";
import type { HeartbeatResponse, SettleResponse } from "../claiming/protocol.ts";
import type { Settlements } from "../claiming/settlements.ts";
import type { LoopSignal } from "../claiming/signal.ts";
import type { HandledType } from "../handled-type.ts";
import type { WorkerLog } from "../reporting/log.ts";
import type { Reporting } from "../reporting/reporting.ts";
import { Aborts } from "./aborts.ts";
import { type ContextServices, RunContext } from "./context.ts";
import { callAs } from "./current.ts";
import { abortReasons, conclude, endRun, failure, noOutcome, type Outcome } from "./ending.ts";
import type { HeldRuns } from "./held-runs.ts";
import { readInput } from "./input.ts";
import { callHandler, callThrough, type Item, type Middleware } from "./middleware.ts";
import { offloadResult } from "./offloading.ts";
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
  /** Whether large results go to the artifact store. */
  readonly offload: boolean;
  /** Whether the schedule of a run that ignores its timeout waits for the handler. A tick ends before that. */
  readonly waitsForOverruns: boolean;
  /** Whether uncaught errors must be traced to the run that caused them. */
  readonly handlesCrashes: boolean;
}

export class Runner implements ContextServices {
  readonly backend: Backend;
  readonly log: WorkerLog;
  readonly offload: boolean;
  readonly #parts: RunnerParts;
  /** The runs whose handler call takes a slot, and how many runs of the same call are open. */
  readonly #open = new Map<Run, { left: number }>();
  readonly #aborts: Aborts;

  constructor(parts: RunnerParts) {
    this.backend = parts.backend;
    this.log = parts.reporting.log;
    this.offload = parts.offload;
    this.#parts = parts;
    this.#aborts = new Aborts({
      log: this.log,
      graceMs: parts.abortGraceMs,
      waitsForOverruns: parts.waitsForOverruns,
      isOpen: (run) => this.#open.has(run),
      end: (run, verdict) => this.#end(run, verdict),
      freeSlot: (run) => this.#freeSlot(run),
    });
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
      if (run.type === type && run.aborted === undefined) this.#aborts.limitTime(run, now - run.startedAt);
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
    if (run.state === "running" || run.state === "waiting") this.#aborts.abort(run, abortReasons.canceled());
  }

  /** The worker no longer holds the job: the handler's signal is aborted and its result is dropped. */
  lost(run: Run): void {
    if (run.state !== "running" && run.state !== "waiting") return;
    this.#parts.held.letGo(run);
    this.#parts.reporting.report.stale(run);
    this.#aborts.abort(run, abortReasons.lost());
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
    if (run.aborted !== undefined && this.#open.has(run)) this.#aborts.end(run);
  }

  // Shutdown.

  /** Aborts every open run because the worker shuts down. Handlers get `graceMs` to return. */
  abortAll(graceMs: number): void {
    for (const run of this.#open.keys()) this.#aborts.abort(run, abortReasons.shutdown(), graceMs);
  }

  /** Ends the runs whose handlers ignore their timeout: nothing will keep their leases. */
  async endOverruns(): Promise<void> {
    await this.#aborts.endOverruns();
  }

  stop(): void {
    this.#aborts.stop();
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
    this.#aborts.limitTime(run, 0);
    spans.start(run);
  }

  async #call(runs: readonly Run[]): Promise<void> {
    const items: Item[] = [];
    const called: Run[] = [];
    for (const run of runs) {
      const input = await readInput(run, this.backend);
      if ("end" in input) this.#end(run, input.end);
      else {
        items.push({ input: input.value, job: new RunContext(run, this) });
        called.push(run);
      }
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

  /** The handler has returned or thrown. Nothing happens if the run was given up before. */
  async #returned(run: Run, outcome: Outcome, jobs: number): Promise<void> {
    if (!this.#open.has(run)) return;
    this.#parts.pace.noteCall(run.type, performance.now() - run.startedAt, jobs);
    const verdict = await conclude(run, outcome);
    this.#end(run, this.offload ? await offloadResult(run, verdict, this) : verdict);
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
    this.#aborts.clear(run);
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

  /** The run no longer takes part in the slot of its call, although its handler continues. */
  #freeSlot(run: Run): void {
    const call = this.#open.get(run);
    if (call === undefined) return;
    this.#open.set(run, { left: 0 });
    call.left -= 1;
    if (call.left === 0) this.#free(run.type);
  }

  #free(type: HandledType): void {
    const { slots, demand, signal } = this.#parts;
    slots.free(type);
    this.startWaiting();
    // A type that was left out of claims has room again, and jobs of it may be due.
    if (demand.takeLeftOut(type)) signal.noteDue();
    signal.schedule();
  }
}
