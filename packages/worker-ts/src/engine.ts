/**
 * The engine puts the parts of a worker together, for a worker that runs until it is stopped or for one tick.
 *
 *              jobs              runs              turns             call
 *   +------+ --------> +--------+ ------> +-------+ ------> +--------+ ------> handler
 *   | loop |           | intake |         | slots |         | runner |
 *   +------+ <------+  +--------+         +-------+         +--------+
 *     |  ^          |                                         |  |  ^
 *     |  |          +----- signal: run ended, slot free ------+  |  | abort
 *     |  |                                                  end  |  |
 *     |  |           ends to settle     +-------------+          |  |
 *     |  +----------------------------- | settlements | <--------+  |
 *     |                                 +-------------+ --> report  |   (log, hooks, metrics)
 *     | settle and claim:                     ^                     |
 *     | one call, one commit                  | replies             |
 *     v                                       |                     |
 *   +-----------------------------------------------+               |
 *   |                   database                    |               |
 *   +-----------------------------------------------+               |
 *     |                       ^            |  canceled, lost        |
 *     | NOTIFY                | held runs  |                        |
 *     v                       |            v                        |
 *   +---------------+       +----------------+                      |
 *   | notifications |       |   heartbeat    | ---------------------+
 *   +---------------+       +----------------+
 *     |                       ^
 *     | wake-up               | mark: "notify me"
 *     v                       |
 *   signal <---- timer ---- +------+
 *   (to the loop)           | idle | <---- loop: no job is due
 *                           +------+
 *
 * Claim, run, settle: the loop asks `demand` what to claim, and calls the database. The intake makes a run of each job
 * and puts it into `slots`, where it waits for its turn. The runner takes runs out of the slots and calls their
 * handlers. The end of a run goes to `settlements` and signals the loop, whose next call settles it. The database's
 * reply goes to `report`. The worker holds a run (`HeldRuns`) from its claim until that reply.
 *
 * Heartbeat: every ten seconds the heartbeat lists the held runs, which keeps their leases. The response names runs
 * that were canceled or lost, and the runner aborts them.
 *
 * Wake-ups: when a claim finds nothing, `idle` sets a timer for the next due time or poll, and asks the database by a
 * heartbeat to be notified. A timer or a notification signals the loop to claim again. A tick ends instead.
 */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Backend, Connect } from "./backend.ts";
import { Demand } from "./claiming/demand.ts";
import { HandOver } from "./claiming/hand-over.ts";
import { Intake } from "./claiming/intake.ts";
import { Loop } from "./claiming/loop.ts";
import { Pace } from "./claiming/pace.ts";
import { Settlements } from "./claiming/settlements.ts";
import { LoopSignal } from "./claiming/signal.ts";
import { HandledType } from "./handled-type.ts";
import type { Settings } from "./options.ts";
import { Definitions } from "./presence/definitions.ts";
import { Heartbeat } from "./presence/heartbeat.ts";
import { Idle } from "./presence/idle.ts";
import { LookAgain } from "./presence/look-again.ts";
import { Notifications } from "./presence/notifications.ts";
import { Outage } from "./presence/outage.ts";
import { Patience } from "./presence/patience.ts";
import { Sweeper } from "./presence/sweeper.ts";
import type { WorkerLog } from "./reporting/log.ts";
import type { Meter, WorkerMetrics } from "./reporting/meter.ts";
import type { Tally } from "./reporting/report.ts";
import { makeReporting } from "./reporting/reporting.ts";
import { HeldRuns } from "./running/held-runs.ts";
import { Overdue } from "./running/overdue.ts";
import { Policies } from "./running/policies.ts";
import type { Run } from "./running/run.ts";
import { Runner } from "./running/runner.ts";
import { Slots } from "./running/slots.ts";
import { version } from "./version.ts";

export interface EngineMode {
  /** The number of jobs that a tick claims at most. A worker that runs until it is stopped has none. */
  readonly budget?: number;
  /** Whether uncaught errors must be traced to the run that caused them. */
  readonly handlesCrashes: boolean;
  /** Called when an operator has asked the worker to stop, with each heartbeat until it has. */
  readonly onStopRequest?: () => void;
}

