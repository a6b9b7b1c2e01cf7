/**
 * The format of scenarios. `schema.json` is written from it, for editors; a test compares both. The README explains
 * every field.
 */
import { z } from "zod";

/** What a target may lack. A scenario names what it needs, and is skipped on targets that cannot do it. */
const abilities = [
  "worker",
  "listen",
  "transaction",
  "http",
  "processes",
  "any-throw",
  "spans",
  "schedules",
  "policies",
  "history",
  "steering",
  "sql",
  "operators",
  "time-travel",
  "outage",
  "workflows",
] as const;
export type Ability = (typeof abilities)[number];

/** The connections of a scenario: each has the rights of one kind of caller. `app` is of tenant T, `other` of U. */
const callers = ["app", "other", "worker", "operator", "reader"] as const;
export type Caller = (typeof callers)[number];

/** The requests about workers. Their default caller is `worker`, and they get the scenario's handlers. */
export const workerVerbs = ["worker", "tick", "tick_request", "stop", "metrics", "release"] as const;

/** The requests that an adapter serves, in addition to `connect` and `disconnect`, which the runner sends by itself. */
const verbs = ["enqueue", "enqueue_many", "enqueue_in_transaction", "start", "call", ...workerVerbs] as const;

const eventKinds = ["started", "aborted", "context", "step", "late", "hook", "span", "log"] as const;

const anything = z.record(z.string(), z.unknown());
const seconds = z.number().min(0);
const length = z.string().regex(/^\d+(\.\d+)? (second|minute|hour|day)s?$/);

/** A text, or one that YAML cannot write, or not in a line. */
const text = z.union([
  z.string(),
  z.strictObject({ $repeat: z.tuple([z.string(), z.number()]) }),
  z.strictObject({ $units: z.array(z.number()) }),
]);

const thrown = z.strictObject({ name: z.string(), message: z.string() });

/** One thing that a handler does. */
const handlerStep = z.union([
  z.strictObject({ return: z.unknown() }),
  z.strictObject({ echo: z.literal(true) }),
  z.strictObject({ return_text: z.strictObject({ bytes: z.number().int() }) }),
  z.strictObject({ return_unserializable: z.literal(true) }),
  z.strictObject({
    throw: z.strictObject({
      name: z.string(),
      message: text,
      code: z.string().optional(),
      cause: z.strictObject({ name: z.string(), message: z.string() }).optional(),
    }),
  }),
  z.strictObject({ throw_text: z.string() }),
  z.strictObject({ throw_abort_reason: z.literal(true) }),
  z.strictObject({ fail: z.strictObject({ message: z.string(), details: anything.optional() }) }),
  z.strictObject({ defer: z.strictObject({ seconds, counts: z.boolean().optional() }) }),
  z.strictObject({
    retry_after: z.strictObject({
      seconds,
      message: z.string().optional(),
      at_least: z.boolean().optional(),
    }),
  }),
  z.strictObject({ hold_key: z.strictObject({ seconds, reason: z.string().optional() }) }),
  z.strictObject({ next_run: z.strictObject({ seconds }) }),
  z.strictObject({ wait_for_abort: z.literal(true) }),
  z.strictObject({ hold: z.string() }),
  z.strictObject({ progress: z.unknown() }),
  z.strictObject({ cost: z.unknown() }),
  z.strictObject({ enqueue: anything }),
  z.strictObject({ log: z.strictObject({ level: z.string(), message: z.string(), fields: anything }) }),
  z.strictObject({ tell: z.literal(true) }),
  z.strictObject({ transaction: z.strictObject({ sql: z.string(), return: z.unknown().optional() }) }),
  z.strictObject({ swallow: z.array(anything) }),
  z.strictObject({
    step: z.strictObject({
      name: z.string(),
      value: z.unknown().optional(),
      throw: thrown.optional(),
      retries: z.number().int().optional(),
    }),
  }),
  z.strictObject({ sleep: z.strictObject({ seconds }) }),
  z.strictObject({
    wait_for: z.strictObject({ signals: z.array(z.string()), timeout: seconds.optional() }),
  }),
  z.strictObject({ run: anything }),
  z.strictObject({ all: z.strictObject({ calls: z.array(anything), settled: z.boolean().optional() }) }),
  z.strictObject({ version: z.string() }),
  z.strictObject({ add_steps: z.array(anything) }),
  z.strictObject({ saga: z.array(anything) }),
  z.strictObject({ return_results: z.literal(true) }),
  z.strictObject({ late: z.strictObject({ gate: z.string(), steps: z.array(anything) }) }),
]);
export type HandlerStep = z.infer<typeof handlerStep>;

/** Per attempt a list of steps; the last attempt repeats. */
const handler = z.array(z.array(handlerStep)).min(1);

const definition = z.strictObject({
  input: z.record(z.string(), z.enum(["string", "number", "boolean"])).optional(),
  output: z.record(z.string(), z.enum(["string", "number", "boolean"])).optional(),
  retry: z.unknown().optional(),
  timeout: seconds.optional(),
  max_attempts: z.number().int().optional(),
  batch_size: z.number().int().optional(),
});

const outcome = {
  as: z.string().optional(),
  expect: z.unknown().optional(),
  error: anything.optional(),
};

const by = z.string().optional();

const step = z.union([
  z.strictObject({
    do: z.enum(verbs),
    with: anything.optional(),
    by,
    on: z.enum(callers).optional(),
    times: z.number().int().min(1).optional(),
    later: z.string().optional(),
    ...outcome,
  }),
  z.strictObject({ await: z.string(), ...outcome }),
  z.strictObject({
    rows: z.string(),
    /** The step is left out on targets that cannot do this. */
    needs: z.array(z.enum(abilities)).optional(),
    where: anything.optional(),
    order: z.string().optional(),
    eventually: z.boolean().optional(),
    as: z.string().optional(),
    expect: z.unknown(),
  }),
  z.strictObject({ sql: z.string() }),
  z.strictObject({ event: z.enum(eventKinds), by, as: z.string().optional(), expect: z.unknown() }),
  z.strictObject({
    events: z.enum(eventKinds),
    by,
    where: z.unknown().optional(),
    expect: z.unknown(),
  }),
  z.strictObject({ travel: length }),
  z.strictObject({ maintain: length }),
  z.strictObject({ outage: z.enum(["begin", "end"]) }),
  z.strictObject({ signal: z.enum(["SIGTERM", "SIGINT", "SIGKILL"]), by: z.string() }),
  z.strictObject({ exit: z.string(), expect: z.unknown() }),
]);
export type Step = z.infer<typeof step>;

export const scenario = z.strictObject({
  name: z.string(),
  /** The numbers in the list of acceptance scenarios that this one covers. */
  seed: z.string().optional(),
  needs: z.array(z.enum(abilities)).default([]),
  /** Policies of types, as `jobforge_set_policy` takes them. */
  policies: z.record(z.string(), anything).default({}),
  definitions: z.record(z.string(), definition).default({}),
  handlers: z.record(z.string(), handler).default({}),
  steps: z.array(step).min(1),
});
export type Scenario = z.infer<typeof scenario>;
