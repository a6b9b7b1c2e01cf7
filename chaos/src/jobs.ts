/** The work of a run: types, tenants, limits and schedules, chosen so that every promise has something to be broken by. */
import { defineJob, typed } from "@jobforge/sdk-ts";

/** What an execution does: its number picks the step, the last one stays. */
export type Step = "succeed" | "fail" | "defer" | "refuse" | "progress";

export interface Work {
  /** The application's row that was committed together with the job. */
  readonly order?: string;
  readonly plan?: readonly Step[];
  /** How long an execution takes. */
  readonly ms?: number;
  /** How many children a success has. */
  readonly children?: number;
  readonly parent?: string;
  readonly n?: number;
}

const input = typed<Work>();

/** Leases run out after this time, so that minutes hold many losses. Workers beat five times as often. */
export const LEASE_MS = 5_000;
export const HEARTBEAT_MS = 1_000;

export const plain = defineJob({ type: "chaos.plain", input });
/** Jobs with a concurrency key, of which one runs at a time. */
export const serial = defineJob({ type: "chaos.serial", input });
/** At most so many at once, whoever runs them. */
export const limited = defineJob({ type: "chaos.limited", input });
/** Writes its effect in the transaction that ends it. */
export const effect = defineJob({ type: "chaos.effect", input });
export const parent = defineJob({ type: "chaos.parent", input });
export const child = defineJob({ type: "chaos.child", input });
/** Runs of schedules. */
export const beat = defineJob({ type: "chaos.beat", input });
/** Enqueued with a key again and again until somebody says that it is there. */
export const keyed = defineJob({ type: "chaos.keyed", input });

export const definitions = [plain, serial, limited, effect, parent, child, beat, keyed];

/** Asks one worker whether it works. */
export const probeOf = (worker: string) => defineJob({ type: `chaos.probe.${worker}`, input });

export const AUDITED = "CHAOS_DONE";
export const LIMITED_AT_ONCE = 3;
export const TENANT_AT_ONCE = 6;

export const tenants: readonly string[] = [1, 2, 3, 4].map((n) => `0000000${n}-0000-4000-8000-000000000000`);
/** The tenant that has a limit. */
export const limitedTenant = tenants[0] ?? "";

/** Schedules by key. `all` has every due time; the others may leave some out, and none may come twice. */
export const schedules: Readonly<Record<string, object>> = {
  all: { every: "1s", overlap: "allow", missed: "all", missed_limit: 100 },
  once: { every: "2s", missed: "once" },
  queued: { every: "3s", overlap: "queue", missed: "skip" },
  cron: { cron: "*/5 * * * * *", retry_runs: true },
};
