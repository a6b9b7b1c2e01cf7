/** The model of enqueueing: validation, idempotency and dedupe keys, and children that wait for a held key. */
import { isLive, type Job, keyOf, type Model, Refusal, type Spec, Waits } from "./state.ts";

export interface Enqueued {
  readonly name: string;
  readonly outcome: "created" | "existing" | "replaced";
}

/** Enqueues one job. */
export function enqueue(model: Model, tenant: string, spec: Spec): Enqueued {
  requireValid(model, spec);
  return admit(model, tenant, spec);
}

/** Enqueues a list, all or none, as if one after the other. */
export function enqueueAll(model: Model, tenant: string, specs: readonly Spec[]): Enqueued[] {
  for (const spec of specs) requireValid(model, spec);
  return specs.map((spec) => admit(model, tenant, spec));
}

export function isValid(spec: Spec, now: number): boolean {
  return (
    spec.type !== "" &&
    (spec.maxAttempts ?? 1) >= 1 &&
    (spec.expiresAt === null || spec.expiresAt > Math.max(spec.runAt ?? now, now))
  );
}

function requireValid(model: Model, spec: Spec): void {
  if (!isValid(spec, model.now)) throw new Refusal("JF002");
}

function admit(model: Model, tenant: string, spec: Spec): Enqueued {
  if (isBlocked(model, tenant, spec)) throw new Waits();
  const key = spec.idempotencyKey === null ? null : keyOf(tenant, spec.type, spec.idempotencyKey);
  const known = key === null ? undefined : model.keys.get(key);
  if (known !== undefined) return { name: known.job, outcome: "existing" };
  const twin = liveWith(model, tenant, spec.type, spec.dedupeKey);
  const answer = twin === undefined ? create(model, tenant, spec) : meet(model, twin, spec);
  if (key !== null && spec.idempotencyKey !== null) {
    model.keys.set(key, {
      tenant,
      type: spec.type,
      key: spec.idempotencyKey,
      job: answer.name,
      madeAt: model.now,
      forgetAt: null,
    });
  }
  return answer;
}

/** Returns the live job that has the dedupe key. */
export function liveWith(
  model: Model,
  tenant: string,
  type: string,
  dedupeKey: string | null,
): Job | undefined {
  if (dedupeKey === null) return undefined;
  return model.jobs.values().find((job) => isLive(job) && hasDedupe(job, tenant, type, dedupeKey));
}

function hasDedupe(job: Job | undefined, tenant: string, type: string, dedupeKey: string): job is Job {
  return job?.tenant === tenant && job.type === type && job.dedupeKey === dedupeKey;
}

/** Returns whether an open transaction of another session holds one of the job's keys. */
export function isBlocked(model: Model, tenant: string, spec: Spec): boolean {
  const { type, idempotencyKey, dedupeKey } = spec;
  if (idempotencyKey !== null && model.isHeld("keys", keyOf(tenant, type, idempotencyKey))) return true;
  return isDedupeHeld(model, tenant, type, dedupeKey);
}

/** Returns whether another session's open transaction has created, changed or finished a job with this dedupe key. */
export function isDedupeHeld(model: Model, tenant: string, type: string, dedupeKey: string | null): boolean {
  if (dedupeKey === null) return false;
  return model
    .others()
    .some(({ jobs }) => jobs.written().some((name) => hasDedupe(jobs.get(name), tenant, type, dedupeKey)));
}

function meet(model: Model, twin: Job, spec: Spec): Enqueued {
  if (spec.dedupeMode === "skip" || twin.status === "running")
    return { name: twin.name, outcome: "existing" };
  model.change(twin, {
    payload: spec.payload,
    priority: capped(model, spec),
    tags: spec.tags,
    runAt: spec.dedupeMode === "debounce" ? (spec.runAt ?? model.now) : twin.runAt,
    updatedAt: model.now,
  });
  return { name: twin.name, outcome: "replaced" };
}

/** Returns the priority, limited by the type's policy. */
export function capped(model: Model, wanted: { readonly type: string; readonly priority: number }): number {
  return Math.min(wanted.priority, model.policyOf(wanted.type).max_priority ?? wanted.priority);
}

function create(model: Model, tenant: string, spec: Spec): Enqueued {
  const number = model.shared.nextNumber();
  const name = `#${number}`;
  const budget = spec.maxAttempts ?? model.policyOf(spec.type).max_attempts;
  model.jobs.set(name, {
    name,
    seq: number,
    tenant,
    type: spec.type,
    payload: spec.payload,
    status: "queued",
    reason: null,
    priority: capped(model, spec),
    attempts: 0,
    uncounted: 0,
    failures: 0,
    losses: 0,
    maxAttempts: budget,
    budget,
    runAt: spec.runAt ?? model.now,
    createdAt: model.now,
    updatedAt: model.now,
    startedAt: null,
    beatAt: null,
    finishedAt: null,
    expiresAt: spec.expiresAt,
    worker: null,
    idempotencyKey: spec.idempotencyKey,
    dedupeKey: spec.dedupeKey,
    subject: spec.subject,
    tags: spec.tags,
    progress: null,
    fault: null,
    cost: null,
    outcome: null,
    runs: [],
    endedByRun: false,
    keepDays: 0,
    forgotten: false,
  });
  return { name, outcome: "created" };
}

/** Enqueues children. A child whose key is held waits in the outbox, because a settle never waits. */
export function enqueueChildren(model: Model, tenant: string, children: readonly Spec[]): void {
  for (const spec of children) {
    if (isBlocked(model, tenant, spec)) {
      model.outbox.set(String(model.shared.nextNumber()), { tenant, spec });
    } else {
      admit(model, tenant, spec);
    }
  }
}

/** Enqueues the children that can be enqueued now. Returns their number. */
export function emptyOutbox(model: Model): number {
  const free = model.outbox.entries().filter(([, { tenant, spec }]) => !isBlocked(model, tenant, spec));
  for (const [number, { tenant, spec }] of free) {
    model.outbox.delete(number);
    admit(model, tenant, spec);
  }
  return free.length;
}
