/** The work of a run: types, tenants, limits and schedules, chosen so that every promise is exercised. */
import { defineJob, defineWorkflow, run, typed } from "@jobforge/sdk-ts";

/**
 * What an execution does. The n-th execution of a job does the n-th step of its plan; later ones repeat the last step.
 */
export type Step = "succeed" | "fail" | "defer" | "refuse" | "progress";

export interface Work {
  /** The id of the application's row that was committed together with the job. */
  readonly order?: string;
  readonly plan?: readonly Step[];
  /** How long an execution takes. */
  readonly ms?: number;
  /** The number of children that the job enqueues when it succeeds. */
  readonly children?: number;
  readonly parent?: string;
  readonly n?: number;
}

const input = typed<Work>();

/** A short lease, so that many leases are lost within minutes. */
export const leaseMs = 5_000;
/** Workers send five heartbeats per lease. */
export const heartbeatMs = 1_000;

export const plain = defineJob({ type: "chaos.plain", input });
/** Jobs with a concurrency key. Only one job of a key runs at a time. */
export const serial = defineJob({ type: "chaos.serial", input });
/** Jobs of a type with a limit, `maxOfLimitedType`. */
export const limited = defineJob({ type: "chaos.limited", input });
/** Writes its effect in the transaction that settles its run. */
export const effect = defineJob({ type: "chaos.effect", input });
export const parent = defineJob({ type: "chaos.parent", input });
export const child = defineJob({ type: "chaos.child", input });
/** Runs of schedules. */
export const beat = defineJob({ type: "chaos.beat", input });
/** Enqueued with an idempotency key repeatedly, until an enqueue is acknowledged. */
export const keyed = defineJob({ type: "chaos.keyed", input });

/** Steps of `flow`: items of a map, the join that counts them, and a handler that suspends itself. */
export const flowItem = defineJob({ type: "chaos.flow.item", input });
export const flowSum = defineJob({
  type: "chaos.flow.sum",
  input: typed<object>(),
  output: typed<{ good: number }>(),
});
export const flowSaga = defineJob({
  type: "chaos.flow.saga",
  input: typed<object>(),
  output: typed<{ notes: number; parts: number }>(),
});

/** The last step runs whatever became of the others, so every promise about the order of steps is exercised. */
export const flow = defineWorkflow({
  name: "chaos.flow",
  input: typed<{ items: Work[] }>(),
  steps: (w, { items: list }) => {
    const saga = w.step("saga", flowSaga, {});
    const items = w.map("items", flowItem, list, undefined, { optional: true });
    const sum = w.step("sum", flowSum, {}, { needs: [run(items)] });
    return w.step("last", flowItem, { ms: 1 }, { needs: [run(sum), run(saga)] });
  },
});

/** What a saga waits for before it goes on: a signal, or this time. */
export const sagaSignal = "go";
export const sagaTimeoutMs = 4_000;
export const sagaParts = 3;

export const definitions = [
  plain,
  serial,
  limited,
  effect,
  parent,
  child,
  beat,
  keyed,
  flowItem,
  flowSum,
  flowSaga,
];

/** A job that only one worker can run, to check that this worker is working. */
export const probeOf = (worker: string) => defineJob({ type: `chaos.probe.${worker}`, input });

export const auditedAction = "CHAOS_DONE";
export const maxOfLimitedType = 3;
export const maxOfLimitedTenant = 6;

export const tenants: readonly string[] = [1, 2, 3, 4].map((n) => `0000000${n}-0000-4000-8000-000000000000`);
/** The tenant that has a limit. */
export const limitedTenant = tenants[0] ?? "";

/**
 * Schedules by key. `all` must fire for every due time; the others may skip some. None may fire twice for a due time.
 */
export const schedules: Readonly<Record<string, object>> = {
  all: { every: "1s", overlap: "allow", missed: "all", missed_limit: 100 },
  once: { every: "2s", missed: "once" },
  queued: { every: "3s", overlap: "queue", missed: "skip" },
  cron: { cron: "*/5 * * * * *", retry_runs: true },
};
