/**
 * The engine puts the parts of a worker together, for a worker that runs until it is stopped or for one tick.
 *
 *     claiming                              running                            reporting
 *
 *     +--------+  jobs   +--------+  runs   +-------+  next   +--------+
 *     |  loop  |-------->| intake |-------->| slots |-------->| runner |------> handler
 *     +--------+         +--------+         +-------+         +--------+
 *      |  ^  ^                                                    | ends
 *      |  |  |    signal: a run has ended, a slot is free         v
 *      |  |  +-------------------------------------------- +-------------+      +--------+
 *      |  |                ends to settle                  | settlements |----->| report |----> log, hooks
 *      |  +----------------------------------------------- +-------------+      +--------+
 *      |                                                          ^ replies
 *      |  settle and claim: one call, one commit                  |
 *      +-----------------------> database ------------------------+
 *                                 |   ^
 *              jobs to abort,     |   |  heartbeat: held runs, metrics,
 *              wake-ups           v   |  "notify me" (mark)
 *                               presence: heartbeat, idle, notifications
 *
 * Claim, run, settle: the loop asks `demand` what to claim and calls the database. The intake makes a run of each job and
 * puts it into `slots`, where it waits for its turn. The runner takes runs out of the slots and calls their handlers. The
 * end of a run goes to `settlements` and signals the loop, whose next call settles it. The database's reply goes to
 * `report`. The worker holds a run (`HeldRuns`) from its claim to that reply.
 *
 * Heartbeat: every ten seconds the heartbeat lists the held runs, which keeps their leases. The response names runs that
 * were canceled or lost, and the runner aborts them.
 *
 * Wake-ups: when a claim finds nothing, `idle` sets a timer for the next due time or poll, and asks the database by a
 * heartbeat to be notified. A timer or a notification signals the loop to claim again. A tick ends instead.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Transport } from "@jobforge/sdk-ts";
import { Demand } from "./claiming/demand.ts";
import { Intake } from "./claiming/intake.ts";
import { Kernel } from "./claiming/kernel.ts";
import { Loop } from "./claiming/loop.ts";
import { Pace } from "./claiming/pace.ts";
import { Settlements } from "./claiming/settlements.ts";
import { LoopSignal } from "./claiming/signal.ts";
import { HandledType } from "./handled-type.ts";
import type { Settings } from "./options.ts";
import { DatabaseClock } from "./presence/clock.ts";
import { Heartbeat } from "./presence/heartbeat.ts";
import { Idle } from "./presence/idle.ts";
import { Notifications } from "./presence/notifications.ts";
import { Outage } from "./presence/outage.ts";
import { Patience } from "./presence/patience.ts";
import type { WorkerLog } from "./reporting/log.ts";
import type { Meter, WorkerMetrics } from "./reporting/meter.ts";
import type { Tally } from "./reporting/report.ts";
import { makeReporting } from "./reporting/reporting.ts";
import { HeldRuns } from "./running/held-runs.ts";
import { Overdue } from "./running/overdue.ts";
import { Policies } from "./running/policies.ts";
import { Runner } from "./running/runner.ts";
import { Slots } from "./running/slots.ts";
import { version } from "./version.ts";

export class Engine {
  readonly log: WorkerLog;
  readonly #held = new HeldRuns();
  readonly #meter: Meter;
  readonly #signal: LoopSignal;
  readonly #slots: Slots;
  readonly #runner: Runner;
  readonly #overdue: Overdue;
  readonly #loop: Loop;
  readonly #heartbeat: Heartbeat;
  /** A worker that runs until it is stopped has these, and a tick has none. */
  readonly #idle: Idle | undefined;
  readonly #notifications: Notifications | undefined;
  /** Only a tick has this. */
  readonly #patience: Patience | undefined;

  /** With a `budget` it is the engine of a tick that claims at most this number of jobs. */
  constructor(transport: Transport, settings: Settings, budget?: number) {
    const { concurrency, batchSize, prefetch, abortGraceMs, middleware } = settings;
    const types = settings.handlers.map(
      (handler) => new HandledType(handler, settings.maxPerType[handler.definition.type], concurrency),
    );
    const clock = new DatabaseClock();
    const kernel = new Kernel(transport, clock, settings, types);
    const [held, reporting] = [this.#held, makeReporting(settings)];
    const { log, meter, report } = reporting;
    const outage = new Outage(log);

    const signal = new LoopSignal(() => this.#loop.turn());
    const settlements = new Settlements(held, report, log);
    const pace = new Pace(types);
    const slots = new Slots(concurrency, types);
    const demand = new Demand(slots, types, pace, { batchSize, prefetch });
    const runner = new Runner({
      kernel,
      reporting,
      held,
      slots,
      demand,
      pace,
      settlements,
      signal,
      middleware,
      abortGraceMs,
    });
    const overdue = new Overdue(slots, runner);
    const policies = new Policies(kernel, log, runner);
    const intake = new Intake({ types, reporting, runner, slots, pace, policies, overdue });

    const [about, everyMs] = [aboutWorker(kernel.types, concurrency), settings.heartbeatMs];
    const heartbeat = new Heartbeat({ kernel, outage, held, meter, runner, everyMs, about });
    const isTick = budget !== undefined;
    const idle = isTick ? undefined : new Idle({ heartbeat, clock, signal, pollMs: settings.pollMs });
    const patience = isTick ? new Patience(held) : undefined;
    if (idle !== undefined && settings.listen)
      this.#notifications = new Notifications({ kernel, outage, signal, idle, heartbeat, held });
    this.#loop = new Loop({
      kernel,
      signal,
      demand,
      pace,
      meter,
      intake,
      runner,
      slots,
      settlements,
      outage,
      idle,
      patience,
      batchSize,
      budget: budget ?? Number.POSITIVE_INFINITY,
    });

    this.log = log;
    this.#meter = meter;
    this.#signal = signal;
    this.#slots = slots;
    this.#runner = runner;
    this.#overdue = overdue;
    this.#heartbeat = heartbeat;
    this.#idle = idle;
    this.#patience = patience;
  }

  /** The number of runs so far, by how they ended. */
  get tally(): Readonly<Tally> {
    return this.#meter.runs;
  }

  /** What the worker has measured so far. */
  metrics(): WorkerMetrics {
    return this.#meter.read();
  }

  /** The number of handler calls in progress. */
  get running(): number {
    return this.#slots.busy;
  }

  /** Works until `drain`. Resolves when the database knows the worker. */
  async start(): Promise<void> {
    this.#notifications?.open();
    await this.#heartbeat.start();
    this.#loop.open();
  }

  /** Works until no job is due or the budget is spent. Rejects when the database fails, after it has tried to settle. */
  async runDue(): Promise<void> {
    this.#heartbeat.startLater();
    this.#loop.open();
    const ends = [this.#loop.quiet()];
    if (this.#patience !== undefined) ends.push(this.#patience.exhausted);
    await Promise.race(ends);
  }

  /** Claims nothing more, and hands back the jobs that have not started. Resolves when all other runs have ended. */
  async drain(): Promise<void> {
    this.#loop.stopClaiming();
    this.#idle?.stop();
    for (const run of this.#slots.takeUnstarted()) this.#runner.handBack(run);
    this.#signal.schedule();
    await this.#loop.quiet();
  }

  /** Aborts the handlers that still run. They get `graceMs` to return. */
  abort(graceMs: number): void {
    this.#runner.abortAll(graceMs);
  }

  /** Ends the engine, whatever is left. */
  async close(): Promise<void> {
    const jobs = this.#held.size;
    if (jobs > 0) this.log.warn({ jobs }, "Leaving jobs behind: their leases will run out");
    this.#loop.stop();
    this.#overdue.stop();
    this.#idle?.stop();
    this.#runner.stop();
    await Promise.all([this.#heartbeat.stop(), this.#notifications?.close()]);
  }
}

/** What every heartbeat says about the worker. */
function aboutWorker(types: readonly string[], concurrency: number): Readonly<Record<string, unknown>> {
  return { instance: randomUUID(), types, concurrency, host: hostname(), pid: process.pid, version };
}
