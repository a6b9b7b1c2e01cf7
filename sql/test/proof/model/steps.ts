/**
 * The steps of a scenario, as plain data, and how to draw them. A step refers to jobs, runs and workers by numbers
 * modulo the number of existing ones, so that a scenario stays meaningful when steps are left out.
 */
import * as fc from "fast-check";

export const typeNames = ["a", "b", "c"] as const;
/** Workers 0 to 2 work for all tenants, worker 3 only for the first tenant. */
export const workerCount = 4;
export const boundWorker = 3;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/**
 * How a step is made: directly, or in a transaction that stays open. The transaction begins with the first such step.
 */
export type Via = "direct" | "application" | "handler";

/** A job to enqueue, with times relative to now. */
export interface DrawnJob {
  readonly type: number;
  readonly priority: number;
  readonly runIn: number | null;
  readonly maxAttempts: number | null;
  readonly key: number | null;
  readonly dedupe: number | null;
  readonly mode: "skip" | "replace" | "debounce";
  readonly tags: number;
  readonly subject: number | null;
  /** The expiry after the later of now and run_at. Zero is too early, so the job is refused. */
  readonly expiresIn: number | null;
  readonly isLarge: boolean;
}

/** An existing job: the n-th of those in a state if there are any, otherwise of all. */
export interface JobReference {
  readonly pick: number;
  readonly of: "queued" | "running" | "finished" | "any";
}

/** A run that the worker believes to hold, or one that a worker held earlier. */
export interface DrawnRun {
  readonly pick: number;
  readonly isPast: boolean;
}

export interface DrawnEnd {
  readonly status: "succeeded" | "failed" | "deferred" | "released";
  readonly message: boolean;
  readonly retry: boolean;
  readonly in: number | null;
  readonly counts: boolean;
  readonly cost: number | null;
  readonly result: number | null;
  readonly reference: boolean;
  readonly children: readonly DrawnJob[];
}

export interface DrawnFilter {
  readonly statuses: number | null;
  readonly types: number | null;
  readonly tags: number | null;
  readonly subject: number | null;
  readonly error: boolean;
}

export interface DrawnPolicy {
  readonly preset: "jobforge" | "harmonyk" | "atlas" | "processing" | null;
  readonly values: Readonly<Record<string, number | string | boolean | null>>;
  readonly retention: number | undefined;
}

interface Kinds {
  enqueue: { via: Via; tenant: number; byTenant: boolean; job: DrawnJob };
  enqueueMany: { via: Via; tenant: number; byTenant: boolean; jobs: readonly DrawnJob[] };
  claim: {
    worker: number;
    limit: number;
    types: number | null;
    tenant: number | null;
    answer: "kept" | "lost" | "rolled back";
  };
  settle: {
    worker: number;
    ends: readonly { run: DrawnRun; end: DrawnEnd }[];
    claim: number;
    types: number | null;
    tenant: number | null;
    isHinted: boolean;
    isLost: boolean;
    isInTransaction: boolean;
  };
  retrySettle: { worker: number };
  complete: { worker: number; run: DrawnRun; end: DrawnEnd; hasAttempt: boolean; isInTransaction: boolean };
  defer: { worker: number; run: DrawnRun; in: number; counts: boolean; hasAttempt: boolean };
  beat: { worker: number; run: DrawnRun; hasAttempt: boolean; progress: number | null };
  beatWorker: { worker: number; held: "all" | "none" | "unsaid"; types: number | null };
  crash: { worker: number };
  cancel: { via: Via; byTenant: boolean; job: JobReference };
  cancelMany: { via: Via; byTenant: boolean; tenant: number; filter: DrawnFilter; limit: number };
  reschedule: {
    via: Via;
    byTenant: boolean;
    job: JobReference;
    runIn: number | null;
    maxAttempts: number | null;
  };
  rescheduleMany: { via: Via; byTenant: boolean; tenant: number; filter: DrawnFilter; limit: number };
  update: {
    via: Via;
    byTenant: boolean;
    job: JobReference;
    payload: boolean | null;
    priority: number | null;
    tags: number | null;
    runIn: number | "now" | null;
  };
  gate: { scope: "all" | "type" | "tenant"; key: number; isPaused: boolean; until: number | null };
  policy: { type: number | null; policy: DrawnPolicy };
  maintain: Record<never, never>;
  travel: { by: number; isMaintained: boolean };
  savepoint: { via: Exclude<Via, "direct">; how: "set" | "release" | "back" };
  finish: { via: Exclude<Via, "direct">; how: "commit" | "rollback" };
  trespass: { what: "enqueue" | "cancel" | "get" | "list" | "claim" | "settle"; pick: number };
  read: { byTenant: boolean; tenant: number; filter: DrawnFilter; limit: number; job: JobReference };
}

