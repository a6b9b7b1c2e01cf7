/** The calls and locks that a login makes in a transaction that it leaves open. */
import { tenantA } from "../tenants.ts";
import type { Work } from "./transaction-work.ts";

export const holders = ["tenant A", "app", "bound worker", "plain"] as const;
export type HolderName = (typeof holders)[number];

/** The text of a call, for the jobs of a step. */
export type Act = (work: Work) => string;

const A = `'${tenantA}'`;
const json = (value: unknown): string => `'${JSON.stringify(value)}'`;

/** What every caller that acts for a tenant can do. */
const enqueueing: readonly Act[] = [
  () => `select jobforge_enqueue_job(${A}, 'ready')`,
  () => `select jobforge_enqueue_job(${A}, 'keyed', p_concurrency_key => 'key-1')`,
  () => `select jobforge_enqueue_job(${A}, 'ready', p_idempotency_key => 'k', p_dedupe_key => 'd')`,
  () => `select jobforge_enqueue_job(${A}, 'ready', p_dedupe_key => 'd', p_dedupe_mode => 'replace')`,
  () =>
    `select jobforge_enqueue_jobs(${A}, ${json(Array.from({ length: 200 }, (_, n) => ({ type: "ready", priority: n })))})`,
  () => `select jobforge_lock_schedule(${A}, 'hourly', 'own')`,
  () => `select jobforge_run_schedule(${A}, 'hourly', 'own')`,
  () => `select jobforge_disable_schedule(${A}, 'hourly', 'own')`,
  () => `select jobforge_update_schedule(${A}, 'hourly', 'own', '{"priority": 1}')`,
  () => `select jobforge_ensure_schedule(${A}, 'hourly', 'new', '{"every": "1m"}')`,
  () => `select jobforge_sync_schedules('app', '[{"type": "hourly", "key": "synced", "every": "1h"}]', ${A})`,
  () => `select jobforge_wake_workers('{"ready": 5}')`,
];

const steering: readonly Act[] = [
  ({ own }) => `select jobforge_cancel_job('${own.queued}', ${A})`,
  ({ own }) => `select jobforge_cancel_job('${own.running}', ${A})`,
  ({ own }) => `select jobforge_reschedule_job('${own.dead}', ${A})`,
  ({ own }) => `select jobforge_update_job('${own.queued}', ${A}, '{"priority": 5}')`,
  () => `select jobforge_cancel_jobs(${A}, '{"status": ["queued", "running"]}')`,
  () => `select jobforge_reschedule_jobs(${A}, '{"status": ["failed", "dead"]}')`,
  ({ own }) => `select jobforge_watch_job('${own.running}', ${A})`,
  ({ own }) => `select jobforge_explain_job('${own.queued}', ${A})`,
  () => `select count(*) from jobforge_list_jobs(${A}, '{"limit": 1000}')`,
  () => "select count(*) from jobforge_jobs",
  () => "declare everything cursor with hold for select * from jobforge_jobs",
  () => "set transaction isolation level serializable",
  () => `select jobforge_stats(${A})`,
];

const working: readonly Act[] = [
  () => "select count(*) from jobforge_claim_jobs('bound', 1, '{due,hourly}')",
  () => "select count(*) from jobforge_claim_jobs('bound', 100)",
  () => "select jobforge_settle_jobs('bound', '[]', 10, '{due,ready,own.limited,keyed,hourly}')",
  () => "select jobforge_settle_jobs_text('bound', '[]', 10, '{own.limited}')",
  ({ own }) =>
    `select jobforge_settle_jobs('bound', ${json([{ id: own.running, attempt: 1, status: "failed" }])})`,
  ({ own }) => `select jobforge_complete_job('${own.running}', 'bound', 'succeeded')`,
  ({ own }) => `select jobforge_heartbeat_job('${own.running}', 'bound')`,
  ({ own }) => `select jobforge_defer_job('${own.running}', 'bound', now() + interval '1 day')`,
  // The name of another worker.
  () => `select jobforge_heartbeat_worker('shared', '{"idle": true, "types": ["ready", "due"]}')`,
  () => "select jobforge_heartbeat_worker('shared', '{}')",
  () => `select jobforge_heartbeat_worker('bound', '{"instance": "1", "held": []}')`,
  () => "select jobforge_maintain()",
  () => "select jobforge_maintain(10)",
];

const locking: readonly Act[] = [
  () => "select count(pg_advisory_lock_shared(1246119507, i)) from generate_series(0, 4096) i",
  () => "select pg_advisory_xact_lock(hashtextextended('jobforge.limits', 0))",
  () => "select pg_advisory_xact_lock(hashtextextended('jobforge.migrate', 0))",
  () => "select count(pg_advisory_xact_lock(i)) from generate_series(-1000, 1000) i",
  () => "select count(pg_advisory_xact_lock(0, i)) from generate_series(-1000, 1000) i",
  () => "select txid_current(), pg_current_snapshot()",
];

export function actsOf(holder: HolderName): readonly Act[] {
  switch (holder) {
    case "bound worker":
      return [...working, ...enqueueing];
    case "plain":
      return locking;
    default:
      return [...enqueueing, ...steering];
  }
}
