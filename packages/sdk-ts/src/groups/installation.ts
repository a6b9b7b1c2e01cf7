/** The installation itself: its health and its maintenance. */
import { checkRange } from "../arguments/values.ts";
import { fromRow } from "../rows.ts";
import type { Transport } from "../transport/transport.ts";
import { bounds } from "../words.ts";

/** Facts about the installation, as jobforge_health returns them. */
export interface Health {
  readonly version: string;
  readonly minClient: string;
  readonly apiSchema: string;
  readonly timeTravel: boolean;
  readonly now: string;
  readonly grants: readonly {
    readonly object: string;
    readonly wanted: readonly string[];
    readonly granted: readonly string[];
  }[];
  readonly openTables: readonly string[];
  /** Objects in the API schema with names like JobForge's that belong to other roles. */
  readonly foreignObjects: readonly {
    readonly object: string;
    readonly kind: "function" | "relation";
    readonly owner: string;
  }[];
  /** Who may create objects in the API schema, other than its owner and superusers; `public` is every role. */
  readonly creators: readonly string[];
  readonly hot: {
    readonly live: number;
    readonly dead: number;
    readonly table_bytes: number;
    readonly index_bytes: number;
    readonly vacuumed_at: string | null;
    readonly autovacuum: boolean;
  };
  readonly leaves: readonly {
    readonly branch: string;
    readonly keep_days: number;
    readonly ahead_to: string;
  }[];
  readonly lacksShelf: boolean;
  readonly overdueLeaves: number;
  readonly maintainedAt: Readonly<Record<string, string>> | undefined;
  /** The maintenance tasks whose last run failed. */
  readonly failedTasks: Readonly<
    Record<string, { readonly failures: number; readonly failed_at: string; readonly error: string }>
  >;
  /** Roles that were renamed, created again or restored after they were bound. They are refused. */
  readonly staleBindings: readonly string[];
  /** How full the queue of notifications is, from 0 to 1. JobForge sends none from 0.5 on. */
  readonly notifyQueue: number;
  readonly outbox: number;
  /** Schedules that are due and of which no worker has made a job; at most 1,000 of a type. Without paused types. */
  readonly dueSchedules: { readonly count: number; readonly oldest_at: string | null };
  /** Types with runs that take far longer than usual. `usual_ms` is null if the type has run too seldom to know. */
  readonly longRuns: readonly {
    readonly type: string;
    readonly runs: number;
    readonly longest_ms: number;
    readonly usual_ms: number | null;
  }[];
}

export class Installation {
  readonly #transport: Transport;

  constructor(transport: Transport) {
    this.#transport = transport;
  }

  /** Facts about the installation, for monitoring. For operators and readers. */
  async health(): Promise<Health> {
    // `now` and `maintained_at` stay as they are in SQL: a text and an object, not Dates.
    return fromRow<Health>(await this.#transport.call<object>("jobforge_health", {}));
  }

  /**
   * Does a slice of maintenance. Workers do this by themselves; call it from a cron job where there may be no worker.
   * For workers and operators.
   */
  async maintain(limit: number = bounds.maintainLimit.default): Promise<void> {
    checkRange(limit, "limit", bounds.maintainLimit);
    await this.#transport.call("jobforge_maintain", { p_limit: limit });
  }
}
