/** Writes planned jobs and schedules to JobForge. What the database refuses stays in the source, with its reason. */
import {
  defineJob,
  InvalidArgumentError,
  InvalidScheduleError,
  type JobForgeClient,
  JobForgeError,
  JsonText,
  jobJson,
  PayloadTooLargeError,
} from "@jobforge/sdk-ts";
import type pg from "pg";
import { type PlannedJob, type PlannedSchedule, whyRefused } from "./plan.ts";

/** What became of a planned item. `existing`: an earlier import has enqueued it. */
export type Result = { readonly outcome: "created" | "existing" } | { readonly reason: string };

/** Where to write: JobForge itself, or a transaction that it shares with the source. */
export interface Target {
  readonly forge: JobForgeClient;
  readonly transaction: pg.ClientBase | undefined;
}

/** A call carries at most this many bytes of payloads, unless a single payload is larger. */
const bytesPerCall = 8 * 1024 * 1024;

/** Enqueues jobs of any tenants. Resolves with the result of each. */
export async function enqueueAll(
  target: Target,
  planned: readonly PlannedJob[],
): Promise<ReadonlyMap<PlannedJob, Result>> {
  const results = new Map<PlannedJob, Result>();
  for (const jobs of callsOf(planned)) await enqueueOf(target, jobs, results);
  return results;
}

/** Splits jobs by their tenants and by the size of a call. */
function callsOf(planned: readonly PlannedJob[]): PlannedJob[][] {
  const calls: PlannedJob[][] = [];
  const open = new Map<string, { jobs: PlannedJob[]; bytes: number }>();
  for (const each of planned) {
    const { tenantId, payload } = each.prepared;
    const call = open.get(tenantId);
    if (call !== undefined && call.bytes + payload.text.length <= bytesPerCall) {
      call.jobs.push(each);
      call.bytes += payload.text.length;
    } else {
      const jobs = [each];
      calls.push(jobs);
      open.set(tenantId, { jobs, bytes: payload.text.length });
    }
  }
  return calls;
}

/** Enqueues jobs of one tenant. The database names the first job that it refuses; the others are tried again. */
async function enqueueOf(
  target: Target,
  jobs: readonly PlannedJob[],
  results: Map<PlannedJob, Result>,
): Promise<void> {
  let rest = jobs;
  while (rest.length > 0) {
    try {
      const answers = await undoable(target, () => enqueue(target, rest));
      for (const [index, each] of rest.entries())
        results.set(each, await resultOf(target, each, answers[index]));
      return;
    } catch (error) {
      const refused = rest[refusedIndex(error)];
      if (refused === undefined) throw error;
      results.set(refused, { reason: whyRefused(error) });
      rest = rest.filter((each) => each !== refused);
    }
  }
}

interface Enqueued {
  readonly id: string;
  readonly outcome: "created" | "existing" | "replaced";
}

async function enqueue({ forge }: Target, jobs: readonly PlannedJob[]): Promise<Enqueued[]> {
  const documents = jobs.map(({ prepared }) => jobJson(prepared).text);
  return await forge.transport.call<Enqueued[]>("jobforge_enqueue_jobs", {
    p_tenant_id: jobs[0]?.prepared.tenantId,
    p_jobs: new JsonText(`[${documents.join(",")}]`),
  });
}

/** Returns which job an error is about: the 3 of `jobs[3].type`; -1 if it is about none of them. */
function refusedIndex(error: unknown): number {
  const isRefusal = error instanceof InvalidArgumentError || error instanceof PayloadTooLargeError;
  const [, index] = /^jobs\[(\d+)\]/.exec(isRefusal ? (error.field ?? "") : "") ?? [];
  return index === undefined ? -1 : Number(index);
}

/**
 * A job that exists was imported before, or it has the dedupe key of another job. In the second case, the source must
 * keep it.
 */
async function resultOf(
  { forge }: Target,
  { prepared }: PlannedJob,
  answer: Enqueued | undefined,
): Promise<Result> {
  if (answer === undefined || answer.outcome === "created") return { outcome: "created" };
  const { tenantId, keys } = prepared;
  if (keys["dedupe_key"] === undefined) return { outcome: "existing" };
  const found = await forge.get(answer.id, { tenantId });
  return found === undefined || found.idempotencyKey === keys["idempotency_key"]
    ? { outcome: "existing" }
    : { reason: `its key ${String(keys["dedupe_key"])} is taken by job ${answer.id}` };
}

export async function ensureSchedule(target: Target, planned: PlannedSchedule): Promise<Result> {
  const { schedule, tenantId, type } = planned;
  const { cron, timezone, everyMs = 0, payload, missed } = schedule;
  const rhythm = cron === undefined ? { every: `${everyMs} ms` } : { cron, timezone };
  // Other queues enqueue an ordinary job at each time, whether the last one has ended or not.
  const options = {
    ...{ tenantId, ...rhythm, payload: payload ?? undefined, missed },
    ...({ overlap: "allow", retryRuns: true } as const),
  };
  try {
    const { outcome } = await undoable(target, () =>
      target.forge.schedules.ensure(defineJob({ type }), schedule.key, options),
    );
    return { outcome: outcome === "created" ? "created" : "existing" };
  } catch (error) {
    const isRefused = error instanceof InvalidScheduleError || error instanceof InvalidArgumentError;
    if (!isRefused) throw error;
    return { reason: whyRefused(error) };
  }
}

/** Does work in a savepoint, if there is a transaction: after an error, the transaction can go on. */
async function undoable<T>({ transaction }: Target, work: () => Promise<T>): Promise<T> {
  if (transaction === undefined) return await work();
  await transaction.query("savepoint import");
  try {
    const result = await work();
    await transaction.query("release savepoint import");
    return result;
  } catch (error) {
    if (error instanceof JobForgeError) await transaction.query("rollback to savepoint import");
    throw error;
  }
}
