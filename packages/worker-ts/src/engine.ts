/** Puts a worker's parts together: for a worker that goes on until it is stopped, or for one tick. */
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Transport } from "@jobforge/sdk-ts";
import { Demand } from "./claiming/demand.ts";
import { Kernel } from "./claiming/kernel.ts";
import { Loop } from "./claiming/loop.ts";
import { Pace } from "./claiming/pace.ts";
import type { Ask, ClaimedJob } from "./claiming/protocol.ts";
import { Settlements } from "./claiming/settlements.ts";
import { HandledType } from "./handled-type.ts";
import type { Settings } from "./options.ts";
import { DatabaseClock } from "./presence/clock.ts";
import { Heartbeat } from "./presence/heartbeat.ts";
import { Idle } from "./presence/idle.ts";
import { Ears } from "./presence/notifications.ts";
import { Outage } from "./presence/outage.ts";
import { Hooks } from "./reporting/hooks.ts";
import { defaultLogger, WorkerLog } from "./reporting/log.ts";
import { Meter, type WorkerMetrics } from "./reporting/meter.ts";
import { Report, type Tally } from "./reporting/report.ts";
import { findTracer } from "./reporting/trace.ts";
import { Overdue } from "./running/overdue.ts";
import { Policies } from "./running/policies.ts";
import { Run } from "./running/run.ts";
import { Runner } from "./running/runner.ts";
import { Slots } from "./running/slots.ts";
import { version } from "./version.ts";

/** How long a tick tries to settle what it has run while the database is in trouble. */
const TICK_PATIENCE_MS = 15_000;

export class Engine {
  readonly log: WorkerLog;
  readonly #settings: Settings;
  readonly #types: ReadonlyMap<string, HandledType>;
  readonly #clock = new DatabaseClock();
  readonly #kernel: Kernel;
  readonly #hooks: Hooks;
  readonly #outage: Outage;
  readonly #pace: Pace;
  readonly #meter = new Meter();
  readonly #report: Report;
  readonly #runner: Runner;
  readonly #slots: Slots;
  readonly #overdue: Overdue;
  readonly #policies: Policies;
  readonly #settlements: Settlements;
  readonly #loop: Loop;
  readonly #heartbeat: Heartbeat;
  readonly #idle: Idle;
  readonly #ears: Ears;
  #isDraining = false;
  #onTrouble: (error: unknown) => void = () => undefined;

