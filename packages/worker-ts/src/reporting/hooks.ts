/** Hooks: callbacks of the application for what happens to runs. A hook that throws is logged and changes nothing. */
import { failureLine, type JobContext } from "@jobforge/sdk-ts";
import type { EndStatus, RunError } from "../claiming/protocol.ts";
import type { Run } from "../running/run.ts";
import type { WorkerLog } from "./log.ts";

/** The facts of a run, without its payload. */
export interface RunInfo
  extends Pick<JobContext, "id" | "type" | "tenantId" | "attempt" | "maxAttempts" | "traceId"> {
  readonly workerId: string;
}

export interface RunEnded extends RunInfo {
  readonly durationMs: number;
  /** The status of the job after this run. */
  readonly status: EndStatus;
}

export interface RunFailed extends RunEnded {
  /** What the handler threw, with its stack and its causes. */
  readonly error: RunError & {
    /** The message followed by the messages of the causes. */
    readonly fullMessage: string;
  };
}

export interface RunSuspended extends RunEnded {
  /** The name of the wait, such as `wait for paid` or `all#2`. */
  readonly wait: string;
}

export interface WorkerHooks {
  /** Jobs were claimed. They start within milliseconds. */
  readonly onClaim?: (jobs: readonly RunInfo[]) => unknown;
  /** A handler is about to be called. */
  readonly onStart?: (job: RunInfo) => unknown;
  /** A run succeeded, and the database has confirmed it. */
  readonly onSuccess?: (job: RunEnded) => unknown;
  /** A run failed, and the database has confirmed it. `status` is `queued` if the job will be retried. */
  readonly onFailure?: (job: RunFailed) => unknown;
  /** Called after `onFailure`, when that was the job's last attempt. */
  readonly onDead?: (job: RunFailed) => unknown;
  /** A handler with durable steps waits, and the database has confirmed it: the job goes on in another run. */
  readonly onSuspend?: (job: RunSuspended) => unknown;
  /** The lease was lost, or the database refused the run's end. The result was dropped. */
  readonly onStale?: (job: RunInfo) => unknown;
  /**
   * A call to the database failed. The worker retries until it succeeds. Called once, when the trouble begins.
   */
  readonly onTrouble?: (error: unknown, trouble: Trouble) => unknown;
  /** Everything works again. */
  readonly onTroubleOver?: (trouble: { readonly workerId: string; readonly durationMs: number }) => unknown;
}

/** Trouble with the database. */
export interface Trouble {
  readonly workerId: string;
  /** What failed: settling and claiming, claiming alone, a heartbeat, or listening for notifications. */
  readonly activity: "work" | "claim" | "heartbeat" | "listen";
  /** The SQLSTATE, if the database reported one. */
  readonly code: string | undefined;
}

export type HookName = keyof WorkerHooks;

/** Calls the hooks. Whatever they throw is logged. */
export class Hooks {
  readonly #hooks: WorkerHooks;
  readonly #log: WorkerLog;
  readonly #workerId: string;

  constructor(hooks: WorkerHooks, log: WorkerLog, workerId: string) {
    this.#hooks = hooks;
    this.#log = log;
    this.#workerId = workerId;
  }

  has(name: HookName): boolean {
    return this.#hooks[name] !== undefined;
  }

  claimed(runs: readonly Run[]): void {
    if (this.has("onClaim"))
      this.#call("onClaim", (hooks) => hooks.onClaim?.(runs.map((run) => this.#info(run))));
  }

  started(run: Run): void {
    if (this.has("onStart")) this.#call("onStart", (hooks) => hooks.onStart?.(this.#info(run)));
  }

  succeeded(run: Run, status: EndStatus): void {
    if (!this.has("onSuccess")) return;
    this.#call("onSuccess", (hooks) =>
      hooks.onSuccess?.({ ...this.#info(run), durationMs: run.durationMs, status }),
    );
  }

  failed(run: Run, status: EndStatus): void {
    if (!this.has("onFailure") && !this.has("onDead")) return;
    const error = run.end?.error ?? { name: "Error", message: "" };
    const failed = {
      ...this.#info(run),
      durationMs: run.durationMs,
      status,
      error: { ...error, fullMessage: failureLine(error) },
    };
    this.#call("onFailure", (hooks) => hooks.onFailure?.(failed));
    if (status === "dead") this.#call("onDead", (hooks) => hooks.onDead?.(failed));
  }

  suspended(run: Run, status: EndStatus): void {
    if (!this.has("onSuspend")) return;
    const wait = String(run.end?.wait?.["name"] ?? "");
    this.#call("onSuspend", (hooks) =>
      hooks.onSuspend?.({ ...this.#info(run), durationMs: run.durationMs, status, wait }),
    );
  }

  stale(run: Run): void {
    if (this.has("onStale")) this.#call("onStale", (hooks) => hooks.onStale?.(this.#info(run)));
  }

  trouble(error: unknown, trouble: Omit<Trouble, "workerId">): void {
    this.#call("onTrouble", (hooks) => hooks.onTrouble?.(error, { workerId: this.#workerId, ...trouble }));
  }

  troubleOver(durationMs: number): void {
    this.#call("onTroubleOver", (hooks) => hooks.onTroubleOver?.({ workerId: this.#workerId, durationMs }));
  }

  #call(name: HookName, call: (hooks: WorkerHooks) => unknown): void {
    const report = (error: unknown): void =>
      this.#log.error({ hook: name, err: error }, `The hook ${name} failed; the job is not affected`);
    try {
      Promise.resolve(call(this.#hooks)).catch(report);
    } catch (error) {
      report(error);
    }
  }

  #info({ job }: Run): RunInfo {
    return {
      id: job.id,
      type: job.type,
      tenantId: job.tenant_id,
      attempt: job.attempts,
      maxAttempts: job.max_attempts,
      traceId: job.trace_id,
      workerId: this.#workerId,
    };
  }
}