export type Kind = keyof Kinds;
export type StepOf<K extends Kind> = { readonly kind: K } & Readonly<Kinds[K]>;
export type Step = { [K in Kind]: StepOf<K> }[Kind];

/** A value, or null with `nulls` times the weight. Null is simpler. */
const nullable = <Value>(value: fc.Arbitrary<Value>, nulls = 2): fc.Arbitrary<Value | null> =>
  fc.oneof(
    { withCrossShrink: true },
    { arbitrary: fc.constant(null), weight: nulls },
    { arbitrary: value, weight: 1 },
  );
const pick = fc.nat({ max: 11 });
const tenant = fc.nat({ max: 2 });
const worker = fc.nat({ max: workerCount - 1 });
/** Bits that select some of three values. */
const some = fc.integer({ min: 1, max: 7 });
/** Mostly direct, so that other sessions see most changes. */
const via = fc.constantFrom<Via>(
  "direct",
  "direct",
  "direct",
  "direct",
  "application",
  "application",
  "handler",
);
const open = fc.constantFrom<Exclude<Via, "direct">>("application", "handler");
const rarely = fc.constantFrom(false, false, false, true);
const mostly = fc.constantFrom(true, true, true, false);
const ahead = fc.constantFrom(0, 500, 3 * second, 40 * second, 3 * minute, 2 * hour);

const job: fc.Arbitrary<DrawnJob> = fc.record({
  type: fc.nat({ max: typeNames.length - 1 }),
  priority: fc.constantFrom(0, 0, 0, 0, 0, 5, -3, 9),
  runIn: nullable(fc.oneof(ahead, fc.constantFrom(-1, -30 * second)), 3),
  maxAttempts: nullable(fc.constantFrom(1, 2, 3, 4, 8), 2),
  key: nullable(fc.nat({ max: 2 }), 3),
  dedupe: nullable(fc.nat({ max: 2 }), 3),
  mode: fc.constantFrom("skip", "replace", "debounce"),
  tags: fc.nat({ max: 7 }),
  subject: nullable(fc.nat({ max: 2 })),
  expiresIn: nullable(fc.constantFrom(20 * second, 2 * minute, day, 20 * second, 2 * minute, day, 0), 7),
  isLarge: fc.constantFrom(false, false, false, false, true),
});

const anyJob: fc.Arbitrary<JobReference> = fc.record({
  pick,
  of: fc.constantFrom("queued", "running", "finished", "any"),
});
const run: fc.Arbitrary<DrawnRun> = fc.record({
  pick,
  isPast: fc.constantFrom(false, false, false, false, false, true),
});

const end: fc.Arbitrary<DrawnEnd> = fc.record({
  status: fc.constantFrom("succeeded", "failed", "failed", "deferred", "released"),
  message: fc.boolean(),
  retry: mostly,
  in: nullable(ahead),
  counts: mostly,
  cost: nullable(fc.nat({ max: 9 })),
  result: nullable(fc.nat({ max: 9 })),
  reference: rarely,
  children: fc.oneof(
    { arbitrary: fc.constant([]), weight: 3 },
    { arbitrary: fc.array(job, { minLength: 1, maxLength: 3 }), weight: 1 },
  ),
});

const filter: fc.Arbitrary<DrawnFilter> = fc.record({
  statuses: nullable(fc.integer({ min: 1, max: 63 })),
  types: nullable(some),
  tags: nullable(some, 4),
  subject: nullable(fc.nat({ max: 2 }), 4),
  error: fc.constantFrom(false, false, false, false, true),
});

const policy: fc.Arbitrary<DrawnPolicy> = fc.record({
  preset: nullable(fc.constantFrom("jobforge", "harmonyk", "atlas", "processing")),
  values: fc.record(
    {
      base_ms: fc.constantFrom(0, 500, 5000),
      cap_ms: nullable(fc.constantFrom(4000, 700), 3),
      factor: fc.constantFrom(1, 3, 1.5),
      max_attempts: fc.constantFrom(1, 2, 4),
      timeout_ms: nullable(fc.constantFrom(30 * second, 1), 2),
      lease_ms: nullable(fc.constantFrom(20 * second, hour), 2),
      audit_action: nullable(fc.constantFrom("EMAIL_SENT", "DONE"), 2),
      keep_history: mostly,
      max_priority: nullable(fc.constantFrom(3, -1), 2),
    },
    { requiredKeys: [] },
  ),
  // A new retention needs new partitions, so it is rare.
  retention: fc.constantFrom(undefined, undefined, undefined, undefined, undefined, undefined, 1, 2),
});

