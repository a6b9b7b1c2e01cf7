/**
 * Random jobs, ends of runs, changes and schedules under limits, quotas and weights. A call may be refused, but only
 * with an error that the reference lists. Internal errors, deadlocks and broken constraints are violations.
 */
import { cloneDatabase, type TestConnection, type TestDatabase } from "@jobforge/testing";
import type { Random } from "../../../sql/test/support/random.ts";
import { codeOf } from "../call.ts";
import { openAs } from "../scene.ts";
import { tenantA, tenantB } from "../tenants.ts";
import type { Steps, Tour } from "../tour.ts";
import { randomJson } from "./filters.ts";

/** JobForge's errors, a missing right, a value that is not of its type, and JSON that is nested too deeply. */
const documented = /^(JF0\d\d|42501|22\w{3}|54001)$/;

/** A statement with parameters, and who sends it. */
interface Input {
  readonly as: "app" | "worker" | "operator";
  readonly text: string;
  readonly values: readonly unknown[];
}

interface Memory {
  /** Jobs that were created, and runs that were claimed. */
  readonly jobs: string[];
  readonly runs: { readonly id: string; readonly attempts: number }[];
}

export const inputsTour: Tour = {
  name: "inputs",
  about: "random jobs, ends, changes, schedules and cron expressions under limits, quotas and weights",
  async play(server, steps) {
    await using db = await cloneDatabase(server);
    const logins = await openLogins(db);
    await configure(db);
    const memory: Memory = { jobs: [], runs: [] };
    while (steps.next()) {
      const input = inputOf(steps.random, memory);
      await play(steps, logins[input.as], input, memory);
    }
  },
};

async function play(steps: Steps, connection: TestConnection, input: Input, memory: Memory): Promise<void> {
  const { as, text, values } = input;
  try {
    const rows = await connection.query(text, values);
    steps.saw("ok");
    remember(rows, memory);
  } catch (error) {
    const code = codeOf(error);
    steps.saw(code);
    if (!documented.test(code))
      steps.violated(
        "errors",
        `${code}: ${(error as Error).message}`,
        `${as}: ${text} ${JSON.stringify(values)}`,
      );
  }
}

/** Keeps the ids of created jobs and claimed runs for later steps. */
function remember(rows: readonly Record<string, unknown>[], { jobs, runs }: Memory): void {
  for (const row of rows) {
    const { created, run } = row as { created?: unknown; run?: unknown };
    for (const each of [created].flat()) {
      const { id } = (each ?? {}) as { id?: unknown };
      if (typeof id === "string") jobs.push(id);
    }
    const claimed = (run as { jobs?: unknown } | undefined)?.jobs ?? [];
    for (const each of claimed as { id: string; attempts: number }[]) runs.push(each);
  }
  while (jobs.length > 200) jobs.shift();
  while (runs.length > 200) runs.shift();
}

const types = ["a", "b", "limited", "serial"];
const times = [
  "2020-01-01T00:00:00Z",
  "2099-01-01T00:00:00Z",
  "infinity",
  "-infinity",
  "294276-12-31T00:00:00Z",
  "x",
];
const texts = ["", "k", "k2", "\ud800", "\u0001", "é".repeat(200), "x".repeat(300), "*", "%"];

const json = (value: unknown): string | null => (value === undefined ? null : JSON.stringify(value));