  /** `budget` is how many jobs it claims at most. */
  constructor(transport: Transport, settings: Settings, budget: number = Number.POSITIVE_INFINITY) {
    this.#settings = settings;
    const { concurrency, id, maxPerType } = settings;
    this.log = new WorkerLog(settings.logger ?? defaultLogger(), id);
    const types = settings.handlers.map(
      (handler) => new HandledType(handler, maxPerType[handler.definition.type], concurrency),
    );
    this.#types = new Map(types.map((type) => [type.name, type]));
    this.#kernel = new Kernel(transport, this.#clock, {
      id,
      types: [...this.#types.keys()],
      tenantId: settings.tenantId,
    });
    this.#hooks = new Hooks(settings.hooks, this.log, id);
    this.#outage = new Outage(this.log);
    this.#pace = new Pace(types);
    this.#report = new Report(this.log, this.#hooks, this.#meter.runs);
    this.#settlements = new Settlements(
      {
        kept: (run, settled) => {
          this.#runner.letGo(run);
          this.#report.kept(run, settled);
        },
        dropped: (run) => {
          this.#runner.letGo(run);
          this.#report.stale(run);
        },
      },
      this.log,
    );
    this.#runner = this.#makeRunner();
    this.#slots = new Slots(concurrency, types, (type, runs) => this.#runner.start(type, runs));
    this.#overdue = new Overdue(this.#slots, (runs) => {
      this.#runner.noteLasting();
      for (const run of runs) this.#runner.handBack(run);
    });
    this.#policies = new Policies(this.#kernel, this.log, (type) => this.#runner.retime(type));
    this.#loop = this.#makeLoop(types, budget);
    this.#heartbeat = this.#makeHeartbeat();
    this.#idle = new Idle(this.#heartbeat, {
      pollMs: settings.pollMs,
      clock: this.#clock,
      look: () => this.#loop.wake(),
    });
    this.#ears = new Ears(transport, this.#outage, id, [...this.#types.keys()], {
      onWake: (time) => (time === undefined ? this.#loop.wake() : this.#idle.comesAt(time)),
      onCancel: () => void this.#heartbeat.beat(),
      onState: (isListening) => {
        this.#idle.isListening = isListening;
        // A cancel may have been missed meanwhile.
        if (isListening && this.#runner.held().length > 0) void this.#heartbeat.beat();
      },
    });
  }

  get tally(): Readonly<Tally> {
    return this.#report.tally;
  }

  /** What it has measured so far. */
  metrics(): WorkerMetrics {
    return this.#meter.read();
  }

  /** Handler calls under way. */
  get running(): number {
    return this.#slots.busy;
  }

  /** Works until `drain`. Comes back when the kernel knows the worker. */
  async start(): Promise<void> {
    if (this.#settings.listen) this.#ears.open();
    await this.#heartbeat.start();
    if (this.#isDraining) return;
    this.#loop.idle = this.#idle;
    this.#loop.open();
  }

  /** Works until nothing is due or the budget is spent. Fails when the database does, unless there is something to settle. */
  async runDue(): Promise<void> {
    this.#heartbeat.startLater();
    const trouble = new Promise<never>((_, reject) => {
      let since = Number.POSITIVE_INFINITY;
      this.#onTrouble = (error) => {
        since = Math.min(since, performance.now());
        if (this.#runner.held().length === 0 || performance.now() - since > TICK_PATIENCE_MS) reject(error);
      };
    });
    this.#loop.open();
    await Promise.race([this.#loop.quiet(), trouble]);
  }

  /** Claims nothing more, and hands back what has not started. Comes back when everything else has ended. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    this.#loop.stopClaiming();
    this.#idle.stop();
    for (const run of this.#slots.takeUnstarted()) this.#runner.handBack(run);
    this.#loop.schedule();
    await this.#loop.quiet();
  }

  /** Aborts the handlers that still run. */
  abort(graceMs: number): void {
    this.#runner.abortAll(graceMs);
  }

  /** Ends it, whatever is left. */
  async close(): Promise<void> {
    const left = this.#runner.held().length;
    if (left > 0) this.log.warn({ jobs: left }, "Leaving jobs behind: their leases will run out");
    this.#loop.stop();
    this.#overdue.stop();
    this.#idle.stop();
    this.#runner.stop();
    await Promise.all([this.#heartbeat.stop(), this.#ears.close()]);
  }

  #makeRunner(): Runner {
    return new Runner({
      kernel: this.#kernel,
      log: this.log,
      hooks: this.#hooks,
      report: this.#report,
      middleware: this.#settings.middleware,
      tracer: findTracer(),
      pace: this.#pace,
      abortGraceMs: this.#settings.abortGraceMs,
      ended: (run) => {
        this.#settlements.add(run);
        this.#loop.schedule();
      },
      freed: (type) => {
        this.#slots.release(type);
        this.#slots.fill();
        if (type.wasLeftOut) {
          type.wasLeftOut = false;
          this.#loop.mayHaveMore();
        }
        this.#loop.schedule();
      },
    });
  }

  #makeLoop(types: readonly HandledType[], budget: number): Loop {
    const { batchSize, prefetch } = this.#settings;
    return new Loop(
      {
        kernel: this.#kernel,
        slots: this.#slots,
        demand: new Demand(this.#slots, types, this.#pace, { batchSize, prefetch }),
        pace: this.#pace,
        meter: this.#meter,
        settlements: this.#settlements,
        outage: this.#outage,
        batchSize,
        onTrouble: (error) => this.#onTrouble(error),
        accept: (jobs, ask, isFull) => this.#accept(jobs, ask, isFull),
      },
      budget,
    );
  }

  #makeHeartbeat(): Heartbeat {
    return new Heartbeat(this.#kernel, this.#outage, {
      everyMs: this.#settings.heartbeatMs,
      about: {
        instance: randomUUID(),
        types: [...this.#types.keys()],
        concurrency: this.#settings.concurrency,
        host: hostname(),
        pid: process.pid,
        version,
      },
      held: () => this.#runner.held(),
      metrics: () => this.#meter.report(),
      answered: (answer) => {
        this.#meter.heardAt = new Date();
        this.#runner.heed(answer);
      },
    });
  }

  /** Takes claimed jobs in. */
  #accept(jobs: readonly ClaimedJob[], ask: Ask, isFull: boolean): void {
    const now = performance.now();
    const runs: Run[] = [];
    const ofType = new Map<HandledType, number>();
    for (const job of jobs) {
      const type = this.#types.get(job.type);
      if (type === undefined) continue;
      const run = new Run(job, type, now);
      this.#runner.hold(run);
      runs.push(run);
      ofType.set(type, (ofType.get(type) ?? 0) + 1);
    }
    this.#report.tally.claimed += runs.length;
    this.#hooks.claimed(runs);
    // The answer to a claim that was on its way when the shutdown began.
    if (this.#isDraining) for (const run of runs) this.#runner.handBack(run);
    else for (const run of runs) this.#slots.add(run);
    for (const type of ofType.keys()) {
      type.hasMore = type.batchSize > 1 && isFull && !ask.fill;
      this.#policies.refresh(type, now);
    }
    this.#pace.noteClaim(jobs.length, ofType);
    this.#overdue.watch();
  }
}
