/** The two tenants of a scene: what each of them owns, and which of its values others know. */
import type { TestDatabase } from "@jobforge/testing";

export const tenantA = "11111111-1111-4111-8111-111111111111";
export const tenantB = "22222222-2222-4222-8222-222222222222";

/**
 * What a tenant owns. Attackers know the values that begin with `known`, and pass them as arguments. They never pass a
 * value that contains the marker, so a marker in a result is always a leak.
 */
export interface Holdings {
  readonly tenant: string;
  /** The word in every value that others do not know. */
  readonly marker: string;
  /** Jobs in every state, whose ids others know. */
  readonly knownJobs: readonly string[];
  readonly knownType: string;
  readonly knownKey: string;
  readonly knownWorker: string;
  readonly secretJobs: readonly string[];
}

const day = 86_400_000;

/** Creates the holdings of a tenant: jobs in every state, a schedule, a connector, a worker, a quota and usage. */
export async function populate(db: TestDatabase, tenant: string, letter: "a" | "b"): Promise<Holdings> {
  const marker = `mark${letter}7`;
  const known = `known-${letter}`;
  const names = { knownType: `${known}.type`, knownKey: `${known}-key`, knownWorker: `${known}-worker` };
  const owned = { tenant, marker };
  // Both have secret contents. Only the second has secret names.
  const knownJobs = await populateJobs(db, owned, names.knownType, known, names.knownWorker);
  const secretJobs = await populateJobs(db, owned, `${marker}.type`, marker, `${marker}-worker`);
  for (const [type, key] of [
    [names.knownType, names.knownKey],
    [`${marker}.type`, `${marker}-key`],
  ])
    await db.query("select jobforge_ensure_schedule($1, $2, $3, $4)", [
      tenant,
      type,
      key,
      JSON.stringify({
        cron: "@yearly",
        payload: { note: `${marker}-schedule` },
        subject: `${marker}-subject`,
      }),
    ]);
  await db.query("select jobforge_set_tenant($1, $2)", [
    tenant,
    JSON.stringify({ max_pending: 50_000, weight: 2 }),
  ]);
  await db.query("select jobforge_set_connector_config($1, 'http', $2)", [
    tenant,
    JSON.stringify({ url: `${marker}-connector` }),
  ]);
  await populateWorkers(db, [names.knownWorker, `${marker}-worker`], `${marker}.type`);
  return { ...owned, ...names, knownJobs, secretJobs };
}

async function populateJobs(
  db: TestDatabase,
  { tenant, marker }: { tenant: string; marker: string },
  type: string,
  name: string,
  worker: string,
): Promise<string[]> {
  // A long lease, because no worker of the scene sends heartbeats.
  await db.query("select jobforge_set_policy($1, $2)", [type, JSON.stringify({ lease_ms: day })]);
  const ids: string[] = [];
  for (const state of ["succeeded", "failed", "canceled", "running", "queued", "later"]) {
    const job = {
      type,
      payload: { note: `${marker}-payload` },
      subject: `${name}-subject`,
      tags: [`${name}-tag`],
      idempotency_key: `${name}-${state}`,
      concurrency_key: `${name}-key`,
      dedupe_key: `${name}-${state}`,
      run_at: new Date(Date.now() + (state === "later" ? 365 : -1) * day),
    };
    const [created] = await db.value<{ id: string }[]>("select jobforge_enqueue_jobs($1, $2)", [
      tenant,
      JSON.stringify([job]),
    ]);
    const id = created?.id ?? "";
    ids.push(id);
    if (state === "queued" || state === "later") continue;
    if (state === "canceled") {
      await db.query("select jobforge_cancel_job($1, $2)", [id, tenant]);
      continue;
    }
    await db.query("select id from jobforge_claim_jobs($1, 1, array[$2], $3)", [worker, type, tenant]);
    if (state === "running")
      await db.query("select jobforge_progress_job($1, $2, $3)", [
        id,
        worker,
        JSON.stringify({ note: `${marker}-progress` }),
      ]);
    else
      await db.query(
        "select jobforge_complete_job($1, $2, $3, $4, $5, p_retry => false, p_cost_cents => 7)",
        [
          id,
          worker,
          state,
          state === "failed" ? JSON.stringify({ message: `${marker}-error` }) : null,
          JSON.stringify({ note: `${marker}-result` }),
        ],
      );
  }
  return ids;
}

/** Registers workers that are idle for a type. Their last heartbeats are in the future, so they stay alive. */
async function populateWorkers(db: TestDatabase, workers: readonly string[], type: string): Promise<void> {
  for (const worker of workers) {
    await db.query("select jobforge_heartbeat_worker($1, $2)", [
      worker,
      JSON.stringify({ instance: "1", types: [type], idle: true, host: `${type}-host` }),
    ]);
    await db.query("update jobforge.workers set seen_at = seen_at + interval '1 day' where id = $1", [
      worker,
    ]);
    await db.query("update jobforge.idle_workers set since = since + interval '1 day' where worker_id = $1", [
      worker,
    ]);
  }
}
