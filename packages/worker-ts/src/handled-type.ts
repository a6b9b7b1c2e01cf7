/** A type that the worker handles: its handler, its cap, and what its policy adds. */
import type { JobHandler, KeepLogs } from "@jobforge/sdk-ts";
import { defaultTimeoutMs } from "./defaults.ts";
import { Redactor } from "./reporting/redact.ts";

/** What the database's policy for a type says to a worker. */
export interface TypePolicy {
  readonly timeout_ms: number | null;
  readonly redact?: readonly string[] | null;
  readonly keep_logs?: KeepLogs | null;
}

export class HandledType {
  readonly name: string;
  readonly handler: JobHandler;
  /** The number of jobs in one handler call, at most. */
  readonly batchSize: number;
  /** The number of handler calls at the same time, at most. */
  readonly cap: number;
  /** Whether the cap is lower than the worker's concurrency. */
  readonly isCapped: boolean;
  #policyTimeoutMs: number | undefined;
  #redactor: Redactor;
  #keepLogs: KeepLogs | undefined;

  constructor(handler: JobHandler, cap: number | undefined, concurrency: number) {
    this.name = handler.definition.type;
    this.handler = handler;
    this.batchSize = handler.batchSize;
    this.cap = Math.min(cap ?? concurrency, concurrency);
    this.isCapped = this.cap < concurrency;
    this.#redactor = new Redactor(handler.definition.redact);
  }

  /**
   * The shorter of the definition's and the policy's timeout. After the policy's, the database gives the job away. If
   * neither has one, it is an hour, unless the definition says null.
   */
  get timeoutMs(): number | undefined {
    const own = this.handler.definition.timeoutMs;
    if (this.#policyTimeoutMs === undefined) return own === null ? undefined : (own ?? defaultTimeoutMs);
    return Math.min(own ?? this.#policyTimeoutMs, this.#policyTimeoutMs);
  }

  /** Whether neither the definition nor the policy says how long a run may take. */
  get hasDefaultTimeout(): boolean {
    return this.handler.definition.timeoutMs === undefined && this.#policyTimeoutMs === undefined;
  }

  /** Masks the keys that the definition lists, and those of the policy once it is known. */
  get redactor(): Redactor {
    return this.#redactor;
  }

  /** The runs whose logs are kept; undefined until the policy is known. */
  get keepLogs(): KeepLogs | undefined {
    return this.#keepLogs;
  }

  /** Applies the type's policy. Returns whether the timeout has changed. */
  apply(policy: TypePolicy): boolean {
    const before = this.timeoutMs;
    this.#policyTimeoutMs = policy.timeout_ms ?? undefined;
    this.#redactor = new Redactor([...(this.handler.definition.redact ?? []), ...(policy.redact ?? [])]);
    this.#keepLogs = policy.keep_logs ?? "off";
    return this.timeoutMs !== before;
  }
}

/** State that a part of the worker keeps for each handled type. */
export class PerType<State> {
  readonly #states: ReadonlyMap<HandledType, State>;

  constructor(types: readonly HandledType[], makeState: () => State) {
    this.#states = new Map(types.map((type) => [type, makeState()]));
  }

  of(type: HandledType): State {
    const state = this.#states.get(type);
    if (state === undefined) throw new Error(`The worker has no handler for the type "${type.name}"`);
    return state;
  }
}
