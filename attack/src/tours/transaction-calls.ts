/** The calls of others while a transaction is open. Each returns what is wrong, or undefined. */
import type { TestConnection } from "@jobforge/testing";
import { tenantB } from "../tenants.ts";
import type { Work } from "./transaction-work.ts";
import type { Logins } from "./transactions.ts";

export interface Bystander {
  readonly name: string;
  readonly as: keyof Logins;
  call(connection: TestConnection, work: Work): Promise<string | undefined>;
}

/** How often a worker asks before it must have received something. Real workers ask all the time. */
const patience = 3;

/** Claims jobs of a type until one of tenant B is among them. */
function claiming(type: string): Bystander {
  return {
    name: `claim of ${type}`,
    as: "worker",
    async call(worker) {
      for (let times = 0; times < patience; times += 1) {
        const jobs = await worker.query<{ tenant_id: string }>(
          "select tenant_id from jobforge_claim_jobs('shared', 20, array[$1])",
          [type],
        );
        if (jobs.some(({ tenant_id }) => tenant_id === tenantB)) return undefined;
      }
      return `no job of tenant B in ${patience} claims`;
    },
  };
}

/** A call that only has to return. */
function returning(
  name: string,
  as: keyof Logins,
  sql: string,
  values: (work: Work) => unknown[],
): Bystander {
  return {
    name,
    as,
    async call(connection, work) {
      await connection.query(sql, values(work));
      return undefined;
    },
  };
}

const working: readonly Bystander[] = [
  claiming("ready"),
  claiming("due"),
  claiming("own.limited"),
  claiming("keyed"),
  claiming("hourly"),
  returning(
    "claim of a shared limit",
    "worker",
    "select jobforge_settle_jobs('shared', '[]', 5, '{shared.limited}')",
    () => [],
  ),
  returning("heartbeat of a job", "worker", "select jobforge_heartbeat_job($1, 'shared')", ({ running }) => [
    running[2],
  ]),
  returning("progress", "worker", "select jobforge_progress_job($1, 'shared', '{}')", ({ running }) => [
    running[2],
  ]),
  returning(
    "end of a run",
    "worker",
    "select jobforge_complete_job($1, 'shared', 'succeeded')",
    ({ running }) => [running[0]],
  ),
  returning("settle with a child", "worker", "select jobforge_settle_jobs('shared', $1)", ({ running }) => [
    JSON.stringify([{ id: running[1], attempt: 1, status: "succeeded", children: [{ type: "idle" }] }]),
  ]),
  returning("heartbeat of a worker", "worker", "select jobforge_heartbeat_worker('shared', $1)", () => [
    JSON.stringify({ instance: "1", idle: true, types: ["nothing"] }),
  ]),
  {
    name: "maintenance",
    as: "worker",
    async call(worker) {
      for (let times = 0; times < patience; times += 1) await worker.query("select jobforge_maintain()");
      return undefined;
    },
  },
];

const operating: readonly Bystander[] = [
  {
    name: "a lost lease",
    as: "operator",
    async call(operator, { lost }) {
      for (let times = 0; times < patience; times += 1) {
        await operator.query("select jobforge_maintain()");
        const [job] = await operator.query<{ status: string }>(
          "select status from jobforge_jobs where id = $1",
          [lost],
        );
        if (job?.status !== "running") return undefined;
      }
      return "the run of a silent worker is not reclaimed";
    },
  },
  returning("stats", "operator", "select jobforge_stats()", () => []),
  returning("workers", "operator", "select * from jobforge_list_workers()", () => []),
  returning("search", "operator", "select id from jobforge_search_jobs()", () => []),
  returning("set a limit", "operator", "select jobforge_set_limit('type', $1, 5)", ({ hour }) => [
    `limited.${hour}`,
  ]),
  returning("set a gate", "operator", "select jobforge_set_gate('type', $1, true)", ({ hour }) => [
    `gate.${hour}`,
  ]),
];

const B = `'${tenantB}'`;

const acting: readonly Bystander[] = [
  returning(
    "enqueue",
    "tenant",
    `select jobforge_enqueue_job(${B}, 'idle', p_idempotency_key => 'k', p_dedupe_key => 'd')`,
    () => [],
  ),
  returning("list", "tenant", `select id from jobforge_list_jobs(${B})`, () => []),
  returning("cancel", "tenant", `select jobforge_cancel_job($1, ${B})`, ({ queued }) => [queued]),
  returning("reschedule", "tenant", `select jobforge_reschedule_job($1, ${B})`, ({ dead }) => [dead]),
  returning(
    "a schedule",
    "tenant",
    `select jobforge_ensure_schedule(${B}, 'hourly', $1, '{"every": "1d"}')`,
    ({ hour }) => [`of ${hour}`],
  ),
];

export const bystanders: readonly Bystander[] = [...working, ...operating, ...acting];
