/** The work of the tour of open transactions: new jobs for each step, an hour after those of the step before. */
import type { TestDatabase } from "@jobforge/testing";
import { tenantA, tenantB } from "../tenants.ts";

/** The ids of one step's jobs. */
export interface Work {
  /** The offset of the clock. */
  readonly offset: string;
  readonly hour: number;
  /** Jobs of tenant B that run under the worker `shared`. */
  readonly running: readonly string[];
  /** A job of tenant B whose worker has been silent for an hour. */
  readonly lost: string;
  readonly queued: string;
  readonly dead: string;
  /** Jobs of tenant A: queued, running under the worker `bound`, and dead. */
  readonly own: { readonly queued: string; readonly running: string; readonly dead: string };
}

/** Limits of all four scopes, quotas, a gate, and schedules that are due every hour. */
export async function prepareWork(db: TestDatabase): Promise<void> {
  for (const [scope, key, most] of [
    ["type", "shared.limited", 50],
    ["tenant", "*", 1000],
    ["type_tenant", "own.limited:*", 500],
    ["key", "*", 1],
  ])
    await db.query("select jobforge_set_limit($1, $2, $3)", [scope, key, most]);
  for (const tenant of [tenantA, tenantB]) {
    await db.query("select jobforge_set_tenant($1, '{\"max_pending\": 100000}')", [tenant]);
    await db.query("select jobforge_ensure_schedule($1, 'hourly', 'own', $2)", [
      tenant,
      JSON.stringify({ every: "1h", overlap: "allow", missed: "once" }),
    ]);
  }
  await db.query("select jobforge_set_gate('type', 'closed', true)");
}

/** Creates the jobs of a step. They were enqueued an hour before, so some of them have become due since. */
export async function prepareHour(db: TestDatabase, hour: number): Promise<Work> {
  await db.travel(`${hour - 1} hours`);
  const runAt = await db.value<string>("select (jobforge.now() + interval '30 minutes')::text");
  const enqueue = async (tenant: string, job: object): Promise<string> => {
    const [created] = await db.value<{ id: string }[]>("select jobforge_enqueue_jobs($1, $2)", [
      tenant,
      JSON.stringify([job]),
    ]);
    return created?.id ?? "";
  };
  const run = async (tenant: string, worker: string, type: string, more: object = {}): Promise<string> => {
    const id = await enqueue(tenant, { type, ...more });
    await db.query("select id from jobforge_claim_jobs($1, 1, array[$2], $3)", [worker, type, tenant]);
    return id;
  };
  const die = async (tenant: string): Promise<string> => {
    const id = await run(tenant, "dying", `dying.${hour}`);
    await db.query("select jobforge_complete_job($1, 'dying', 'failed', p_retry => false)", [id]);
    return id;
  };
  const lost = await run(tenantB, `ghost-${hour}`, `lost.${hour}`);
  const dead = await die(tenantB);
  for (const tenant of [tenantA, tenantB])
    for (const type of ["due", "ready", "shared.limited", "own.limited", "keyed", "closed"])
      for (let n = 0; n < 3; n += 1)
        await enqueue(tenant, {
          type,
          ...(type === "due" ? { run_at: runAt } : {}),
          ...(type === "keyed" ? { concurrency_key: `key-${hour}-${n}` } : {}),
        });
  const own = { queued: await enqueue(tenantA, { type: "idle" }), dead: await die(tenantA) };
  await db.travel(`${hour} hours`);
  const running: string[] = [];
  for (const kind of ["first", "second", "third"])
    running.push(await run(tenantB, "shared", `running.${kind}.${hour}`));
  return {
    offset: `${hour} hours`,
    hour,
    running,
    lost,
    dead,
    queued: await enqueue(tenantB, { type: "idle" }),
    own: { ...own, running: await run(tenantA, "bound", `running.own.${hour}`) },
  };
}