export class Engine {
  readonly log: WorkerLog;
  readonly #parts: Parts;

  constructor(connect: Connect, settings: Settings, mode: EngineMode) {
    this.#parts = makeParts(connect, settings, mode);
    this.log = this.#parts.log;
  }

  /** The number of runs so far, by how they ended. */
  get tally(): Readonly<Tally> {
    return this.#parts.meter.runs;
  }

  /** What the worker has measured so far. */
  metrics(): WorkerMetrics {
    return this.#parts.meter.read();
  }

  /** The number of handler calls in progress. */
  get running(): number {
    return this.#parts.slots.busy;
  }

  /** Works until `drain`. Resolves when the database knows the worker. */
  async start(): Promise<void> {
    const { notifications, heartbeat, loop } = this.#parts;
    notifications?.open();
    await heartbeat.start();
    await this.syncDefinitions();
    loop.open();
    this.#parts.sweeper?.start();
  }

  /** Brings the policies of the handled types in line with their definitions, unless an option switches it off. */
  async syncDefinitions(): Promise<void> {
    await this.#parts.definitions?.sync();
  }

  /**
   * Works until no job is due or the budget is spent. Rejects when the database fails, after it has tried to settle.
   */
  async runDue(): Promise<void> {
    const { heartbeat, loop, patience } = this.#parts;
    heartbeat.startLater();
    loop.open();
    const ends = [loop.quiet()];
    if (patience !== undefined) ends.push(patience.exhausted);
    await Promise.race(ends);
    await this.#parts.sweeper?.sweep();
  }

  /** Claims nothing more, and hands back the jobs that have not started. Resolves when all other runs have ended. */
  async drain(): Promise<void> {
    const { loop, idle, handOver, heartbeat, slots, runner, signal, definitions } = this.#parts;
    loop.stopClaiming();
    idle?.stop();
    definitions?.stop();
    for (const run of slots.takeUnstarted()) runner.handBack(run);
    signal.schedule();
    await handOver?.stop();
    if (handOver !== undefined && heartbeat.isMarked) void heartbeat.beat();
    await loop.quiet();
    await runner.endOverruns();
    await loop.quiet();
  }

  /** Aborts the handlers that still run. They get `graceMs` to return. */
  abort(graceMs: number): void {
    this.#parts.runner.abortAll(graceMs);
  }

  /** The runs whose handlers are in progress. */
  get openRuns(): readonly Run[] {
    return this.#parts.runner.openRuns;
  }

  /**
   * Ends all runs because the process dies: those that caused it fail with the error, all others are released. Resolves
   * when the database has confirmed it.
   */
  async crash(culprits: readonly Run[], error: unknown): Promise<void> {
    const drained = this.drain();
    this.#parts.runner.crash(culprits, error);
    await drained;
    await this.close();
  }