function jobOf(random: Random): Record<string, unknown> {
  const all: Record<string, unknown> = {
    type: random.chance(0.9) ? random.pick(types) : randomJson(random),
    payload: randomJson(random),
    priority: random.pick<unknown>([0, 1, -5, 2 ** 31, "1", 1.5]),
    run_at: random.pick<unknown>(times),
    max_attempts: random.pick<unknown>([1, 3, 0, -1, 1000, null]),
    idempotency_key: random.pick(texts),
    dedupe_key: random.pick(texts),
    dedupe_mode: random.pick(["skip", "replace", "debounce", "x"]),
    concurrency_key: random.pick(texts),
    subject: random.pick(texts),
    tags: random.pick<unknown>([["a"], ["a", "a"], [], "a", [1], texts]),
    expires_at: random.pick<unknown>(times),
    traceparent: random.pick(["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "x"]),
    no_such: 1,
  };
  const { type, ...rest } = all;
  const valid = Object.entries(rest).filter(([name]) => name !== "no_such" || random.chance(0.05));
  return { type, ...Object.fromEntries(random.some(valid, random.below(4))) };
}

function endOf(random: Random, { runs }: Memory): Record<string, unknown> {
  const run = runs.length > 0 && random.chance(0.85) ? random.pick(runs) : { id: "x", attempts: 1 };
  return {
    id: random.chance(0.95) ? run.id : randomJson(random),
    attempt: random.chance(0.9) ? run.attempts : random.pick<unknown>([0, 99, "1", null]),
    status: random.pick(["succeeded", "succeeded", "failed", "failed", "deferred", "released", "x"]),
    ...(random.chance(0.5) ? { error: randomJson(random) } : {}),
    ...(random.chance(0.3) ? { result: randomJson(random) } : {}),
    ...(random.chance(0.2) ? { retry_at: random.pick(times) } : {}),
    ...(random.chance(0.2) ? { run_at: random.pick(times) } : {}),
    ...(random.chance(0.2) ? { next_run_at: random.pick(times) } : {}),
    ...(random.chance(0.2) ? { cost_cents: random.pick<unknown>([1, -1, 2 ** 31, "x"]) } : {}),
    ...(random.chance(0.2) ? { children: [jobOf(random), jobOf(random)] } : {}),
  };
}

function cronOf(random: Random): string {
  const field = (): string =>
    random.pick([
      "*",
      "*/5",
      "0",
      "59",
      "60",
      "1-5",
      "5-1",
      "1,2,3",
      "L",
      "5#2",
      "1#5",
      "MON",
      "JAN-MAR",
      "?",
      "*/0",
      "-1",
      "99999",
      "",
      "1-",
      "W",
    ]);
  return random.chance(0.2)
    ? random.pick(["@daily", "@every 5m", "@every 0s", "@reboot", "@x", "", "* * * *", "\u0000x".slice(1)])
    : Array.from({ length: 5 + random.below(2) }, field).join(" ");
}

function scheduleOf(random: Random): Record<string, unknown> {
  const kind = random.pick<Record<string, unknown>>([
    { cron: cronOf(random), timezone: random.pick(["UTC", "Europe/Berlin", "x", ""]) },
    {
      every: random.pick(["1s", "5m", "0s", "1 month", "-1s", "400 days", "x"]),
      jitter: random.pick(["0s", "1s", "1h"]),
    },
    { dynamic: true },
  ]);
  const more: Record<string, unknown> = {
    anchor: random.pick(times),
    next_run_at: random.pick(times),
    starts_at: random.pick(times),
    ends_at: random.pick(times),
    missed: random.pick(["all", "once", "skip", "x"]),
    missed_limit: random.pick([1, 100, 0, 1000]),
    overlap: random.pick(["skip", "queue", "allow", "x"]),
    payload: randomJson(random),
    priority: random.pick<unknown>([0, 2 ** 31, "x"]),
    concurrency_key: random.pick(texts),
    retry_runs: random.pick<unknown>([true, false, "x"]),
  };
  return { ...kind, ...Object.fromEntries(random.some(Object.entries(more), random.below(4))) };
}

const filtersOf = (random: Random, { jobs }: Memory): unknown =>
  random.pick<unknown>([
    {},
    { status: ["queued", "failed", "dead"] },
    { type: random.pick(types), limit: random.pick([1, 0, -1, 1001, 10]) },
    { subject: random.pick(texts) },
    { tags: ["a"] },
    { cursor: jobs.length > 0 ? random.pick(jobs) : "x" },
    { created_after: random.pick(times) },
    randomJson(random),
  ]);

function inputOf(random: Random, memory: Memory): Input {
  const tenant = random.pick([tenantA, tenantA, tenantB]);
  const job = memory.jobs.length > 0 ? random.pick(memory.jobs) : tenantB;
  const key = [tenant, random.pick(types), random.pick(["s1", "s2", ...texts])];
  const input = (as: Input["as"], text: string, ...values: unknown[]): Input => ({ as, text, values });
  const options: readonly (() => Input)[] = [
    () =>
      input(
        "operator",
        "select jobforge_enqueue_jobs($1, $2) as created",
        tenant,
        json([jobOf(random), jobOf(random)]),
      ),
    () =>
      input(
        "operator",
        "select jobforge_enqueue_jobs($1, $2, p_partial => true) as created",
        tenant,
        json([jobOf(random), jobOf(random)]),
      ),
    () =>
      input(
        "app",
        "select jobforge_enqueue_job($1, $2, $3) as created",
        tenantA,
        random.pick(types),
        json(randomJson(random)),
      ),
    () =>
      input(
        "worker",
        "select jobforge_settle_jobs($1, $2, $3, $4) as run",
        random.pick(["w1", "w2"]),
        json([endOf(random, memory), endOf(random, memory)]),
        random.pick([0, 5, 50]),
        types,
      ),
    () =>
      input(
        "worker",
        "select jobforge_settle_jobs('w1', $1, 10) as run",
        json(random.chance(0.7) ? [endOf(random, memory)] : randomJson(random)),
      ),
    () =>
      input(
        "worker",
        "select jobforge_heartbeat_worker($1, $2)",
        random.pick(["w1", "w2", ...texts]),
        json({
          instance: "1",
          held: memory.runs.slice(-20).map(({ id, attempts }) => ({ id, attempt: attempts })),
        }),
      ),
    () => input("worker", "select jobforge_maintain($1)", random.pick([1, 10, 1000, 0])),
    () => input("operator", "select jobforge_cancel_job($1, $2)", job, tenant),
    () =>
      input(
        "operator",
        "select jobforge_reschedule_job($1, $2, $3, $4)",
        job,
        tenant,
        random.pick([null, ...times]),
        random.pick([null, 0, 5]),
      ),
    () =>
      input(
        "operator",
        "select jobforge_update_job($1, $2, $3)",
        job,
        tenant,
        json(random.pick([{ priority: 3 }, jobOf(random), randomJson(random)])),
      ),
    () =>
      input(
        "operator",
        "select jobforge_cancel_jobs($1, $2, $3)",
        tenant,
        json(filtersOf(random, memory)),
        random.pick([1, 5, 0]),
      ),
    () =>
      input(
        "operator",
        "select jobforge_reschedule_jobs($1, $2, $3)",
        tenant,
        json(filtersOf(random, memory)),
        random.pick([1, 5]),
      ),
    () => input("operator", "select jobforge_list_jobs($1, $2)", tenant, json(filtersOf(random, memory))),
    () => input("operator", "select jobforge_count_jobs($1, $2)", tenant, json(filtersOf(random, memory))),
    () =>
      input("operator", "select jobforge_ensure_schedule($1, $2, $3, $4)", ...key, json(scheduleOf(random))),
    () =>
      input("operator", "select jobforge_update_schedule($1, $2, $3, $4)", ...key, json(scheduleOf(random))),
    () => input("operator", "select jobforge_run_schedule($1, $2, $3)", ...key),
    () => input("operator", "select jobforge_delete_schedule($1, $2, $3)", ...key),
    () =>
      input(
        "operator",
        "select jobforge_sync_schedules('app', $1, $2)",
        json([{ type: key[1], key: key[2], ...scheduleOf(random) }]),
        tenant,
      ),
    () =>
      input(
        "app",
        "select jobforge_cron_runs($1, $2, $3, 5)",
        cronOf(random),
        random.pick(["UTC", "Australia/Lord_Howe", "x"]),
        random.pick(times),
      ),
    () =>
      input(
        "operator",
        "select jobforge_set_limit($1, $2, $3, $4, $5)",
        random.pick(["type", "tenant", "type_tenant", "key", "x"]),
        random.pick(["*", "limited", `limited:${tenantA}`, ...texts]),
        random.pick([null, 1, 2, 0]),
        random.pick([null, 5, 0]),
        random.pick([null, "1 second", "0"]),
      ),
    () =>
      input(
        "operator",
        "select jobforge_set_policy($1, $2)",
        random.pick(types),
        json(random.pick([{ max_attempts: 2 }, { base_ms: 1 }, { retention_days: 0 }, randomJson(random)])),
      ),
    () => input("operator", "select jobforge_explain_job($1, $2)", job, tenant),
  ];
  return random.pick(options)();
}

async function configure(db: TestDatabase): Promise<void> {
  await db.query("select jobforge_set_limit('type', 'limited', 3, 100, '1 second')");
  await db.query("select jobforge_set_limit('key', '*', 1, 50, '1 second')");
  await db.query("select jobforge_set_limit('tenant', '*', 20, 1000, '1 minute')");
  await db.query("select jobforge_set_limit('type_tenant', 'limited:*', 2)");
  await db.query('select jobforge_set_tenant($1, \'{"max_pending": 300, "weight": 3}\')', [tenantA]);
}

async function openLogins(db: TestDatabase): Promise<Readonly<Record<Input["as"], TestConnection>>> {
  const app = await openAs(db, (await db.createLogin("jobforge_app")).url);
  await app.query("select set_config('app.tenant_id', $1, false)", [tenantA]);
  return {
    app,
    worker: await openAs(db, (await db.createLogin("jobforge_worker")).url),
    operator: await openAs(db, (await db.createLogin("jobforge_operator")).url),
  };
}
