/**
 * A small real mix of jobs and a schedule. Some jobs succeed, at once, later or after retries. Some finish as failed,
 * dead or canceled. Two jobs wait.
 */
import { globalTenant, type Job, type JobForge } from "@jobforge/sdk-ts";
import { broken, flaky, greet, patient, pulse, refused, report } from "./handlers.ts";

export interface Mix {
  /** Jobs that finish within seconds. */
  readonly ending: readonly string[];
  readonly all: readonly string[];
}

const tenant = { tenantId: globalTenant };

export async function enqueueMix(forge: JobForge): Promise<Mix> {
  await forge.schedules.ensure(pulse, "every minute", { ...tenant, every: "1m" });
  const inMs = (ms: number): Date => new Date(Date.now() + ms);
  const ending = [
    await forge.enqueue(greet, { name: "Ada" }, tenant),
    await forge.enqueue(report, { pages: 3 }, tenant),
    await forge.enqueue(greet, { name: "Grace" }, { ...tenant, runAt: inMs(2000) }),
    await forge.enqueue(flaky, {}, tenant),
    await forge.enqueue(broken, {}, tenant),
    await forge.enqueue(refused, { to: "nobody" }, tenant),
  ];
  const retrying = await forge.enqueue(patient, {}, tenant);
  const waiting = await forge.enqueue(greet, { name: "tomorrow" }, { ...tenant, runAt: inMs(86_400_000) });
  const canceled = await forge.enqueue(greet, { name: "never" }, { ...tenant, runAt: inMs(86_400_000) });
  await canceled.cancel();
  const ids = ending.map(({ id }) => id);
  return { ending: ids, all: [...ids, retrying.id, waiting.id, canceled.id] };
}

/** Resolves when these jobs are finished, with any status. */
export async function mixEnded(forge: JobForge, { ending }: Mix, signal: AbortSignal): Promise<void> {
  await Promise.all(ending.map((id) => forge.result(id, { ...tenant, signal }).catch(() => undefined)));
}

export async function jobsOfMix(forge: JobForge, { all }: Mix): Promise<Job[]> {
  const jobs = await Promise.all(all.map((id) => forge.get(id, tenant)));
  return jobs.filter((job) => job !== undefined);
}