  /** Ends the engine, whatever is left. */
  async close(): Promise<void> {
    const { backend, held, loop, overdue, idle, runner, handOver, heartbeat, notifications } = this.#parts;
    if (held.size > 0) this.log.warn({ jobs: held.size }, "Leaving jobs behind: their leases will run out");
    this.#parts.definitions?.stop();
    loop.stop();
    overdue.stop();
    idle?.stop();
    handOver?.close();
    runner.stop();
    await Promise.all([heartbeat.stop(), notifications?.close(), this.#parts.sweeper?.stop()]);
    await backend.close?.();
  }
}

/** The parts that the engine itself uses. */
interface Parts {
  readonly backend: Backend;
  readonly log: WorkerLog;
  readonly meter: Meter;
  readonly held: HeldRuns;
  readonly signal: LoopSignal;
  readonly slots: Slots;
  readonly runner: Runner;
  readonly overdue: Overdue;
  readonly heartbeat: Heartbeat;
  readonly loop: Loop;
  readonly definitions: Definitions | undefined;
  /** A worker with an artifact store deletes what is no longer needed. */
  readonly sweeper: Sweeper | undefined;
  /** A worker that runs until it is stopped is idle at times. */
  readonly idle: Idle | undefined;
  /** Takes jobs from enqueues while the worker is idle. */
  readonly handOver: HandOver | undefined;
  readonly notifications: Notifications | undefined;
  /** A tick gives up on a database that fails. */
  readonly patience: Patience | undefined;
}

/** Creates the parts of a worker, each after those that it works with. */
function makeParts(connect: Connect, settings: Settings, mode: EngineMode): Parts {
  const { budget, handlesCrashes, onStopRequest } = mode;
  const { concurrency, batchSize, prefetch, middleware, abortGraceMs, pollMs, notifiedPollMs } = settings;
  const types = settings.handlers.map(
    (handler) => new HandledType(handler, settings.maxPerType[handler.definition.type], concurrency),
  );
  const reporting = makeReporting(settings);
  const { log, meter, report } = reporting;
  const { id, tenantId } = settings;
  const handled = settings.handlers.map(({ definition }) => definition);
  const backend = connect({ id, tenantId, definitions: handled, log });
  const outage = new Outage(log, reporting.hooks);
  const held = new HeldRuns();

  const signal = new LoopSignal(() => loop.turn());
  const settlements = new Settlements(held, report, log);
  const pace = new Pace(types);
  const slots = new Slots(concurrency, types);
  const demand = new Demand(slots, types, pace, { batchSize, prefetch });
  const work = { backend, signal, settlements, pace, slots, demand };
  const isTick = budget !== undefined;
  const runner = new Runner({
    ...work,
    reporting,
    held,
    middleware,
    abortGraceMs,
    offload: settings.offload,
    waitsForOverruns: !isTick,
    handlesCrashes,
  });
  const overdue = new Overdue(slots, runner);
  const policies = new Policies(backend.database, log, runner);
  const intake = new Intake({ types, reporting, runner, slots, pace, policies, overdue });

  const instance = randomUUID();
  const about = aboutWorker(instance, backend.types, concurrency);
  const everyMs = settings.heartbeatMs;
  const listens = !isTick && settings.listen && backend.listen !== undefined;
  const handOver =
    listens && settings.handOff && tenantId === undefined && backend.receive !== undefined
      ? new HandOver({ receive: backend.receive.bind(backend), types, held, intake, runner, meter, outage })
      : undefined;
  const heartbeat = new Heartbeat({
    ...{ backend, outage, held, meter, runner, handOver, everyMs, about },
    onStopRequest: onStopRequest ?? (() => undefined),
  });
  const patience = isTick ? new Patience(held) : undefined;
  const { clock } = backend;
  const idle = isTick ? undefined : new Idle({ heartbeat, clock, signal, pollMs, notifiedPollMs });
  const notifications =
    idle !== undefined && settings.listen
      ? new Notifications({ backend, outage, signal, idle, heartbeat, held, handOver, instance })
      : undefined;

  const lookAgain = isTick ? new LookAgain(signal) : undefined;
  const transport = backend.database?.transport;
  const definitions =
    settings.sync && transport !== undefined
      ? new Definitions({ transport, log, definitions: handled, appVersion: settings.appVersion })
      : undefined;

  const { artifacts } = backend;
  const sweeper = artifacts?.store === undefined ? undefined : new Sweeper(artifacts, log);
  const limits = { batchSize, budget: budget ?? Number.POSITIVE_INFINITY };
  const loop = new Loop({ ...work, meter, intake, runner, outage, idle, lookAgain, patience, ...limits });
  return {
    backend,
    log,
    meter,
    held,
    signal,
    slots,
    runner,
    overdue,
    heartbeat,
    loop,
    definitions,
    sweeper,
    idle,
    handOver,
    notifications,
    patience,
  };
}

/** What every heartbeat says about the worker. */
function aboutWorker(
  instance: string,
  types: readonly string[],
  concurrency: number,
): Readonly<Record<string, unknown>> {
  return { instance, types, concurrency, host: hostname(), pid: process.pid, version };
}