const caller = { via, byTenant: fc.boolean() };
const limit = fc.constantFrom(1000, 1, 2, 4);

/** How often each kind occurs, and how it is drawn. */
const kinds: {
  [K in Kind]: readonly [weight: number, fields: { [F in keyof Kinds[K]]: fc.Arbitrary<Kinds[K][F]> }];
} = {
  enqueue: [10, { ...caller, tenant, job }],
  enqueueMany: [5, { ...caller, tenant, jobs: fc.array(job, { minLength: 1, maxLength: 8 }) }],
  claim: [
    8,
    {
      worker,
      limit: fc.integer({ min: 1, max: 8 }),
      types: nullable(some, 3),
      tenant: nullable(tenant, 7),
      answer: fc.constantFrom("kept", "kept", "kept", "kept", "lost", "rolled back"),
    },
  ],
  settle: [
    12,
    {
      worker,
      ends: fc.array(fc.record({ run, end }), { maxLength: 4 }),
      claim: fc.nat({ max: 8 }),
      types: nullable(some, 3),
      tenant: nullable(tenant, 7),
      isHinted: mostly,
      isLost: rarely,
      isInTransaction: rarely,
    },
  ],
  retrySettle: [3, { worker }],
  complete: [6, { worker, run, end, hasAttempt: mostly, isInTransaction: rarely }],
  defer: [2, { worker, run, in: ahead, counts: mostly, hasAttempt: mostly }],
  beat: [3, { worker, run, hasAttempt: mostly, progress: nullable(fc.nat({ max: 9 })) }],
  beatWorker: [6, { worker, held: fc.constantFrom("all", "all", "none", "unsaid"), types: nullable(some) }],
  crash: [2, { worker }],
  cancel: [4, { ...caller, job: anyJob }],
  cancelMany: [2, { ...caller, tenant, filter, limit }],
  reschedule: [
    5,
    { ...caller, job: anyJob, runIn: nullable(ahead), maxAttempts: nullable(fc.constantFrom(1, 2, 6)) },
  ],
  rescheduleMany: [2, { ...caller, tenant, filter, limit }],
  update: [
    3,
    {
      ...caller,
      job: anyJob,
      payload: nullable(fc.boolean()),
      priority: nullable(fc.constantFrom(0, 4, 9)),
      tags: nullable(fc.nat({ max: 7 })),
      runIn: nullable(fc.oneof(fc.constant("now" as const), ahead)),
    },
  ],
  gate: [
    3,
    {
      scope: fc.constantFrom("type", "tenant", "type", "tenant", "all"),
      key: fc.nat({ max: 2 }),
      isPaused: fc.boolean(),
      until: nullable(fc.constantFrom(5 * second, 10 * second, 10 * minute), 1),
    },
  ],
  policy: [2, { type: nullable(fc.nat({ max: typeNames.length - 1 }), 1), policy }],
  maintain: [2, {}],
  travel: [
    9,
    {
      by: fc.oneof(
        { arbitrary: fc.constantFrom(200, 1100, 2 * second, 5100, 11 * second, 35 * second), weight: 12 },
        { arbitrary: fc.constantFrom(61 * second, 5 * minute + 100, hour), weight: 8 },
        // Each of these creates new leaves of the archive, which is slow.
        { arbitrary: fc.constantFrom(day + minute, 3 * day, 40 * day), weight: 1 },
      ),
      isMaintained: rarely,
    },
  ],
  savepoint: [2, { via: open, how: fc.constantFrom("set", "set", "release", "back", "back") }],
  finish: [4, { via: open, how: fc.constantFrom("commit", "commit", "rollback") }],
  trespass: [1, { what: fc.constantFrom("enqueue", "cancel", "get", "list", "claim", "settle"), pick }],
  read: [3, { byTenant: fc.boolean(), tenant, filter, limit: fc.constantFrom(50, 1, 3, 8), job: anyJob }],
};

/** How to draw one kind of step, and how often it occurs in an even mixture. */
export interface Drawing {
  readonly kind: Kind;
  readonly weight: number;
  readonly step: fc.Arbitrary<Step>;
}

export const drawings: readonly Drawing[] = (Object.keys(kinds) as Kind[]).map((kind) => {
  const [weight, fields] = kinds[kind];
  return { kind, weight, step: fc.record({ kind: fc.constant(kind), ...fields }) as fc.Arbitrary<Step> };
});
