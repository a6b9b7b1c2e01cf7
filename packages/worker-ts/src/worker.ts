/** A worker claims, runs and settles the jobs of its types, until it is stopped. */
import { ArtifactStoreRequiredError, type Artifacts, type Transport } from "@jobforge/sdk-ts";
import type { Connect } from "./backend.ts";
import { Kernel } from "./claiming/kernel.ts";
import { defaultTickLimit, maxGraceMs } from "./defaults.ts";
import { Engine, type EngineMode } from "./engine.ts";
import { requireTickArgument, requireTickLimit, requireTransport, requireWhole } from "./option-checks.ts";
import { type Settings, settingsOf, type WorkerOptions } from "./options.ts";
import { guardProcess, leaveProcess } from "./presence/crash.ts";
import { runUntilSignal, shutDown } from "./presence/shutdown.ts";
import { Meter, type WorkerMetrics } from "./reporting/meter.ts";

/** The result of a tick: how many jobs were run, and how their runs ended. */
export interface TickSummary {
  readonly claimed: number;
  readonly succeeded: number;
  /** Runs that failed and whose jobs will be retried, or whose schedules continue. */
  readonly retried: number;
  /** Runs that failed and whose jobs will not be retried: these are failed or dead. */
  readonly failed: number;
  readonly deferred: number;
  readonly released: number;
  readonly canceled: number;
  /** Runs whose lease was lost. */
  readonly stale: number;
}

export interface StopOptions {
  /** How long to wait for running handlers before they are aborted. Default: the worker's `graceMs`. */
  readonly graceMs?: number | undefined;
}

export interface Worker extends AsyncDisposable {
  readonly id: string;
  /** The number of handler calls in progress. */
  readonly running: number;
  /** Whether the worker works: from `start()`, `run()` or `tick()` until it has stopped. */
  readonly isRunning: boolean;
  /** What the worker has measured since it was last started. Heartbeats carry the same numbers. */
  metrics(): WorkerMetrics;
  /** Starts to work. Resolves when the database knows the worker; while the database is down, it keeps trying. */
  start(): Promise<void>;
  /** Claims nothing more, hands back jobs that have not started, lets handlers finish, and settles their ends. */
  stop(options?: StopOptions): Promise<void>;
  /**
   * Works until SIGTERM or SIGINT, then stops as `stop` does. A second signal aborts the handlers. Also resolves when
   * the program calls `stop()`.
   */
  run(): Promise<void>;
  /** Runs up to `limit` jobs that are due now (default 100). Resolves when they have ended. For cron and serverless. */
  tick(options?: { readonly limit?: number | undefined }): Promise<TickSummary>;
}

/** What a worker needs of a `JobForge`. */
export interface WorkerClient {
  readonly transport: Transport;
  /** Has the artifact store, if there is one. */
  readonly artifacts?: Artifacts | undefined;
}

/** Creates a worker on a `JobForge`, or on any other object with a transport. It does nothing until it is started. */
export function createWorker(forge: WorkerClient, options: WorkerOptions): Worker {
  const { transport: given, artifacts } = (forge ?? {}) as Partial<WorkerClient>;
  const transport = requireTransport(given);
  if (options?.offload === true && artifacts?.store === undefined)
    throw new ArtifactStoreRequiredError("offload needs an artifact store");
  return createWorkerOn((worker) => new Kernel(transport, worker, artifacts), options);
}

/** Creates a worker on any backend. */
export function createWorkerOn(connect: Connect, options: WorkerOptions): Worker {
  return new JobWorker(connect, settingsOf(options));
}

class JobWorker implements Worker {
  readonly #connect: Connect;
  readonly #settings: Settings;
  #engine: Engine | undefined;
  /** Kept after it has ended, because its metrics can still be read. */
  #lastEngine: Engine | undefined;
  #stopping: Promise<void> | undefined;
  /** Resolves when the last `start()` has been stopped. */
  #ended: Promise<void> = Promise.resolve();
  #onEnd: () => void = () => undefined;
  /** Whether a tick has compared the policies with the definitions. */
  #hasSynced = false;
  readonly #hurry = { now: (): void => undefined };

  constructor(connect: Connect, settings: Settings) {
    this.#connect = connect;
    this.#settings = settings;
  }

  get id(): string {
    return this.#settings.id;
  }

  get running(): number {
    return this.#engine?.running ?? 0;
  }

  get isRunning(): boolean {
    return this.#engine !== undefined;
  }

  metrics(): WorkerMetrics {
    return this.#lastEngine?.metrics() ?? new Meter().read();
  }

  async start(): Promise<void> {
    await this.#start(this.#settings.handleCrashes ?? false);
  }

  async #start(handlesCrashes: boolean): Promise<void> {
    const onStopRequest = (): void => {
      if (this.#stopping !== undefined) return;
      engine.log.info({}, "An operator has asked the worker to stop");
      void this.stop();
    };
    const engine = this.#begin({ handlesCrashes, onStopRequest });
    engine.log.info(
      { types: this.#settings.handlers.map(({ definition }) => definition.type) },
      "Worker started",
    );
    await engine.start();
  }

  async stop(options: StopOptions = {}): Promise<void> {
    const engine = this.#engine;
    if (engine === undefined) return;
    const graceMs = requireWhole("graceMs", options.graceMs ?? this.#settings.graceMs, 0, maxGraceMs);
    this.#stopping ??= this.#end(engine, graceMs);
    await this.#stopping;
  }

  async run(): Promise<void> {
    await runUntilSignal(
      () => this.#start(this.#settings.handleCrashes ?? true),
      () => this.stop(),
      () => this.#hurry.now(),
      () => this.#ended,
    );
  }

  async tick(options: { readonly limit?: number | undefined } = {}): Promise<TickSummary> {
    requireTickArgument(options);
    const limit = requireTickLimit(options.limit ?? defaultTickLimit);
    const engine = this.#begin({ budget: limit, handlesCrashes: this.#settings.handleCrashes ?? false });
    try {
      // Once is enough for a process that ticks again and again.
      if (!this.#hasSynced) await engine.syncDefinitions();
      this.#hasSynced = true;
      await engine.runDue();
      return { ...engine.tally };
    } finally {
      await engine.close();
      this.#forget(engine);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #begin(mode: EngineMode): Engine {
    if (this.#engine !== undefined) throw new Error(`Worker ${this.id} is already running`);
    this.#engine = new Engine(this.#connect, this.#settings, mode);
    if (mode.handlesCrashes) guardProcess(this.#engine);
    this.#lastEngine = this.#engine;
    this.#ended = new Promise((resolve) => {
      this.#onEnd = resolve;
    });
    return this.#engine;
  }

  #forget(engine: Engine): void {
    leaveProcess(engine);
    this.#engine = undefined;
  }

  async #end(engine: Engine, graceMs: number): Promise<void> {
    const hurried = new Promise<void>((resolve) => {
      this.#hurry.now = resolve;
    });
    try {
      await shutDown(engine, { graceMs, abortGraceMs: this.#settings.abortGraceMs, hurried });
    } finally {
      this.#forget(engine);
      this.#stopping = undefined;
      this.#onEnd();
    }
  }
}
